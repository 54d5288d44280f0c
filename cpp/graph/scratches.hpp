// Scratch of threads, used again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace crfkit {

class Scratches {
 public:
  explicit Scratches(std::int64_t size) : size_(size) {}

  template <class Use>
  void with(Use use) {
    std::unique_ptr<double[]> one;
    {
      const std::lock_guard<std::mutex> lock(guard_);
      if (!free_.empty()) one = std::move(free_.back()), free_.pop_back();
    }
    if (!one) one = std::make_unique<double[]>(size_);
    use(one.get());
    const std::lock_guard<std::mutex> lock(guard_);
    free_.push_back(std::move(one));
  }

 private:
  std::int64_t size_;
  std::mutex guard_;
  std::vector<std::unique_ptr<double[]>> free_;
};

}  // namespace crfkit
