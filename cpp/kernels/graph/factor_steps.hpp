// One message out of a table: rows of what the variables tell the factor are summed (or maximized)
// out, axis by axis.  Pairs are the case of one axis.
#pragma once

#include "kernels/simd/product.hpp"
#include "shared/path_messages.hpp"

namespace crfkit::CRFKIT_ARCH {

// Rows of probabilities.
struct Sums {
  static constexpr bool kLogs = false, kTotals = false;
  static constexpr double kNone = 0.0;  // what is forbidden, and the padding of rows
  using Dense = SumProduct;
  static double times(double a, double b) { return a * b; }
  static double plus(double a, double b) { return a + b; }
  static Vec times(Vec a, Vec b) { return a * b; }
};

// Rows of logarithms.
struct Maxima {
  static constexpr bool kLogs = true, kTotals = false;
  static constexpr double kNone = kZero;
  using Dense = MaxPlus;
  static double times(double a, double b) { return a + b; }
  static double plus(double a, double b) { return a > b ? a : b; }
  static Vec times(Vec a, Vec b) { return a + b; }
};

// The same, summed: maxima in a first pass, totals in a second.
struct LogSums : Maxima {
  static constexpr bool kTotals = true;
};

// A cell of a table under the rule: probabilities as they are, scores times their scale.
template <class Op, class T>
inline T scaled_cell(T cell, double scale) {
  if constexpr (Op::kLogs) return cell * scale;
  return cell;
}

// log of the sum of exp(v), lane by lane, given the maxima: the second pass of LogSums.
inline Vec log_total(Vec most, Vec sum) { return most == kZero ? most : most + log(sum); }

// The sum over lanes of exp(v - most), for most > -inf.
inline double log_of_lanes(double most, Vec sum) { return most + std::log(sum_of(sum)); }

// to[o] = sum over x of from[o, x] q[x]: the last axis goes. The rest of a vector is 0 in the table
// and nothing in q: -inf in the table would be NaN times a scale of 0.
template <class Op>
inline void drop_last(const double* from, std::int64_t outer, int n, const double* q, double scale,
                      double* to) {
  for (std::int64_t o = 0; o < outer; ++o, from += n) {
    Vec acc = splat(Op::kNone);
    for (int j = 0; j < n; j += W) {
      const Vec term = Op::times(scaled_cell<Op>(load_part(from + j, n - j, 0.0), scale),
                                 load_part(q + j, n - j, Op::kNone));
      acc = Op::Dense::plus(acc, term);
    }
    if constexpr (!Op::kLogs) {
      to[o] = sum_of(acc);
    } else {
      const double most = max_of(acc);
      to[o] = most;
      if constexpr (Op::kTotals) {
        if (most == kZero) continue;
        Vec sum = {};
        for (int j = 0; j < n; j += W)
          sum += exp(Op::times(scaled_cell<Op>(load_part(from + j, n - j, 0.0), scale),
                               load_part(q + j, n - j, kZero)) -
                     most);
        to[o] = log_of_lanes(most, sum);
      }
    }
  }
}

// to[r] = sum over x of q[x] from[x, r]: the first axis goes.
template <class Op>
inline void drop_first(const double* from, int n, std::int64_t rest, const double* q, double scale,
                       double* to) {
  for (std::int64_t j = 0; j < rest; j += W) {
    const int left = rest - j < W ? static_cast<int>(rest - j) : W;
    Vec acc = splat(Op::kNone);
    for (int i = 0; i < n; ++i) {
      const Vec cell = scaled_cell<Op>(load_part(from + i * rest + j, left, Op::kNone), scale);
      acc = Op::Dense::step(acc, splat(q[i]), cell);
    }
    if constexpr (Op::kTotals) {
      const Vec finite = acc == kZero ? Vec{} : acc;
      Vec sum = {};
      for (int i = 0; i < n; ++i)
        sum += exp(splat(q[i]) +
                   scaled_cell<Op>(load_part(from + i * rest + j, left, kZero), scale) - finite);
      acc = log_total(acc, sum);
    }
    store_part(to + j, left, acc);
  }
}

// The message to `axis`: q[a] are the rows of the variables (q[axis] is not read), room[2] buffers
// of as many cells as the table has without its shortest axis.
template <class Op>
inline void contract(const MessageTable& t, const double* cell, double scale, int axis,
                     const double* const* q, double* const* room, double* out) {
  const double* from = cell;
  std::int64_t left = t.cells;
  int next = 0;
  for (int a = t.arity - 1; a > axis; --a) {
    left /= t.shape[a];
    double* to = a == axis + 1 && axis == 0 ? out : room[next];
    drop_last<Op>(from, left, t.shape[a], q[a], scale, to);
    from = to, next ^= 1, scale = 1.0;
  }
  for (int a = 0; a < axis; ++a) {
    left /= t.shape[a];
    double* to = a == axis - 1 ? out : room[next];
    drop_first<Op>(from, t.shape[a], left, q[a], scale, to);
    from = to, next ^= 1, scale = 1.0;
  }
}

// Pairs of few labels, all loops unrolled: to axis 1 (Last), or to axis 0.
template <class Op, int L, bool Last>
inline void small_pair(const double* cell, const double* q, double scale, double* out) {
  for (int k = 0; k < L; ++k) {
    double acc = Op::kNone;
    for (int i = 0; i < L; ++i) {
      const double c = scaled_cell<Op>(cell[Last ? i * L + k : k * L + i], scale);
      acc = Op::plus(acc, Op::times(q[i], c));
    }
    out[k] = acc;
  }
}

// A table that knows only whether labels are the same: O(L), more than kPad of them, rows padded.
// Where the same label is nowhere worse than another (rises), all labels can be taken together with
// the own one; else sums over the others are prefix plus suffix, as a difference could cancel.
template <class Op>
inline void same_pair(const double* same, double other, bool rises, int n, const double* q,
                      double scale, double* out) {
  if (rises) {
    Vec acc = load(q);
    for (int i = W; i < n; i += W) acc = Op::Dense::plus(acc, load(q + i));
    const double all = Op::kLogs ? max_of(acc) + other * scale : sum_of(acc) * other;
    for (int i = 0; i < n; i += W) {
      const Vec own = load(q + i), equal = load(same + i);
      if constexpr (Op::kLogs) {
        store(out + i, max(own + equal * scale, splat(all)));
      } else {
        store(out + i, (equal - other) * own + all);
      }
    }
    return;
  }
  double before = Op::kNone, after = Op::kNone;
  const double apart = scaled_cell<Op>(other, scale);
  for (int i = 0; i < n; ++i) out[i] = before, before = Op::plus(before, q[i]);
  for (int i = n - 1; i >= 0; --i) {
    out[i] = Op::plus(Op::times(Op::plus(out[i], after), apart),
                      Op::times(scaled_cell<Op>(same[i], scale), q[i]));
    after = Op::plus(after, q[i]);
  }
}

}  // namespace crfkit::CRFKIT_ARCH
