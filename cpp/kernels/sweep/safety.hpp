// Are scaled probabilities exact for a sequence?
//
// Let R be the largest range of a row of terms plus the largest ranges of the tables that enter a
// row.  Nothing forbidden: some cell of every row is at least 2^-40, so every cell is above exp(-R
// - 28) / L, and R < 600 keeps all of them normal; a row of label tuples is only reached from all
// cells of the row k steps before, so that k R takes the place of R.  With forbidden parts a cell
// may descend from small cells only; then the smallest cell seen must be so large that another step
// could not have lost a product: log(smallest) > R - 690.  A sequence that fails is summed again in
// log space. Everything is gathered during the forward sweep; vectors are reduced once, at the end.
#pragma once

#include "kernels/sweep/tables.hpp"

namespace crfkit::CRFKIT_ARCH {

class Safety {
 public:
  void see_table(const Spread& spread) { see(spread, &table_); }
  void see_table_range(double range) { table_ = range <= table_ ? table_ : range; }
  void see_diagonal(const Spread& spread) { see(spread, &diagonal_); }
  // Tables that multiply into one row add up their ranges.
  void see_conjunct(const Spread& spread) {
    conjunct_ += spread.range();
    holes_ |= spread.holes;
  }
  void close_row(int conjuncts) {
    if (conjunct_ > table_) table_ = conjunct_;
    if (conjuncts > fan_) fan_ = conjuncts;
    conjunct_ = 0.0;
  }
  // Scores of terms relative to the largest of their row.
  void see_terms(Vec relative) {
    lowest_ = min(lowest_, relative > kZero ? relative : Vec{});
    forbidden_ |= relative == kZero;
  }
  void see_finite_terms(Vec relative) { lowest_ = min(lowest_, relative); }
  void see_cells(Vec v) { smallest_ = min(smallest_, v > 0.0 ? v : splat(kInfinity)); }
  void see_loss(bool lost) { lost_ |= lost; }

  // `steps`: after how many steps every cell has been reached from every cell, if all are allowed.
  bool exact(int steps = 1) const {
    const double range = table_ + diagonal_ - min_of(lowest_);
    bool holes = holes_;
    for (int i = 0; i < W; ++i) holes |= forbidden_[i] != 0;
    if (lost_) return false;
    if (!holes) return steps * range < 600.0;
    return range < 690.0 && min_of(smallest_) > std::exp((range - 690.0) / fan_);
  }

 private:
  void see(const Spread& spread, double* range) {
    *range = spread.range() > *range ? spread.range() : *range;
    holes_ |= spread.holes;
  }

  double table_ = 0.0, diagonal_ = 0.0, conjunct_ = 0.0;
  int fan_ = 1;  // most conjuncts of a row
  bool holes_ = false, lost_ = false;
  Vec lowest_ = {};
  Vec smallest_ = splat(kInfinity);
  VecInt forbidden_ = {};
};

}  // namespace crfkit::CRFKIT_ARCH
