// What threads use one at a time and leave for the next.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace crfkit {

// A list of owners (`std::unique_ptr`).  Nobody waits for it: where another thread has it, one is
// made anew, or let go; so a child of a fork at that moment does not wait for a thread that it
// does not have.
template <class Owner>
class Idle {
 public:
  // One that was left, or what `make` returns.
  template <class Make>
  Owner take(Make make) {
    if (const auto lock = try_to_lock(); lock && !free_.empty()) {
      Owner one = std::move(free_.back());
      free_.pop_back();
      return one;
    }
    return make();
  }
  void leave(Owner one) {
    if (const auto lock = try_to_lock()) free_.push_back(std::move(one));
  }

 private:
  std::unique_lock<std::mutex> try_to_lock() {
    std::unique_lock<std::mutex> lock(guard_, std::defer_lock);
    for (int tries = 0; tries < 256; ++tries)
      if (lock.try_lock()) break;
    return lock;
  }

  std::mutex guard_;
  std::vector<Owner> free_;
};

}  // namespace crfkit
