// Address space for threads to begin in.
//
// The C library takes memory for the variables of a thread when it uses one first
// (`settle_thread`), and ends the process where there is none.  So where the system limits
// what can be had, threads are started only if there is plenty of room, and find some that was kept
// for them.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <new>

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

// Whether Linux promises no more memory than there is.
inline bool promises_are_kept() {
  std::FILE* file = std::fopen("/proc/sys/vm/overcommit_memory", "r");
  if (!file) return false;
  const int mode = std::fgetc(file);
  std::fclose(file);
  return mode == '2';
}

// Whether a request may be refused for want of room.
inline bool room_is_limited() {
  static const bool always = promises_are_kept();
  const auto limited = [](auto what) {
    rlimit now;
    return getrlimit(what, &now) == 0 && now.rlim_cur != RLIM_INFINITY;
  };
  return always || limited(RLIMIT_AS) || limited(RLIMIT_DATA);
}

// How many of so many threads there is room for: their stacks, what the C library sets aside for
// what they allocate, and plenty for whoever starts them.
inline int threads_with_room(int wanted) {
  if (wanted <= 0 || !room_is_limited()) return wanted;
  constexpr std::size_t each = std::size_t{80} << 20, beside = std::size_t{256} << 20;
  while (wanted > 0 && !Addresses(beside + each * static_cast<std::size_t>(wanted)).held())
    wanted /= 2;
  return wanted;
}

// What a thread takes as it begins, to be released by it; null where there is no limit.
inline std::unique_ptr<Addresses> room_to_begin() {
  if (!room_is_limited()) return nullptr;
  auto room = std::make_unique<Addresses>(std::size_t{1} << 18);
  if (!room->held()) throw std::bad_alloc();
  return room;
}

}  // namespace crfkit
