// The updates of stochastic training, on vectors of weights.
//
// k adaptive steps without gradient, each w <- soft(w, a l1) / (1 + a l2), are exactly
//     |w| <- max(0, |w| b^k - l1 / l2 (1 - b^k)), b = 1 / (1 + a l2);  l2 = 0: max(0, |w| - k a
//     l1):
// a geometric series, and what has become 0 stays 0.
#pragma once

#include "kernels/linear/live_rows.hpp"

namespace crfkit::CRFKIT_ARCH {

inline Vec root(Vec v) {
#if defined(__AVX512F__)
  return (Vec)_mm512_maskz_sqrt_pd(0xff, (__m512d)v);
#else
  double a[W];
  store(a, v);
#pragma omp simd
  for (int i = 0; i < W; ++i) a[i] = __builtin_sqrt(a[i]);
  return load(a);
#endif
}
// log(1 + x) and exp(x) - 1 without cancellation (Kahan).
inline Vec log_of_one_plus(Vec x) {
  const Vec u = 1.0 + x, d = u - 1.0;
  return d == 0.0 ? x : log(u) * (x / (d == 0.0 ? splat(1.0) : d));
}
inline Vec exp_minus_one(Vec x, Vec u) {  // u = exp(x), x <= 0
  const Vec d = u - 1.0;
  const Vec near = (x > -1.0) & (d != 0.0) ? u : splat(0.5);
  return d == 0.0 ? x : x > -1.0 ? d * x / log(near) : d;
}

// The adaptive rule for the weights of one group.
struct Proximal {
  double rate, l1, l2, offset;

  Vec step(Vec w, Vec g, Vec squares) const {
    const Vec h = offset + root(squares);
    return soft(h * w - rate * g, splat(rate * l1)) / (h + rate * l2);  // one division
  }
  // The steps without gradient that a weight has missed.
  Vec rest(Vec w, Vec squares, double steps) const {
    const Vec a = rate / (offset + root(squares)), size = max(w, -w);
    Vec left;
    if (l2 > 0.0) {
      const Vec x = -steps * log_of_one_plus(a * l2), u = exp(x);
      left = size * u;
      if (l1 > 0.0) left += l1 / l2 * exp_minus_one(x, u);
    } else {
      left = size - steps * l1 * a;
    }
    left = max(left, Vec{});
    return w < 0.0 ? -left : left;
  }
  bool still() const { return l1 == 0.0 && l2 == 0.0; }
};

// The cumulative rule: what is left of w, and what it has received so far.
inline Vec clip(Vec w, Vec& received, double due) {
  const Vec zero = {};
  const Vec after = w > 0.0   ? max(zero, w - (due + received))
                    : w < 0.0 ? min(zero, w + (due - received))
                              : w;
  received += after - w;
  return after;
}

}  // namespace crfkit::CRFKIT_ARCH
