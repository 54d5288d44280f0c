// One pass of the dual over the sequences, on threads.
//
// Sequences are visited in blocks that see the same weights: first all answers, by groups of lanes;
// then all updates of v, by shards of attributes; then the few steps that have to be shortened or
// undone.  Blocks, groups and shards depend on the order of visits alone, so the bits do not depend
// on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/threads/thread_group.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

// Threads that wait for each other: spinning for 100 microseconds, as long as the shorter of two
// shares of work mostly waits, then asleep, so that whoever works has the core.  (Spinning and
// giving way took 15 s for 1 s of work where two threads had one core; falling asleep after 4 us
// left nothing of the gain of a second core.)
class Barrier {
 public:
  // How many wait for each other; before the first wait.
  void set(int threads) { threads_ = threads; }
  void wait();

 private:
  int threads_ = 1;
  std::atomic<int> arrived_{0}, turn_{0};
};

struct PassTotals {
  double gap = 0.0, gain = 0.0;  // sum of the gaps met; rise of the dual
  std::int64_t revised = 0, visits = 0;
};

class DualPass {
 public:
  static constexpr int kLanes = 8, kBlock = 16;  // sequences of a group, of a block, at the most

  // `ramp`: begin with one sequence at a time, while every visit changes everything.
  DualPass(const Kernels& kernels, const Dual& dual, const std::int64_t* order, std::int64_t count,
           bool ramp, int threads)
      : kernels_(kernels),
        dual_(dual),
        order_(order),
        count_(count),
        ramp_(ramp),
        threads_(std::min(threads, kBlock)),
        block_(block_of(count)),
        lanes_(dual.theta_node ? 1 : std::max(block_ / 2, 1)),
        group_(block_ / lanes_) {
    for (Group& g : group_) g.scratch = kernels_.make_scratch();
  }
  ~DualPass() {
    for (Group& g : group_) kernels_.free_scratch(g.scratch);
  }
  DualPass(const DualPass&) = delete;
  DualPass& operator=(const DualPass&) = delete;

  PassTotals run();

 private:
  struct Group {
    void* scratch = nullptr;
    std::int64_t sequence[kLanes];
    Visit visit[kLanes];
    int count = 0;
  };

  // A small share of the data: what a block does is unknown to its members.
  static int block_of(std::int64_t count);
  std::int64_t length(std::int64_t n) const { return dual_.seq_ptr[n + 1] - dual_.seq_ptr[n]; }
  double weight(const Visit& v) const { return dual_.weight ? dual_.weight[v.sequence] : 1.0; }

  template <class F>
  void each_visit(F f);

  void work(int me);

  // The next sequences, dealt out to the groups by falling length, back and forth: the longer of
  // two groups is then 1.9 % longer than their mean on CoNLL-2000, in turn 6.0 %.
  void fill();

  void answer(int me);

  // Does what may fail: all threads end together, after the next barrier.
  template <class Work>
  void attempt(Work work);

  void apply(int me, bool revised);

  void settle();
  void add_revisions();

  const Kernels& kernels_;
  const Dual& dual_;
  const std::int64_t* order_;
  std::int64_t count_, done_ = 0;
  bool ramp_, ended_ = false, again_ = false;
  int threads_, block_, lanes_;
  std::vector<Group> group_;
  Barrier barrier_;
  std::atomic<bool> complete_{false};  // all threads have started
  std::atomic<bool> failed_{false};
  ThreadGroup* running_ = nullptr;  // while it runs
  PassTotals totals_;
};

}  // namespace crfkit
