// Who asks for an end, and who hears it.
//
// `worked` (shared/interrupts.hpp) looks in two places: at the Stop that its thread watches, and,
// on threads that others own, at what their owner has to say (the hook: Python's signals).
#pragma once

#include <atomic>

#include "shared/interrupts.hpp"

namespace crfkit {

// Asks the threads that watch it to end, and those that they started.
class Stop {
 public:
  explicit Stop(const Stop* above = nullptr) : above_(above) {}
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  void ask() { asked_.store(true, std::memory_order_relaxed); }
  bool asked() const {
    return asked_.load(std::memory_order_relaxed) || (above_ && above_->asked());
  }

 private:
  std::atomic<bool> asked_{false};
  const Stop* above_;  // outlives this one
};

// What this thread watches; null for nothing.
const Stop* watched();

// While it exists, this thread watches a Stop.  `ours`: it is a thread of the engine, of which the
// owner of the calling thread knows nothing.
class Watching {
 public:
  explicit Watching(const Stop& stop, bool ours = false);
  ~Watching();
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  const Stop* before_;
  bool ours_before_;
};

// Looks at once, at most every tenth of a second for the hook; throws where an end was asked for.
void look_for_interrupts();

// What threads that others own call now and then; throws where their owner asks for an end.
void set_interrupt_hook(void (*hook)());

}  // namespace crfkit
