// Threads that go through the same steps together, with a barrier after each: for steps that are
// too short to start threads for.
#pragma once

#include <barrier>
#include <latch>

#include "engine/threads/thread_group.hpp"

namespace crfkit {

class BarrierThreads {
 public:
  BarrierThreads(ThreadGroup& group, int members)
      : group_(group), members_(members), barrier_(members) {}
  int members() const { return members_; }

  // Before anybody waits: there are fewer.
  void shrink(int members) {
    for (; members_ > members; --members_) leave();
  }

  // Waits for the others; throws where one of them has failed.
  void wait() {
    barrier_.arrive_and_wait();
    if (group_.failed()) throw Interrupted();
  }
  void leave() { barrier_.arrive_and_drop(); }

 private:
  ThreadGroup& group_;
  int members_;
  std::barrier<> barrier_;
};

// Calls work(member, barrier) on up to `threads` threads.  Every member must wait as often as the
// others, unless it throws, which ends the work of all.
template <class Work>
void in_step(int threads, Work work) {
  std::latch gate(1);
  ThreadGroup group;
  BarrierThreads barrier(group, threads);
  const auto take_part = [&](int member) {
    try {
      work(member, barrier);
    } catch (...) {
      group.fail();
      barrier.leave();
    }
  };
  const int others = group.start(threads - 1, [&](int member) {
    gate.wait();
    take_part(member);
  });
  barrier.shrink(others + 1);
  gate.count_down();
  group.attempt([&] { take_part(0); });
  group.finish();
}

}  // namespace crfkit
