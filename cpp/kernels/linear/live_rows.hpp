// Scores from live weights, and updates of them.
//
//   score   out[t, :] = scale * (sum of the rows of position t) + what attributes without a row add
//   update  row += value * change[t, :], and the change of the sum of squares
//
// Rows are fetched kAhead entries before they are used.
#pragma once

#include "kernels/linear/score_scatter.hpp"
#include "kernels/simd/arena.hpp"
#include "kernels/simd/simd.hpp"
#include "shared/live.hpp"

namespace crfkit::CRFKIT_ARCH {

inline VecInt has_weight(Vec v) { return (VecInt)v != (VecInt)splat(kNoWeight); }
inline bool has_weight(double v) { return v != 0.0 || !std::signbit(v); }

// Vectors of weights in the type they have in memory.
template <class Real>
struct Own;
template <>
struct Own<double> {
  using Vector = Vec;
  static Vec load(const double* p) { return CRFKIT_ARCH::load(p); }
  static void store(double* p, Vec v) { CRFKIT_ARCH::store(p, v); }
  static Vec of(Vec v) { return v; }
  static VecInt has_weight(Vec v) { return CRFKIT_ARCH::has_weight(v); }
};
template <>
struct Own<float> {
  using Vector = Floats;
  typedef std::int32_t Ints __attribute__((vector_size(W * 4)));
  static Floats load(const float* p) { return *reinterpret_cast<const FloatsAnywhere*>(p); }
  static void store(float* p, Floats v) { *reinterpret_cast<FloatsAnywhere*>(p) = v; }
  static Floats of(Vec v) { return narrowed(v); }
  static Ints has_weight(Floats v) { return (Ints)v != (Ints)(-0.0f - Floats{}); }
};

// The soft threshold of vectors.
inline Vec soft(Vec v, Vec l1) { return v - min(max(v, -l1), l1); }
template <class Vector, class Real>
inline Vector shrunk(Vector v, Real l1) {
  return v > l1 ? v - l1 : v < -l1 ? v + l1 : Vector{};
}
using crfkit::soft;

template <class Real>
inline __attribute__((always_inline)) void fetch_row(const LiveOf<Real>& w, std::int64_t i,
                                                     std::int64_t end) {
  if (i >= end) return;
  constexpr int line = 64 / sizeof(Real);
  const Real* row = w.table + static_cast<std::int64_t>(w.row[i]) * w.step;
  for (int j = 0; j < w.step && j < kLines * kPad; j += line) __builtin_prefetch(row + j);
}

// Fetches the lists of positions [first, last), which the rows of their weights wait for.
template <class Real>
inline void fetch_lists(const LiveOf<Real>& w, std::int64_t first, std::int64_t last) {
  const auto fetch = [](const auto* from, const auto* to) {
    const char* end = reinterpret_cast<const char*>(to);
    for (const char* p = reinterpret_cast<const char*>(from); p < end; p += 64)
      __builtin_prefetch(p, 0, 2);
  };
  const std::int64_t a = first * w.shards, b = last * w.shards;
  fetch(w.row_ptr + a, w.row_ptr + b + 1);
  fetch(w.short_ptr + a, w.short_ptr + b + 1);
  fetch(w.row + w.row_ptr[a], w.row + w.row_ptr[b]);
  fetch(w.first + w.short_ptr[a], w.first + w.short_ptr[b]);
  if (w.alone) fetch(w.alone + first, w.alone + last);
}

// Fetches the first weights of the positions from `first` on.
template <class Real>
inline void fetch_first(const LiveOf<Real>& w, std::int64_t first, std::int64_t last) {
  const std::int64_t a = first * w.shards, b = last * w.shards;
  const std::int64_t row = w.row_ptr[a], row_end = w.row_ptr[b];
  for (std::int64_t i = row; i < row + kAhead; ++i) fetch_row(w, i, row_end);
  for (std::int64_t i = w.short_ptr[a]; i < w.short_ptr[a] + kAhead && i < w.short_ptr[b]; ++i)
    __builtin_prefetch(w.cell + w.first[i]);
}

template <class Real>
struct LiveScorer {
  const LiveOf<Real>& w;
  double l1, scale;
  std::int64_t row_end, short_end;  // of the sequence: nothing beyond is fetched early

  LiveScorer(const LiveOf<Real>& live, double l1_, double scale_, std::int64_t last)
      : w(live),
        l1(l1_),
        scale(scale_),
        row_end(live.row_ptr[last * live.shards]),
        short_end(live.short_ptr[last * live.shards]) {}

  // Scores of position p into out[L].
  void position(std::int64_t p, double* out) const {
    if (l1 > 0.0) return w.values ? whole<true, true>(p, out) : whole<false, true>(p, out);
    w.values ? whole<true, false>(p, out) : whole<false, false>(p, out);
  }

