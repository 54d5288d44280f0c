// What threads use one at a time and leave for the next.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace crfkit {

// A list of owners (`std::unique_ptr`).
template <class Owner>
class Idle {
 public:
  // One that was left, or what `make` returns.
  template <class Make>
  Owner take(Make make) {
    {
      const std::lock_guard<std::mutex> lock(guard_);
      if (!free_.empty()) {
        Owner one = std::move(free_.back());
        free_.pop_back();
        return one;
      }
    }
    return make();
  }
  void leave(Owner one) {
    const std::lock_guard<std::mutex> lock(guard_);
    free_.push_back(std::move(one));
  }

 private:
  std::mutex guard_;
  std::vector<Owner> free_;
};

}  // namespace crfkit
