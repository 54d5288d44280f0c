// Looking for interrupts (Ctrl-C), from whatever takes long.
//
// Work is counted in cells: what takes about a nanosecond.  Counting is cheap; a look, every
// millisecond or so, tells whether the work is still wanted.
#pragma once

#include <cstdint>

namespace crfkit {

// Thrown where the work of a thread is no longer wanted.
struct Interrupted {};

// Cells of work that this thread has done, or is about to do; throws where an end was asked for.
void worked(std::int64_t cells);

// For work that may be small: asks whether it is worth counting.
inline void worked_if_many(std::int64_t cells) {
  if (cells >= std::int64_t{1} << 14) worked(cells);
}

}  // namespace crfkit
