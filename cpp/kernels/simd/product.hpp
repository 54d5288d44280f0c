// The dense steps: rows times a matrix under (+, *) or (max, +), and the sum of outer products for
// pooled marginals of edges.
//
// A matrix [n_in, n_out] is stored in panels of kPanel vectors of columns, each panel contiguous
// over the n_in rows, so that a tile of kTile rows by one panel lives in registers while its panel
// streams by once.  Measured at L = 500: without panels (row-major, 4 KB between rows) the step
// spends half its time in TLB misses.
#pragma once

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {

inline constexpr int kPanel = W == 8 ? 4 : W == 4 ? 3 : 2;  // vectors of columns in a panel
inline constexpr int kTile = W == 8 ? 6 : 4;                // rows swept together

struct SumProduct {
  static Vec zero() { return Vec{}; }
  static Vec step(Vec acc, Vec x, Vec m) { return acc + x * m; }
  static Vec plus(Vec a, Vec b) { return a + b; }
};

struct MaxPlus {
  static Vec zero() { return splat(kZero); }
  static Vec step(Vec acc, Vec x, Vec m) { return max(acc, x + m); }
  static Vec plus(Vec a, Vec b) { return max(a, b); }
};

// How far apart the entries of a row lie: side by side, or a number of type std::ptrdiff_t.
struct Adjacent {
  constexpr operator std::ptrdiff_t() const { return 1; }
};

inline std::size_t packed_size(int n_in, int n_out) {
  return static_cast<std::size_t>(n_in) * static_cast<std::size_t>(padded(n_out));
}

// Index of the vector that holds columns [column, column + W) of row i; column is a multiple of W.
inline std::size_t packed_index(int n_in, int n_out, int i, int column) {
  const int wide = kPanel * W, panel = column / wide;
  const int rest = padded(n_out) - panel * wide, width = rest < wide ? rest : wide;
  return static_cast<std::size_t>(panel) * wide * n_in + static_cast<std::size_t>(i) * width +
         (column - panel * wide);
}

// packed[i, j] = f(source[i * row_step + j * column_step]), `fill` in the padding columns.
template <class F>
inline void pack(const double* source, std::ptrdiff_t row_step, std::ptrdiff_t column_step,
                 int n_in, int n_out, double fill, double* packed, F f) {
  for (int column = 0; column < padded(n_out); column += W) {
    const int count = n_out - column < W ? (n_out - column > 0 ? n_out - column : 0) : W;
    for (int i = 0; i < n_in; ++i) {
      Vec v = splat(fill);
      if (column_step == 1) {
        v = load_part(source + i * row_step + column, count, fill);
      } else {
        for (int j = 0; j < count; ++j) v[j] = source[i * row_step + (column + j) * column_step];
      }
      store(packed + packed_index(n_in, n_out, i, column), f(v));
    }
  }
}

// out[r, :] = rows[r, :] . panel for R rows and C vectors of columns.  One or two rows alone would
// wait for the latency of each step, so their sum runs in several independent parts.
template <class Op, int R, int C, class Apart>
inline void tile(const double* rows, std::ptrdiff_t step, int n_in, const double* panel,
                 double* out, std::ptrdiff_t out_step, Apart apart) {
  constexpr int U = R == 1 ? 4 : R == 2 ? 2 : 1;
  Vec acc[U][R][C];
  for (int u = 0; u < U; ++u)
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) acc[u][r][c] = Op::zero();
  int i = 0;
  for (; i + U <= n_in; i += U) {
    for (int u = 0; u < U; ++u) {
      Vec m[C];
      for (int c = 0; c < C; ++c) m[c] = load(panel + (i + u) * (C * W) + c * W);
      for (int r = 0; r < R; ++r) {
        const Vec x = splat(rows[r * step + (i + u) * apart]);
        for (int c = 0; c < C; ++c) acc[u][r][c] = Op::step(acc[u][r][c], x, m[c]);
      }
    }
  }
  for (; i < n_in; ++i) {
    for (int r = 0; r < R; ++r) {
      const Vec x = splat(rows[r * step + i * apart]);
      for (int c = 0; c < C; ++c)
        acc[0][r][c] = Op::step(acc[0][r][c], x, load(panel + i * (C * W) + c * W));
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) {
      Vec v = acc[0][r][c];
      for (int u = 1; u < U; ++u) v = Op::plus(v, acc[u][r][c]);
      store(out + r * out_step + c * W, v);
    }
  }
}

template <class Op, int C, class Apart>
inline void panel_product(const double* rows, std::ptrdiff_t step, int count, int n_in,
                          const double* panel, double* out, std::ptrdiff_t out_step, Apart apart) {
  while (count >= kTile) {
    tile<Op, kTile, C>(rows, step, n_in, panel, out, out_step, apart);
    rows += kTile * step, out += kTile * out_step, count -= kTile;
  }
  switch (count) {
    case 5:
      return tile<Op, 5, C>(rows, step, n_in, panel, out, out_step, apart);
    case 4:
      return tile<Op, 4, C>(rows, step, n_in, panel, out, out_step, apart);
    case 3:
      return tile<Op, 3, C>(rows, step, n_in, panel, out, out_step, apart);
    case 2:
      return tile<Op, 2, C>(rows, step, n_in, panel, out, out_step, apart);
    case 1:
      return tile<Op, 1, C>(rows, step, n_in, panel, out, out_step, apart);
    default:
      return;
  }
}

