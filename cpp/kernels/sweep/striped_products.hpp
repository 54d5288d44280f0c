// Gradients of steps for lanes side by side: cells times the adjoints of the next row, summed over
// rows and lanes, for all pairs of few labels or for some pairs of many.
//
// Adjoints of the last few rows are kept, so that a sum stays in a register over several rows. Sums
// of lanes are added at the end, or kept apart.
#pragma once

#include "kernels/sweep/packed_rows.hpp"
#include "kernels/sweep/tables.hpp"

namespace crfkit::CRFKIT_ARCH {

class StripedProducts {
 public:
  StripedProducts(const Table& table, int labels, const Packed& s, std::ptrdiff_t stride,
                  const EdgeSums& sums, Arena& arena)
      : pairs_(table.pairs),
        n_(labels),
        kept_(table.sparse() ? kSparseRows : kDenseRows),
        lanes_(s.lanes()),
        stride_(stride),
        sums_(sums) {
    ring_ = arena.take<double>(static_cast<std::size_t>(stride) * kept_);
    if (!sums.products) return;
    count_ = table.sparse() ? pairs_.ptr[n_] : n_ * n_;
    const int apart = sums.lane_step ? padded(lanes_) / W : 1;
    acc_ = arena.take<double>(static_cast<std::size_t>(count_) * W * apart, 0.0);
  }

  // [stripes, labels, kStripe] adjoints of row r.
  double* adjoint(int r) const { return ring_ + r % kept_ * stride_; }

  // The adjoints of the steps into row r are known, for all lanes.
  void see(const Packed& s, int r, const double* cells) const {
    if (!acc_ || (r % kept_ != 0 && r != 1)) return;
    const int left = kept_ - r % kept_, rest = s.rows() - r, last = r + (left < rest ? left : rest);
    for (int lane = 0, first = r; lane < lanes_; lane += W) {
      while (first < last && s.reached(first - 1) <= lane) ++first;  // whose predecessor has them
      if (first == last) return;
      const std::ptrdiff_t at =
          static_cast<std::ptrdiff_t>(lane) / kStripe * n_ * kStripe + lane % kStripe;
      const double* x = cells + (first - 1) * stride_ + at;
      const double* a = ring_ + first % kept_ * stride_ + at;
      double* acc = acc_ + (sums_.lane_step ? lane * count_ : 0);
      pairs_.ptr ? add_pairs(last - first, x, a, acc) : add_all(last - first, x, a, acc);
    }
  }

  // Adds everything to the sums.
  void finish() const {
    if (!acc_) return;
    const std::ptrdiff_t step = padded(n_);
    for (std::int64_t k = 0; k < count_; ++k) {
      double* out = sums_.products + (pairs_.ptr ? k : k / n_ * step + k % n_);
      if (!sums_.lane_step) {
        *out += sum_of(load(acc_ + k * W));
        continue;
      }
      for (int b = 0; b < lanes_; ++b)
        out[b * sums_.lane_step] += acc_[(b / W * count_ + k) * W + b % W];
    }
  }

 private:
  static constexpr int kDenseRows = 16, kSparseRows = 4;
  static constexpr int kSources = 4, kTargets = 3;  // of a tile

  void add_pairs(int rows, const double* x, const double* a, double* acc) const {
    switch (rows) {
      case 1:
        return add_pairs<1>(x, a, acc);
      case 2:
        return add_pairs<2>(x, a, acc);
      case 3:
        return add_pairs<3>(x, a, acc);
      default:
        return add_pairs<kSparseRows>(x, a, acc);
    }
  }
  template <int R>
  void add_pairs(const double* x, const double* a, double* acc) const {
    for (int j = 0; j < n_; ++j) {
      Vec to[R];
      for (int r = 0; r < R; ++r) to[r] = load(a + r * stride_ + j * kStripe);
      for (std::int32_t k = pairs_.ptr[j]; k < pairs_.ptr[j + 1]; ++k) {
        Vec sum = load(acc + static_cast<std::ptrdiff_t>(k) * W);
        const double* from = x + pairs_.source[k] * kStripe;
        for (int r = 0; r < R; ++r) sum += load(from + r * stride_) * to[r];
        store(acc + static_cast<std::ptrdiff_t>(k) * W, sum);
      }
    }
  }

  void add_all(int rows, const double* x, const double* a, double* acc) const {
    for (int i = 0; i < n_;) {
      const int height = share(n_ - i, kSources);
      for (int j = 0; j < n_;) {
        const int width = share(n_ - j, kTargets);
        tile<kSources, kTargets>(height, width, rows, x + i * kStripe, a + j * kStripe,
                                 acc + (i * n_ + j) * W);
        j += width;
      }
      i += height;
    }
  }
  // The first of the fewest about equal parts of n that are not above `most`.
  static int share(int n, int most) {
    const int parts = (n + most - 1) / most;
    return (n + parts - 1) / parts;
  }

  template <int I, int J>
  void tile(int height, int width, int rows, const double* x, const double* a, double* acc) const {
    if constexpr (I > 1) {
      if (height < I) return tile<I - 1, J>(height, width, rows, x, a, acc);
    }
    if constexpr (J > 1) {
      if (width < J) return tile<I, J - 1>(height, width, rows, x, a, acc);
    }
    Vec sum[I][J];
    for (int i = 0; i < I; ++i)
      for (int j = 0; j < J; ++j) sum[i][j] = load(acc + (i * n_ + j) * W);
    for (int r = 0; r < rows; ++r, x += stride_, a += stride_) {
      Vec to[J];
      for (int j = 0; j < J; ++j) to[j] = load(a + j * kStripe);
      for (int i = 0; i < I; ++i) {
        const Vec from = load(x + i * kStripe);
        for (int j = 0; j < J; ++j) sum[i][j] += from * to[j];
      }
    }
    for (int i = 0; i < I; ++i)
      for (int j = 0; j < J; ++j) store(acc + (i * n_ + j) * W, sum[i][j]);
  }

  WeighedPairs pairs_;
  int n_, kept_, lanes_;
  std::int64_t count_ = 0;  // pairs
  std::ptrdiff_t stride_;   // cells of a row
  EdgeSums sums_;
  double* ring_;           // [kept rows, stripes, labels, kStripe] adjoints
  double* acc_ = nullptr;  // [pairs][W], with sums of lanes apart for W lanes after the other
};

}  // namespace crfkit::CRFKIT_ARCH
