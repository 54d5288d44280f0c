// Kernels of charts: rows of cells that are sums over pairs of other cells, and rows of matrices.
#pragma once

#include <cstdint>

namespace crfkit {

// Cell i of a row has the pair (left + i, right + i).
struct ChartTerm {
  std::int32_t left, right;
};

// Cells [place, place + lanes) of the values of a chart, logarithms; all have `count` pairs.
struct ChartRow {
  std::int32_t place, lanes, first, count;  // terms [first, first + count) of the plan
};

inline constexpr int kChartSlack = 8;  // places behind a chart that kernels may read

struct ChartKernels {
  // log sums of exp(left + right), or the largest left + right; -inf where all are.
  void (*sum)(double* value, const ChartRow&, const ChartTerm* terms);
  void (*most)(double* value, const ChartRow&, const ChartTerm* terms);
  // Adds what is expected of the cells of a row to their pairs, by the shares that these have.
  void (*share)(const double* value, const ChartRow&, const ChartTerm* terms, double* expected);
  // log sum of exp(x[i]); -inf where all are.
  double (*log_sum)(const double* x, std::int64_t n);
  // Sets `to` to weight * exp(x[i] - total).
  void (*spread)(const double* x, std::int64_t n, double total, double weight, double* to);
  // Sets `to` to exp(x[i] - top[i]).
  void (*exp_below)(const double* x, const double* top, std::int64_t n, double* to);
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
