// Scratch memory of one thread: taken piece by piece, given back all at once.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "kernels/simd/simd.hpp"
#include "shared/no_memory.hpp"

namespace crfkit::CRFKIT_ARCH {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    while (last_) drop();
  }

  // n values, uninitialized, on a cache line of their own.
  template <class T>
  T* take(std::size_t n) {
    if (n > (kMostBytes - 4096) / sizeof(T)) no_memory(kWorking, kMostBytes);
    const std::size_t line = 64, bytes = (n * sizeof(T) + line - 1) / line * line;
    if (!last_ || bytes > last_->size - last_->used) grow(bytes);
    char* p = reinterpret_cast<char*>(last_) + line + last_->used;
    last_->used += bytes;
    return reinterpret_cast<T*>(p);
  }

  template <class T>
  T* take(std::size_t n, T fill) {
    T* p = take<T>(n);
    for (std::size_t i = 0; i < n; ++i) p[i] = fill;
    return p;
  }

  // Forgets every piece; keeps the largest block for the next sequence.
  void reset() {
    while (last_ && last_->before) {
      Block* large = last_;
      Block* small = last_->before;
      if (small->size > large->size) {
        large->before = small->before;
        small->before = large;
        last_ = small;
        continue;
      }
      large->before = small->before;
      std::free(small);
    }
    if (last_) last_->used = 0;
  }

 private:
  static constexpr const char* kWorking = "working memory";

  struct Block {
    Block* before;
    std::size_t size, used;
  };

  void grow(std::size_t bytes) {
    check_memory(kWorking, bytes);
    std::size_t size = last_ ? 2 * last_->size : std::size_t{1} << 16;
    if (size < bytes) size = bytes;
    Block* block = static_cast<Block*>(std::aligned_alloc(64, (size + 127) / 64 * 64));
    if (!block) no_memory(kWorking, size);
    *block = {last_, size, 0};
    last_ = block;
  }

  void drop() {
    Block* before = last_->before;
    std::free(last_);
    last_ = before;
  }

  Block* last_ = nullptr;
};

// A piece of an arena that grows to what it is asked for and is used again and again.
class Scratch {
 public:
  explicit Scratch(Arena& arena) : arena_(arena) {}

  double* room(std::size_t n) {
    if (n > size_) piece_ = arena_.take<double>(size_ = n);
    return piece_;
  }

 private:
  Arena& arena_;
  double* piece_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace crfkit::CRFKIT_ARCH
