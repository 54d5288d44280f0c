// Vectors whose places are lanes: which of them count, and squares of lanes and labels turned.
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

// Squares of W x W doubles in registers, rows and columns exchanged: log2(W) rounds, each of which
// exchanges blocks of half the size of those before.
inline void transpose(Vec (&v)[W]) {
#if defined(__AVX512F__)
  for (int i = 0; i < W; i += 2) {
    const Vec a = v[i], b = v[i + 1];
    v[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    v[i + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < W; ++i) {
    if (i & 2) continue;
    const Vec a = v[i], b = v[i + 2];
    v[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    v[i + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    const Vec a = v[i], b = v[i + 4];
    v[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    v[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  }
#elif defined(__AVX2__)
  for (int i = 0; i < W; i += 2) {
    const Vec a = v[i], b = v[i + 1];
    v[i] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    v[i + 1] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    const Vec a = v[i], b = v[i + 2];
    v[i] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    v[i + 2] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  }
#else
  const Vec a = v[0], b = v[1];
  v[0] = __builtin_shufflevector(a, b, 0, 2);
  v[1] = __builtin_shufflevector(a, b, 1, 3);
#endif
}

}  // namespace crfkit::CRFKIT_ARCH
