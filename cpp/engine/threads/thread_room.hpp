// Address space for threads to begin in.
//
// The C library takes memory for the variables of a thread when it uses one first
// (`settle_thread`), and ends the process where there is none.  So threads are started only where
// there is plenty of room, and find some that was kept for them.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace crfkit {

// Bytes of addresses that nobody else takes, where there are so many.
class Addresses {
 public:
  explicit Addresses(std::size_t bytes)
      : bytes_(bytes), at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0)) {}
  ~Addresses() { release(); }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

  bool held() const { return at_ != MAP_FAILED; }
  void release() {
    if (held()) munmap(at_, bytes_);
    at_ = MAP_FAILED;
  }

 private:
#if defined(MAP_NORESERVE)
  static constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
  static constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
  std::size_t bytes_;
  void* at_;
};

inline constexpr std::size_t kBeginning = std::size_t{1} << 18;  // what a thread takes at first

// How many of so many threads there is room for: their stacks, what the C library sets aside for
// what they allocate, and as much again for whoever starts them.
inline int threads_with_room(int wanted) {
  constexpr std::size_t each = std::size_t{80} << 20, beside = std::size_t{256} << 20;
  while (wanted > 0 && !Addresses(beside + each * static_cast<std::size_t>(wanted)).held())
    wanted /= 2;
  return wanted;
}

}  // namespace crfkit
