// Vectors whose places are lanes: which of them count.
#pragma once

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {

inline bool any_of(VecInt places) { return any_above(places ? splat(1.0) : Vec{}, 0.5); }

// The first `count` places are -1, the others 0; count may be below 0 or above W.
inline VecInt first_places(int count) {
  typedef std::int64_t Anywhere __attribute__((vector_size(W * 8), aligned(8), may_alias));
  static constexpr std::int64_t kPlaces[16] = {-1, -1, -1, -1, -1, -1, -1, -1};  // then zeros
  const int wanted = count < 0 ? 0 : count < W ? count : W;
  return *reinterpret_cast<const Anywhere*>(kPlaces + 8 - wanted);
}

}  // namespace crfkit::CRFKIT_ARCH
