// Products of messages [states, lanes] with a small matrix for one axis, and sums of their outer
// products: vectors run through lanes, and a tile of outputs stays in registers.
#pragma once

#include "kernels/simd/simd.hpp"
#include "shared/slices.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace slice {

inline constexpr int B = kSliceLanes, NV = B / W;
inline constexpr int kAcross = 3;             // vectors of a tile
inline constexpr int kDown = W == 8 ? 8 : 4;  // outputs of a tile
static_assert(NV % kAcross == 0);

inline std::int64_t tiles(std::int64_t n) { return (n + kDown - 1) / kDown * kDown; }

// out[j, :] = sum over k of x[k, :] m[k, j], for J outputs and kAcross vectors, side by side in x.
template <int J>
inline void step_tile(const double* x, std::int64_t n, const double* m, double* out,
                      std::int64_t row) {
  Vec acc[J][kAcross];
  for (int j = 0; j < J; ++j)
    for (int i = 0; i < kAcross; ++i) acc[j][i] = Vec{};
  for (std::int64_t k = 0; k < n; ++k, x += kAcross * W, m += kDown) {
    Vec v[kAcross];
    for (int i = 0; i < kAcross; ++i) v[i] = load(x + i * W);
    for (int j = 0; j < J; ++j) {
      const Vec by = splat(m[j]);
      for (int i = 0; i < kAcross; ++i) acc[j][i] += v[i] * by;
    }
  }
  for (int j = 0; j < J; ++j)
    for (int i = 0; i < kAcross; ++i) store(out + j * row + i * W, acc[j][i]);
}

using StepTile = void (*)(const double*, std::int64_t, const double*, double*, std::int64_t);
template <int J>
inline StepTile step_rest(std::int64_t left) {
  if (left == J) return step_tile<J>;
  if constexpr (J > 1) return step_rest<J - 1>(left);
  return nullptr;
}

// out[o, j, i] = sum over k of x[o, k, i] m[k, j]; `packed` is m in tiles of kDown columns, `panel`
// is room for the columns of x that all tiles come back to: [n, kAcross * W].
inline void apply(const SliceAxis& axis, const double* packed, const double* x, double* out,
                  double* panel) {
  const std::int64_t n = axis.width, row = axis.inner * B, whole = n / kDown;
  const StepTile rest = step_rest<kDown>(n % kDown);
  for (std::int64_t o = 0; o < axis.outer; ++o, x += n * row, out += n * row)
    for (std::int64_t i = 0; i < row; i += kAcross * W) {
      for (std::int64_t k = 0; k < n; ++k)
        for (int v = 0; v < kAcross; ++v)
          store(panel + (k * kAcross + v) * W, load(x + k * row + i + v * W));
      const double* m = packed;
      double* to = out + i;
      for (std::int64_t j = 0; j < whole; ++j, m += n * kDown, to += kDown * row)
        step_tile<kDown>(panel, n, m, to, row);
      if (rest) rest(panel, n, m, to, row);
    }
}

inline void pack(const double* m, std::int64_t n, bool turned, double* packed) {
  for (std::int64_t j0 = 0; j0 < n; j0 += kDown)
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t j = j0; j < j0 + kDown; ++j)
        *packed++ = j >= n ? 0.0 : turned ? m[j * n + k] : m[k * n + j];
}

// Places that a tile of outer products runs through.
struct Run {
  std::int64_t outer, outer_step, inner;
};

// sum[k, j] += sum over places of y[k, :] g[j, :], as vectors.
template <int K, int J>
inline void outer_tile(const double* y, const double* g, std::int64_t row, const Run& run,
                       double* sum, std::int64_t n) {
  Vec acc[K][J];
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < J; ++j) acc[k][j] = load(sum + (k * n + j) * W);
  for (std::int64_t o = 0; o < run.outer; ++o, y += run.outer_step, g += run.outer_step)
    for (std::int64_t i = 0; i < run.inner; i += W) {
      Vec b[J];
      for (int j = 0; j < J; ++j) b[j] = load(g + j * row + i);
      for (int k = 0; k < K; ++k) {
        const Vec a = load(y + k * row + i);
        for (int j = 0; j < J; ++j) acc[k][j] += a * b[j];
      }
    }
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < J; ++j) store(sum + (k * n + j) * W, acc[k][j]);
}

template <int K>
inline void outer_row(const double* y, const double* g, std::int64_t row, const Run& run,
                      double* sum, std::int64_t n) {
  std::int64_t j = 0;
  for (; j + 3 <= n; j += 3) outer_tile<K, 3>(y, g + j * row, row, run, sum + j * W, n);
  if (n - j == 2) outer_tile<K, 2>(y, g + j * row, row, run, sum + j * W, n);
  if (n - j == 1) outer_tile<K, 1>(y, g + j * row, row, run, sum + j * W, n);
}

// A few places at a time: the rows that all tiles come back to stay in the inner cache.
inline void add_outer(const SliceAxis& axis, const double* y, const double* g, double* sum) {
  const std::int64_t n = axis.width, row = axis.inner * B, most = 2 * B;
  const std::int64_t together = row <= B ? 4 : 1;
  for (std::int64_t o = 0; o < axis.outer; o += together)
    for (std::int64_t i = 0; i < row; i += most) {
      const Run run = {axis.outer - o < together ? axis.outer - o : together, n * row,
                       row - i < most ? row - i : most};
      const double *a = y + o * n * row + i, *b = g + o * n * row + i;
      std::int64_t k = 0;
      for (; k + 4 <= n; k += 4) outer_row<4>(a + k * row, b, row, run, sum + k * n * W, n);
      if (n - k >= 2) outer_row<2>(a + k * row, b, row, run, sum + k * n * W, n), k += 2;
      if (n - k == 1) outer_row<1>(a + k * row, b, row, run, sum + k * n * W, n);
    }
}

}  // namespace slice
}  // namespace crfkit::CRFKIT_ARCH
