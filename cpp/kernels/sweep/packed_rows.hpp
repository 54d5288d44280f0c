// Groups of sequences as packed lanes: row r of lane b is position begin(r) + b.
#pragma once

#include "kernels/linear/edge_factors.hpp"
#include "kernels/sweep/structure.hpp"

namespace crfkit::CRFKIT_ARCH {

// The rows of a group.
class Packed {
 public:
  Packed(const Group& group, const std::int32_t* length, Arena& arena)
      : group_(group), length_(length) {
    begin_ = arena.take<std::int64_t>(group.rows + 1);
    begin_[0] = 0;
    for (int r = 0, lanes = 1; r < group.rows; ++r) {
      while (lanes < group.lanes && length[lanes] >= group.rows - r) ++lanes;
      begin_[r + 1] = begin_[r] + lanes;
    }
  }

  int rows() const { return group_.rows; }
  std::int64_t row_work() const { return 0; }  // little, or counted by the semiring
  int lanes() const { return group_.lanes; }
  std::int64_t begin(int r) const { return begin_[r]; }
  int reached(int r) const { return static_cast<int>(begin_[r + 1] - begin_[r]); }
  std::int64_t positions() const { return begin_[group_.rows]; }
  std::int32_t length(int lane) const { return length_[lane]; }
  std::int64_t position(int lane, int t) const {
    return begin_[group_.rows - length_[lane] + t] + lane;
  }
  // The first position of the group among those of all groups.
  std::int64_t first() const { return group_.first_position; }

 private:
  Group group_;
  const std::int32_t* length_;  // [lanes]
  std::int64_t* begin_;         // [rows + 1]
};

// What was taken out of the cells of each lane, as logarithms.
class LaneOffsets {
 public:
  LaneOffsets(int lanes, Arena& arena)
      : high_(arena.take<double>(padded(lanes), 0.0)),
        low_(arena.take<double>(padded(lanes), 0.0)),
        top_(arena.take<double>(padded(lanes), 0.0)) {}

  // The largest score of this row, which `add_tops` adds for all lanes.
  void see_top(int lane, double top) { top_[lane] = top; }
  void add_tops(int lanes) {
    for (int lane = 0; lane < lanes; lane += W) {
      add(lane, load(top_ + lane));
      store(top_ + lane, Vec{});
    }
  }
  // The sum of two doubles of Offset: adds x to W lanes from this one on, a multiple of W.
  void add(int lane, Vec x) {
    const Vec high = load(high_ + lane), s = high + x, back = s - high;
    store(low_ + lane, load(low_ + lane) + ((high - (s - back)) + (x - back)));
    store(high_ + lane, s);
  }
  // The power of two that brings the largest cell of a lane into [1, 2), taken note of.
  double rescaled(int lane, double largest) {
    int exponent;
    std::frexp(largest, &exponent);
    Offset offset{high_[lane], low_[lane]};
    offset.add((exponent - 1) * 0.69314718055994530942);
    high_[lane] = offset.high, low_[lane] = offset.low;
    return std::ldexp(1.0, 1 - exponent);
  }
  Offset at(int lane) const {
    Offset offset;
    offset.add(high_[lane]);
    offset.add(low_[lane]);
    return offset;
  }

 private:
  double *high_, *low_;  // [lanes] each the sum of two doubles
  double* top_;          // [lanes]
};

// Gradients of the table, in rows of `step`, or by pair where the table is; `products` are still
// without the factor exp(score).
struct EdgeSums {
  double *edge, *products;   // null when they are not wanted
  std::ptrdiff_t lane_step;  // from those of one lane to those of the next; 0: one sum for all
  EdgeFactors* factors;      // what edge attributes change, or null; they need one sum for all
};

}  // namespace crfkit::CRFKIT_ARCH
