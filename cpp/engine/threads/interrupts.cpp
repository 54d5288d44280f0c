// The count of work of each thread, and the looks that it leads to.
#include "engine/threads/interrupts.hpp"

#include <chrono>

namespace crfkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBetween = 1 << 20;                  // cells between looks
constexpr auto kPatience = std::chrono::milliseconds(100);  // between calls of the hook

struct Looking {
  std::int64_t left = kBetween;
  const Stop* stop = nullptr;
  bool ours = false;
  Clock::time_point next = {};  // when to call the hook again
};

thread_local constinit Looking looking;
std::atomic<void (*)()> hook{nullptr};

void look(Looking& here) {
  here.left = kBetween;
  if (here.stop && here.stop->asked()) throw Interrupted();
  void (*const ask)() = hook.load(std::memory_order_relaxed);
  if (here.ours || !ask) return;
  const Clock::time_point now = Clock::now();
  if (now < here.next) return;
  here.next = now + kPatience;
  ask();
}

}  // namespace

void worked(std::int64_t cells) {
  Looking& here = looking;
  if ((here.left -= cells) < 0) look(here);
}

void look_for_interrupts() { look(looking); }

const Stop* watched() { return looking.stop; }

Watching::Watching(const Stop& stop, bool ours)
    : before_(looking.stop), ours_before_(looking.ours) {
  looking.stop = &stop;
  looking.ours = ours_before_ || ours;
}

Watching::~Watching() {
  looking.stop = before_;
  looking.ours = ours_before_;
}

void set_interrupt_hook(void (*ask)()) { hook.store(ask, std::memory_order_relaxed); }

}  // namespace crfkit
