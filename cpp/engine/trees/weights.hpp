// Weights of arcs, 0 or more: doubles, or logarithms where these would leave their range.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/trees/chart.hpp"
#include "shared/charts.hpp"

namespace crfkit {

struct Plain {
  double of = 0.0;

  double log() const { return std::log(of); }
  double number() const { return of; }
  bool zero() const { return of == 0.0; }
  Plain operator*(Plain b) const { return {of * b.of}; }
  Plain operator/(Plain b) const { return {of / b.of}; }
  void operator+=(Plain b) { of += b.of; }
  // This and a number that may be negative; the sum is not, up to rounding.
  Plain with(double x) const { return {std::max(of + x, 0.0)}; }
};
static_assert(sizeof(Plain) == sizeof(double));

struct Log {
  double of = kNever;

  double log() const { return of; }
  double number() const { return std::exp(of); }
  bool zero() const { return of == kNever; }
  Log operator*(Log b) const { return {of + b.of}; }
  Log operator/(Log b) const { return {of - b.of}; }
  void operator+=(Log b) {
    const double high = std::max(of, b.of), low = std::min(of, b.of);
    of = low == kNever ? high : high + std::log1p(std::exp(low - high));
  }
  Log with(double x) const {
    return of > 600.0 ? *this : Log{std::log(std::max(number() + x, 0.0))};
  }
};

// Weights of scores, each less its `top`.
inline void weigh(const ChartKernels& kernels, const double* score, const double* top,
                  std::int64_t n, Plain* to) {
  kernels.exp_below(score, top, n, &to->of);
}
inline void weigh(const ChartKernels&, const double* score, const double* top, std::int64_t n,
                  Log* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = {score[i] - top[i]};
}

inline void add(const ChartKernels& kernels, const Plain* x, std::int64_t n, Plain factor,
                Plain* to) {
  kernels.add(&x->of, n, factor.of, &to->of);
}
inline void add(const ChartKernels&, const Log* x, std::int64_t n, Log factor, Log* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += factor * x[i];
}

inline Plain dot(const ChartKernels& kernels, const Plain* x, const Plain* y, std::int64_t n) {
  return {kernels.dot(&x->of, &y->of, n)};
}
inline Log dot(const ChartKernels&, const Log* x, const Log* y, std::int64_t n) {
  Log total;
  for (std::int64_t i = 0; i < n; ++i) total += x[i] * y[i];
  return total;
}

}  // namespace crfkit
