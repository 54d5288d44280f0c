// Compiled once per instruction set: sums over charts.
#include "shared/charts.hpp"

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {

namespace {

double most(const double* a, const double* b, std::int64_t n) {
  Vec top = splat(kZero);
  std::int64_t i = 0;
  for (; i + W <= n; i += W) top = max(top, load(a + i) + load(b + i));
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    top = max(top, load_part(a + i, rest, kZero) + load_part(b + i, rest, kZero));
  }
  return max_of(top);
}

double sum(const double* a, const double* b, std::int64_t n) {
  const double top = most(a, b, n);
  if (top == kZero) return kZero;
  Vec total = {};
  std::int64_t i = 0;
  for (; i + W <= n; i += W) total += exp(load(a + i) + load(b + i) - top);
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    total += exp(load_part(a + i, rest, kZero) + load_part(b + i, rest, 0.0) - top);
  }
  return top + log(splat(sum_of(total)))[0];
}

void share(const double* a, const double* b, std::int64_t n, double total, double weight,
           double* to_a, double* to_b) {
  for (std::int64_t i = 0; i < n; i += W) {
    const int rest = static_cast<int>(n - i < W ? n - i : W);
    const Vec pair = load_part(a + i, rest, kZero) + load_part(b + i, rest, 0.0);
    const Vec part = weight * exp(pair - total);
    store_part(to_a + i, rest, load_part(to_a + i, rest, 0.0) + part);
    store_part(to_b + i, rest, load_part(to_b + i, rest, 0.0) + part);
  }
}

void add(const double* x, std::int64_t n, double factor, double* to) {
  std::int64_t i = 0;
  for (; i + W <= n; i += W) store(to + i, load(to + i) + factor * load(x + i));
  for (; i < n; ++i) to[i] += factor * x[i];
}

double dot(const double* x, const double* y, std::int64_t n) {
  Vec total = {};
  std::int64_t i = 0;
  for (; i + W <= n; i += W) total += load(x + i) * load(y + i);
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    total += load_part(x + i, rest, 0.0) * load_part(y + i, rest, 0.0);
  }
  return sum_of(total);
}

}  // namespace

extern const ChartKernels charts;

const ChartKernels charts = {.sum = sum, .most = most, .share = share, .add = add, .dot = dot};

}  // namespace crfkit::CRFKIT_ARCH
