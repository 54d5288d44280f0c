// Widths that do not depend on the instruction set: rows of cells are padded to whole cache lines.
#pragma once

namespace crfkit {

inline constexpr int kPad = 8;  // doubles of a cache line

// Static: every object keeps its own copy, none of which can end up in code for other processors.
template <class Int>
static constexpr Int padded(Int n) {
  return (n + kPad - 1) / kPad * kPad;
}

// How many lanes lie side by side where vectors hold one label of several sequences.
inline constexpr int kStripe = 8;

}  // namespace crfkit
