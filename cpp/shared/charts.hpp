// Kernels of charts: sums over the ways to make a span of two smaller ones, and rows of matrices.
#pragma once

#include <cstdint>

namespace crfkit {

struct ChartKernels {
  // log sum of exp(a[i] + b[i]) over i < n; -inf where all are.
  double (*sum)(const double* a, const double* b, std::int64_t n);
  // The largest a[i] + b[i]; -inf of none.
  double (*most)(const double* a, const double* b, std::int64_t n);
  // Adds weight * exp(a[i] + b[i] - total) to `to_a` and `to_b`.
  void (*share)(const double* a, const double* b, std::int64_t n, double total, double weight,
                double* to_a, double* to_b);
  // Adds factor * x[i] to `to`.
  void (*add)(const double* x, std::int64_t n, double factor, double* to);
  double (*dot)(const double* x, const double* y, std::int64_t n);
};

namespace baseline {
extern const ChartKernels charts;
}
namespace avx2 {
extern const ChartKernels charts;
}
namespace avx512 {
extern const ChartKernels charts;
}

}  // namespace crfkit
