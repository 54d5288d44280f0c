// What was taken out of the cells of lanes that are swept together.
#pragma once

#include "kernels/simd/arena.hpp"
#include "kernels/simd/simd.hpp"
#include "kernels/sweep/structure.hpp"

namespace crfkit::CRFKIT_ARCH {

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

}  // namespace crfkit::CRFKIT_ARCH
