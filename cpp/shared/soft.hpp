// Soft threshold: what is left of v after l1 is taken off its size.
#pragma once

namespace crfkit {

// Static: see padded.hpp.
static constexpr inline double soft(double v, double l1) {
  return v > l1 ? v - l1 : v < -l1 ? v + l1 : 0.0;
}

}  // namespace crfkit
