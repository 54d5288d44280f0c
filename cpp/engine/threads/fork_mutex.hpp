// A mutex that a child of a fork has anew: the thread that held it does not exist there.
#pragma once

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <new>
#include <thread>

namespace crfkit {

class ForkMutex {
 public:
  // `forked`: whether this is the first lock in a child.  What the mutex guards may then have been
  // left half done, and is to be made anew.
  std::unique_lock<std::mutex> lock(bool* forked) {
    *forked = renew();
    return std::unique_lock<std::mutex>(mutex_);
  }

 private:
  static constexpr pid_t kRenewing = -1;

  bool renew() {
    const pid_t here = getpid();
    for (;;) {
      pid_t owner = owner_.load(std::memory_order_acquire);
      if (owner == here) return false;
      if (owner == kRenewing) {
        std::this_thread::yield();
      } else if (owner_.compare_exchange_strong(owner, kRenewing)) {
        new (&mutex_) std::mutex;
        owner_.store(here, std::memory_order_release);
        return true;
      }
    }
  }

  std::mutex mutex_;
  std::atomic<pid_t> owner_{getpid()};
};

}  // namespace crfkit
