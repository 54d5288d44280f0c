// Work on threads, item by item.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/threads/thread_group.hpp"

namespace crfkit {

inline constexpr std::int64_t kItem = 1 << 12;  // cells that an item counts for, whatever it does

// Calls work(i) for i in [0, count) on up to `threads` threads, looking for interrupts in between.
// The first exception is thrown again here.
template <class Work>
void parallel_for(std::int64_t count, int threads, Work work) {
  const int extra = static_cast<int>(std::min<std::int64_t>(threads, count)) - 1;
  if (extra <= 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      worked(kItem);
      work(i);
    }
    return;
  }
  std::atomic<std::int64_t> next{0};
  ThreadGroup group;
  const auto loop = [&] {
    for (std::int64_t i; (i = next.fetch_add(1)) < count;) {
      if (group.failed()) throw Interrupted();
      worked(kItem);
      work(i);
    }
  };
  group.start(extra, [&](int) { loop(); });
  group.attempt(loop);
  group.finish();
}

}  // namespace crfkit
