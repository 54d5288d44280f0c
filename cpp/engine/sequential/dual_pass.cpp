#include "engine/sequential/dual_pass.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace crfkit {

void Barrier::wait() {
  const int turn = turn_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_release);
    turn_.notify_all();
    return;
  }
  const auto enough = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  do {
    for (int spins = 0; spins < 64; ++spins) {
      if (turn_.load(std::memory_order_acquire) != turn) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < enough);
  turn_.wait(turn, std::memory_order_acquire);
}

PassTotals DualPass::run() {
  ThreadGroup group;
  running_ = &group;
  threads_ = 1 + group.start(threads_ - 1, [this](int me) {
    complete_.wait(false, std::memory_order_acquire);
    work(me);
  });
  barrier_.set(threads_);
  complete_.store(true, std::memory_order_release);
  complete_.notify_all();
  group.attempt([this] { work(0); });
  group.finish();
  return totals_;
}

int DualPass::block_of(std::int64_t count) {
  int block = 1;
  while (block < kBlock && 128 * block <= count) block *= 2;
  return block;
}

template <class F>
void DualPass::each_visit(F f) {
  for (Group& g : group_)
    for (int i = 0; i < g.count; ++i) f(g.visit[i]);
}

void DualPass::work(int me) {
  for (;;) {
    if (me == 0) fill();
    barrier_.wait();
    if (ended_) return;  // not failed_: whoever is quicker may have failed since
    answer(me);
    barrier_.wait();
    if (failed_) return;
    apply(me, false);
    barrier_.wait();
    if (me == 0) settle();
    barrier_.wait();
    if (!again_) continue;
    apply(me, true);
    barrier_.wait();
    if (me == 0) add_revisions();
  }
}

void DualPass::fill() {
  std::int64_t chosen[kBlock], filled = 0;
  while (filled == 0 && done_ < count_) {
    std::int64_t size = block_;
    if (ramp_)
      size = std::min<std::int64_t>(size, done_ < 32 ? 1 : done_ < 96 ? 2 : done_ < 256 ? 4 : size);
    for (size = std::min(size, count_ - done_); size > 0; --size, ++done_)
      if (length(order_[done_]) > 0) chosen[filled++] = order_[done_];
  }
  ended_ = filled == 0;
  attempt([] { worked(1 << 12); });
  if (failed_) ended_ = true;
  std::stable_sort(chosen, chosen + filled,
                   [&](std::int64_t a, std::int64_t b) { return length(a) > length(b); });
  for (Group& g : group_) g.count = 0;
  for (std::int64_t i = 0; i < filled; ++i) {
    const std::int64_t groups = static_cast<std::int64_t>(group_.size()), k = i % groups;
    Group& g = group_[i / groups % 2 ? groups - 1 - k : k];
    g.sequence[g.count++] = chosen[i];
  }
}

void DualPass::answer(int me) {
  attempt([&] {
    for (std::size_t g = me; g < group_.size(); g += threads_) {
      const std::int64_t next = std::min(count_, done_ + static_cast<std::int64_t>(g) * lanes_);
      if (group_[g].count)
        kernels_.learn->dual_answer(dual_, group_[g].sequence, group_[g].count, order_ + next,
                                    static_cast<int>(std::min<std::int64_t>(lanes_, count_ - next)),
                                    group_[g].visit, group_[g].scratch);
    }
  });
}

template <class Work>
void DualPass::attempt(Work work) {
  try {
    work();
  } catch (...) {
    running_->fail();
    failed_ = true;
  }
}

void DualPass::apply(int me, bool revised) {
  for (int shard = me; shard < dual_.live.shards; shard += threads_)
    each_visit([&](Visit& v) {
      if (!revised || v.revise != 0.0) kernels_.learn->dual_apply(dual_, v, shard);
    });
}

void DualPass::settle() {
  again_ = false;
  each_visit([&](Visit& v) {
    kernels_.learn->dual_settle(dual_, v);
    const double c = weight(v);
    totals_.gap += c * v.gap;
    totals_.gain += c * (v.entropy - v.before) - 0.5 * v.change;
    ++totals_.visits;
    if (v.revise == 0.0) return;
    again_ = true;
    ++totals_.revised;
    const double entropy = v.entropy;
    kernels_.learn->dual_revise(dual_, v);
    totals_.gain += c * (v.entropy - entropy) - 0.5 * v.alone;
  });
}

void DualPass::add_revisions() {
  each_visit([&](Visit& v) {
    if (v.revise == 0.0) return;
    for (int k = 0; k < dual_.live.shards; ++k) totals_.gain -= 0.5 * v.quadratic[k];
  });
}

}  // namespace crfkit