// out[count, padded(n_out)] = rows[count, n_in] . packed[n_in, n_out], entries of rows `apart`.
template <class Op, class Apart = Adjacent>
inline void product(const double* rows, std::ptrdiff_t step, int count, int n_in,
                    const double* packed, int n_out, double* out, std::ptrdiff_t out_step,
                    Apart apart = {}) {
  int vectors = padded(n_out) / W;
  for (; vectors >= kPanel; vectors -= kPanel) {
    panel_product<Op, kPanel>(rows, step, count, n_in, packed, out, out_step, apart);
    packed += static_cast<std::size_t>(n_in) * kPanel * W, out += kPanel * W;
  }
  switch (vectors) {
    case 3:
      return panel_product<Op, 3>(rows, step, count, n_in, packed, out, out_step, apart);
    case 2:
      return panel_product<Op, 2>(rows, step, count, n_in, packed, out, out_step, apart);
    case 1:
      return panel_product<Op, 1>(rows, step, count, n_in, packed, out, out_step, apart);
    default:
      return;
  }
}

template <int R, int C, class Apart>
inline void outer_tile(const double* a, std::ptrdiff_t a_step, const double* g,
                       std::ptrdiff_t g_step, std::ptrdiff_t count, double* sum,
                       std::ptrdiff_t sum_step, Apart apart) {
  Vec acc[R][C];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) acc[r][c] = load(sum + r * sum_step + c * W);
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    Vec m[C];
    for (int c = 0; c < C; ++c) m[c] = load(g + k * g_step + c * W);
    for (int r = 0; r < R; ++r) {
      const Vec x = splat(a[k * a_step + r * apart]);
      for (int c = 0; c < C; ++c) acc[r][c] += x * m[c];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) store(sum + r * sum_step + c * W, acc[r][c]);
}

template <int C, class Apart>
inline void outer_panel(const double* a, std::ptrdiff_t a_step, const double* g,
                        std::ptrdiff_t g_step, std::ptrdiff_t count, int n_in, double* sum,
                        std::ptrdiff_t sum_step, Apart apart) {
  while (n_in >= kTile) {
    if (n_in >= 8 * kTile) {  // sums too large for the inner caches: those of the next tile
      for (int r = kTile; r < 2 * kTile; ++r)
        for (int j = 0; j < C * W; j += kPad) __builtin_prefetch(sum + r * sum_step + j, 1);
    }
    outer_tile<kTile, C>(a, a_step, g, g_step, count, sum, sum_step, apart);
    a += kTile * apart, sum += kTile * sum_step, n_in -= kTile;
  }
  switch (n_in) {
    case 5:
      return outer_tile<5, C>(a, a_step, g, g_step, count, sum, sum_step, apart);
    case 4:
      return outer_tile<4, C>(a, a_step, g, g_step, count, sum, sum_step, apart);
    case 3:
      return outer_tile<3, C>(a, a_step, g, g_step, count, sum, sum_step, apart);
    case 2:
      return outer_tile<2, C>(a, a_step, g, g_step, count, sum, sum_step, apart);
    case 1:
      return outer_tile<1, C>(a, a_step, g, g_step, count, sum, sum_step, apart);
    default:
      return;
  }
}

// sum[i, j] += sum over k of a[k, i] * g[k, j], for i < n_in and j < padded(n_out).  Entries of a
// row of a are `apart`.
// Blocks of kOuterBlock positions keep the touched parts of a and g in cache while all tiles of
// `sum` pass over them.
inline constexpr std::ptrdiff_t kOuterBlock = 128;

template <class Apart = Adjacent>
inline void add_outer_products(const double* a, std::ptrdiff_t a_step, const double* g,
                               std::ptrdiff_t g_step, std::ptrdiff_t count, int n_in, int n_out,
                               double* sum, std::ptrdiff_t sum_step, Apart apart = {}) {
  for (std::ptrdiff_t k = 0; k < count; k += kOuterBlock) {
    const std::ptrdiff_t block = count - k < kOuterBlock ? count - k : kOuterBlock;
    const double* a_block = a + k * a_step;
    for (int column = 0; column < padded(n_out); column += kPanel * W) {
      const int vectors = (padded(n_out) - column) / W;
      const double* g_block = g + k * g_step + column;
      double* out = sum + column;
      if (vectors >= kPanel) {
        outer_panel<kPanel>(a_block, a_step, g_block, g_step, block, n_in, out, sum_step, apart);
      } else if (vectors == 3) {
        outer_panel<3>(a_block, a_step, g_block, g_step, block, n_in, out, sum_step, apart);
      } else if (vectors == 2) {
        outer_panel<2>(a_block, a_step, g_block, g_step, block, n_in, out, sum_step, apart);
      } else {
        outer_panel<1>(a_block, a_step, g_block, g_step, block, n_in, out, sum_step, apart);
      }
    }
  }
}

}  // namespace crfkit::CRFKIT_ARCH
