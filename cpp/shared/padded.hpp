// Rows of cells are padded to whole cache lines, whatever the width of the vectors.
#pragma once

namespace crfkit {

inline constexpr int kPad = 8;  // doubles of a cache line

// Static: every object keeps its own copy, none of which can end up in code for other processors.
template <class Int>
static constexpr Int padded(Int n) {
  return (n + kPad - 1) / kPad * kPad;
}

}  // namespace crfkit
