// Compiled once per instruction set: sums over charts.
#include "shared/charts.hpp"

#include "kernels/simd/simd.hpp"

namespace crfkit::CRFKIT_ARCH {

namespace {

static_assert(W <= kChartSlack);

// Lanes are cells of a row, so that nothing is added up across a vector.
template <class Answer>
inline void each_vector(double* value, const ChartRow& row, Answer answer) {
  for (int i = 0; i < row.lanes; i += W)
    store_part(value + row.place + i, row.lanes - i, answer(i));
}

inline Vec most_at(const double* value, const ChartRow& row, const ChartTerm* terms, int i) {
  Vec top = splat(kZero);
  for (int k = 0; k < row.count; ++k)
    top = max(top, load(value + terms[k].left + i) + load(value + terms[k].right + i));
  return top;
}

void most(double* value, const ChartRow& row, const ChartTerm* terms) {
  each_vector(value, row, [&](int i) { return most_at(value, row, terms, i); });
}

void sum(double* value, const ChartRow& row, const ChartTerm* terms) {
  if (row.count == 1) return most(value, row, terms);
  each_vector(value, row, [&](int i) {
    const Vec most = most_at(value, row, terms, i);
    const Vec top = most == kZero ? Vec{} : most;
    Vec total = {};
    for (int k = 0; k < row.count; ++k)
      total += exp(load(value + terms[k].left + i) + load(value + terms[k].right + i) - top);
    return top + log(total);
  });
}

inline void add_part(double* to, int count, Vec x) {
  if (count >= W)
    store(to, load(to) + x);
  else
    store_part(to, count, load(to) + x);
}

void share(const double* value, const ChartRow& row, const ChartTerm* terms, double* expected) {
  for (int i = 0; i < row.lanes; i += W) {
    const int lanes = row.lanes - i;
    const Vec weight = load(expected + row.place + i);
    const Vec own = load(value + row.place + i);
    const Vec total = own == kZero ? Vec{} : own;
    for (int k = 0; k < row.count; ++k) {
      const ChartTerm t = terms[k];
      const Vec pair = load(value + t.left + i) + load(value + t.right + i);
      const Vec part = row.count == 1 ? weight : weight * exp(pair - total);
      add_part(expected + t.left + i, lanes, part);
      add_part(expected + t.right + i, lanes, part);
    }
  }
}

double log_sum(const double* x, std::int64_t n) {
  Vec most = splat(kZero), total = {};
  const auto part = [&](std::int64_t i) {
    return load_part(x + i, static_cast<int>(n - i < W ? n - i : W), kZero);
  };
  for (std::int64_t i = 0; i < n; i += W) most = max(most, part(i));
  const double top = max_of(most);
  if (top == kZero) return kZero;
  for (std::int64_t i = 0; i < n; i += W) total += exp(part(i) - top);
  return top + log(splat(sum_of(total)))[0];
}

void spread(const double* x, std::int64_t n, double total, double weight, double* to) {
  for (std::int64_t i = 0; i < n; i += W) {
    const int lanes = static_cast<int>(n - i < W ? n - i : W);
    store_part(to + i, lanes, weight * exp(load_part(x + i, lanes, kZero) - total));
  }
}

void exp_below(const double* x, const double* top, std::int64_t n, double* to) {
  for (std::int64_t i = 0; i < n; i += W) {
    const int lanes = static_cast<int>(n - i < W ? n - i : W);
    store_part(to + i, lanes, exp(load_part(x + i, lanes, kZero) - load_part(top + i, lanes, 0.0)));
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

const ChartKernels charts = {
    .sum = sum,
    .most = most,
    .share = share,
    .log_sum = log_sum,
    .spread = spread,
    .exp_below = exp_below,
    .add = add,
    .dot = dot,
};

}  // namespace crfkit::CRFKIT_ARCH
