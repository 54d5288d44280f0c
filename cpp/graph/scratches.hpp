// Scratch of threads, used again.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/threads/idle.hpp"
#include "shared/no_memory.hpp"

namespace crfkit {

class Scratches {
 public:
  explicit Scratches(std::int64_t size) : size_(size) {
    check_memory("working memory", static_cast<std::size_t>(size) * sizeof(double));
  }

  template <class Use>
  void with(Use use) {
    std::unique_ptr<double[]> one =
        idle_.take([this] { return std::make_unique<double[]>(size_); });
    use(one.get());
    idle_.leave(std::move(one));
  }

 private:
  std::int64_t size_;
  Idle<std::unique_ptr<double[]>> idle_;
};

}  // namespace crfkit
