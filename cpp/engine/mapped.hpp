// Files that are mapped for reading, and what becomes of one that is cut short while it is mapped:
// reading what is gone raises SIGBUS, which would end the process.  Here it ends in an error.
//
// The handler of that signal puts zeros in the place of the whole file, marks it as broken and lets
// the reader go on; whoever answers from a mapped file asks for the mark before it hands out the
// answer (`Origin`).  A fault anywhere else goes to the handler that was there before.  As
// systemd's journal does it.  Everything that the handler reads is atomic and is never freed, so
// that it may run at any moment, in any thread and in the child of a fork.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "engine/checks.hpp"

namespace crfkit {

// A place in the list of mapped files; places are used again, and never freed.
struct MapPlace {
  std::atomic<std::uintptr_t> begin{0};  // 0: no file is mapped here
  std::atomic<std::size_t> size{0};
  std::atomic<bool> broken{false};
  std::atomic<bool> taken{true};
  std::string name;  // the handler does not look at it
  MapPlace* next = nullptr;

  bool holds(std::uintptr_t address) const {
    const std::uintptr_t from = begin.load();
    return from != 0 && address - from < size.load() && begin.load() == from;
  }
};

inline std::atomic<MapPlace*> first_map_place{nullptr};

inline MapPlace* map_place_of(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  MapPlace* place = first_map_place.load();
  while (place && !place->holds(at)) place = place->next;
  return place;
}

// ---- the signal

// Whom a handler was put before: the first time, and the last time.
struct PassedOver {
  struct sigaction first, last;
  const PassedOver* before;  // never freed: a handler may be reading it
};
inline std::atomic<const PassedOver*> passed_over{nullptr};

inline void on_bus_error(int number, siginfo_t* info, void* context);

inline bool handles_bus_errors(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_bus_error;
}

inline bool replace_by_zeros(MapPlace& place) {
  place.broken = true;
  void* begin = reinterpret_cast<void*>(place.begin.load());
  return mmap(begin, place.size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
         MAP_FAILED;
}

// Puts zeros in the place of the mapped file that has this address; false where there is none.
inline bool replace_file_at(const void* address) {
  MapPlace* place = map_place_of(address);
  return place && replace_by_zeros(*place);
}

// Puts zeros in the place of all mapped files that were cut short: for a handler that was put
// before this one and raises the signal again, without the address.  A system call that reads a
// byte says that it cannot where it is gone.
inline bool replace_cut_files() {
  bool any = false;
#ifdef __linux__
  for (MapPlace* place = first_map_place.load(); place; place = place->next) {
    const std::uintptr_t from = place->begin.load();
    if (!from || place->broken) continue;
    const std::uintptr_t last = (from + place->size - 1) & ~std::uintptr_t{7};
    constexpr int no_such_thing_to_do = ~0;
    if (syscall(SYS_rt_sigprocmask, no_such_thing_to_do, last, nullptr, 8) == -1 && errno == EFAULT)
      any |= replace_by_zeros(*place);
  }
#endif
  return any;
}

// Does what would have been done without this handler.
inline void pass_on(int number, siginfo_t* info, void* context, bool fault) {
  const PassedOver* others = passed_over.load();
  const struct sigaction& next = others->last;
  if (next.sa_flags & SA_SIGINFO) {
    next.sa_sigaction(number, info, context);
  } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
    next.sa_handler(number);
  } else if (fault || next.sa_handler == SIG_DFL) {
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    sigaction(number, &plain, nullptr);
    if (!fault) raise(number);  // a fault comes again by itself
    return;
  }
  // A handler that puts back what it passed over itself and raises the signal again, as Python's
  // faulthandler does, may have put back this one: the next in line is the very first.
  sigset_t waiting;
  struct sigaction now;
  sigpending(&waiting);
  sigaction(number, nullptr, &now);
  if (sigismember(&waiting, number) && handles_bus_errors(now))
    sigaction(number, &others->first, nullptr);
}

inline void on_bus_error(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const bool fault = info->si_code > 0 && info->si_code != SI_USER;
  const bool own = !fault && info->si_pid == getpid();
  if (!(fault && replace_file_at(info->si_addr)) && !(own && replace_cut_files()))
    pass_on(number, info, context, fault);
  errno = error;
}

// Puts the handler before those of others, unless it is there.
inline void handle_bus_errors() {
  struct sigaction now;
  if (sigaction(SIGBUS, nullptr, &now) != 0 || handles_bus_errors(now)) return;
  const PassedOver* before = passed_over.load();
  passed_over = new PassedOver{before ? before->first : now, now, before};
  struct sigaction own = {};
  own.sa_sigaction = on_bus_error;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&own.sa_mask);
  sigaction(SIGBUS, &own, nullptr);
}

// ---- files

// The bytes of an open file, mapped; `name` is what errors call it.
class MappedFile {
 public:
  MappedFile(int descriptor, std::size_t size, std::string name) : place_(free_place()) {
    place_->name = std::move(name);
    place_->broken = false;
    handle_bus_errors();
    void* begin = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (begin == MAP_FAILED) {
      const int error = errno;
      place_->taken = false;
      throw std::system_error(error, std::generic_category());
    }
    place_->size = size;
    place_->begin = reinterpret_cast<std::uintptr_t>(begin);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    void* begin = reinterpret_cast<void*>(place_->begin.exchange(0));
    munmap(begin, place_->size);
    place_->taken = false;
  }

  const unsigned char* data() const {
    return reinterpret_cast<const unsigned char*>(place_->begin.load());
  }
  std::size_t size() const { return place_->size; }

 private:
  // A place that nobody else has: one that is free again, or a new one at the front.
  static MapPlace* free_place() {
    for (MapPlace* place = first_map_place.load(); place; place = place->next)
      if (!place->taken.exchange(true)) return place;
    auto* made = new MapPlace;
    made->next = first_map_place.load();
    while (!first_map_place.compare_exchange_weak(made->next, made)) {
    }
    return made;
  }

  MapPlace* place_;
};

// Where memory comes from: a mapped file, which must stay mapped, or anywhere else.
class Origin {
 public:
  Origin() = default;
  explicit Origin(const void* address) : place_(map_place_of(address)) {}

  // Throws where the file was cut short since it was mapped: its last byte is then gone.
  void check() const {
    if (!place_) return;
    const auto last = place_->begin.load(std::memory_order_relaxed) +
                      place_->size.load(std::memory_order_relaxed) - 1;
    static_cast<void>(*reinterpret_cast<const volatile unsigned char*>(last));
    if (place_->broken.load(std::memory_order_relaxed)) [[unlikely]]
      refuse(place_->name +
             " was changed while it was in use, or its disk failed: load it again, replace files "
             "by renaming (os.replace), or load with mapped=False");
  }

 private:
  const MapPlace* place_ = nullptr;
};

}  // namespace crfkit
