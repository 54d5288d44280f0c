// Work on threads.  They are started per call; there is no pool to outlive a fork.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace crfkit {

// Calls work(i) for i in [0, count) on up to `threads` threads.  The first exception is thrown
// again here.
template <class Work>
void parallel_for(std::int64_t count, int threads, Work work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  const auto loop = [&] {
    for (std::int64_t i; (i = next.fetch_add(1)) < count;) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(guard);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> others;
  const int extra = static_cast<int>(std::min<std::int64_t>(threads, count)) - 1;
  try {
    for (int t = 0; t < extra; ++t) others.emplace_back(loop);
  } catch (const std::system_error&) {
    // No more threads to be had: those that started, and this one, do the work.
  }
  loop();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace crfkit
