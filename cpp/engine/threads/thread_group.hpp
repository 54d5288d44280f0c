// Threads of one call: whoever starts them waits for them, on every way out.
//
// They are started for each call; there is no pool to outlive a fork.  Where no more can be had
// there are fewer, perhaps none.  The first exception of all ends the others at their next look
// (shared/interrupts.hpp) and is thrown again by `finish`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/threads/interrupts.hpp"

namespace crfkit {

class ThreadGroup {
 public:
  ThreadGroup() : stop_(watched()) {}
  ~ThreadGroup() { join(); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Starts up to `wanted` threads that attempt work(1), work(2), ...; returns how many there are.
  template <class Work>
  int start(int wanted, Work work) {
    if (wanted > 0) threads_.reserve(wanted);
    for (int t = 1; t <= wanted; ++t) {
      change_running(1);
      try {
        threads_.emplace_back([this, work, t] {
          attempt([&] { work(t); }, true);
          change_running(-1);
        });
      } catch (const std::system_error&) {
        change_running(-1);
        break;
      } catch (const std::bad_alloc&) {
        change_running(-1);
        break;
      }
    }
    return static_cast<int>(threads_.size());
  }

  // Calls work(); what it throws ends the work of all.
  template <class Work>
  void attempt(Work work, bool ours = false) {
    try {
      const Watching watching(stop_, ours);
      work();
    } catch (...) {
      fail();
    }
  }

  // Keeps the exception that is being handled, if it is the first, and asks the others to end.
  void fail() {
    const std::lock_guard<std::mutex> lock(guard_);
    if (!failure_) failure_ = std::current_exception();
    stop_.ask();
  }
  bool failed() const { return stop_.asked(); }

  // Waits for all, looking for interrupts meanwhile; throws the first exception.
  void finish() {
    using namespace std::chrono_literals;
    std::unique_lock<std::mutex> lock(guard_);
    while (!ended_.wait_for(lock, 50ms, [&] { return running_ == 0; })) {
      lock.unlock();
      attempt([] { look_for_interrupts(); });
      lock.lock();
    }
    lock.unlock();
    join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void change_running(int by) {
    const std::lock_guard<std::mutex> lock(guard_);
    running_ += by;
    if (running_ == 0) ended_.notify_all();
  }
  void join() {
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

  Stop stop_;
  std::mutex guard_;
  std::condition_variable ended_;
  int running_ = 0;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace crfkit