 private:
  template <bool kValues, bool kShrink>
  void whole(std::int64_t p, double* out) const {
    constexpr int line = kPad / W;
    for (int column = 0; column < w.step; column += kLines * kPad) {
      switch ((w.step - column) / kPad) {
        case 1:
          panel<line, kValues, kShrink>(p, column, out);
          break;
        case 2:
          panel<2 * line, kValues, kShrink>(p, column, out);
          break;
        case 3:
          panel<3 * line, kValues, kShrink>(p, column, out);
          break;
        default:
          panel<kLines * line, kValues, kShrink>(p, column, out);
      }
    }
    for (std::int64_t i = w.short_ptr[p * w.shards]; i < w.short_ptr[(p + 1) * w.shards]; ++i) {
      if (i + kAhead < short_end) __builtin_prefetch(w.cell + w.first[i + kAhead]);
      const double value = kValues ? scale * w.short_value[i] : scale;
      const CellOf<Real>* cell = w.cell + w.first[i];
      do {
        out[cell->column] += value * (kShrink ? soft(cell->weight, l1) : cell->weight);
      } while (!cell++->last);
    }
  }

  template <int V, bool kValues, bool kShrink>
  void panel(std::int64_t p, int column, double* out) const {
    typename Own<Real>::Vector acc[V] = {};
    for (std::int64_t i = w.row_ptr[p * w.shards]; i < w.row_ptr[(p + 1) * w.shards]; ++i) {
      if (column == 0) fetch_row(w, i + kAhead, row_end);
      const Real* row = w.table + static_cast<std::int64_t>(w.row[i]) * w.step + column;
      for (int v = 0; v < V; ++v) {
        typename Own<Real>::Vector x = Own<Real>::load(row + v * W);
        if constexpr (kShrink) x = shrunk(x, static_cast<Real>(l1));
        if constexpr (kValues) x *= static_cast<Real>(w.row_value[i]);
        acc[v] += x;
      }
    }
    for (int v = 0; v < V; ++v)
      store_part(out + column + v * W, w.labels - column - v * W, scale * widened(acc[v]));
  }
};

// Adds changes to the rows of positions; keeps the change of the sum of squared (shrunk) weights.
template <class Real>
struct LiveUpdater {
  const LiveOf<Real>& w;
  double l1;
  std::int64_t row_end, short_end;
  Vec squares = {};
  double short_squares = 0.0;

  LiveUpdater(const LiveOf<Real>& live, double l1_, std::int64_t last)
      : w(live),
        l1(l1_),
        row_end(live.row_ptr[last * live.shards]),
        short_end(live.short_ptr[last * live.shards]) {}

  // row += value * change[step] for the entries at = position * shards + shard.
  void position(std::int64_t at, const double* change) {
    if (l1 > 0.0) return w.values ? whole<true, true>(at, change) : whole<false, true>(at, change);
    w.values ? whole<true, false>(at, change) : whole<false, false>(at, change);
  }
  double total() const { return sum_of(squares) + short_squares; }

 private:
  template <bool kValues, bool kShrink>
  void whole(std::int64_t at, const double* change) {
    w.partial ? rows<kValues, kShrink, true>(at, change)
              : rows<kValues, kShrink, false>(at, change);
    for (std::int64_t i = w.short_ptr[at]; i < w.short_ptr[at + 1]; ++i) {
      if (i + kAhead < short_end) __builtin_prefetch(w.cell + w.first[i + kAhead], 1);
      const double value = kValues ? w.short_value[i] : 1.0;
      CellOf<Real>* cell = w.cell + w.first[i];
      do {
        const double before = cell->weight;
        const double after = static_cast<Real>(before + value * change[cell->column]);
        const double a = kShrink ? soft(after, l1) : after, b = kShrink ? soft(before, l1) : before;
        short_squares += (a - b) * (a + b);
        cell->weight = static_cast<Real>(after);
      } while (!cell++->last);
    }
  }

  template <bool kValues, bool kShrink, bool kMask>
  void rows(std::int64_t at, const double* change) {
    constexpr int line = kPad / W;
    if (w.row_ptr[at] == w.row_ptr[at + 1]) return;
    for (int column = 0; column < w.step; column += kLines * kPad) {
      switch ((w.step - column) / kPad) {
        case 1:
          panel<line, kValues, kShrink, kMask>(at, column, change);
          break;
        case 2:
          panel<2 * line, kValues, kShrink, kMask>(at, column, change);
          break;
        case 3:
          panel<3 * line, kValues, kShrink, kMask>(at, column, change);
          break;
        default:
          panel<kLines * line, kValues, kShrink, kMask>(at, column, change);
      }
    }
  }

  template <int V, bool kValues, bool kShrink, bool kMask>
  void panel(std::int64_t at, int column, const double* change) {
    typename Own<Real>::Vector d[V], sum = {};
    for (int v = 0; v < V; ++v) d[v] = Own<Real>::of(load(change + column + v * W));
    for (std::int64_t i = w.row_ptr[at]; i < w.row_ptr[at + 1]; ++i) {
      if (column == 0) fetch_row(w, i + kAhead, row_end);
      Real* row = w.table + static_cast<std::int64_t>(w.row[i]) * w.step + column;
      for (int v = 0; v < V; ++v) {
        const auto before = Own<Real>::load(row + v * W);
        auto after = before + (kValues ? static_cast<Real>(w.row_value[i]) * d[v] : d[v]);
        if constexpr (kMask) after = Own<Real>::has_weight(before) ? after : before;
        if constexpr (kShrink) {
          const Real off = static_cast<Real>(l1);
          const auto a = shrunk(after, off), b = shrunk(before, off);
          sum += (a - b) * (a + b);
        } else {
          sum += (after - before) * (after + before);
        }
        Own<Real>::store(row + v * W, after);
      }
    }
    squares += widened(sum);
  }
};

}  // namespace crfkit::CRFKIT_ARCH
