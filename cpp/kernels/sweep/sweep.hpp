// The dynamic program of chains, segments and trees: rows forward, rows in reverse.  Best paths in
// lanes (lane_best.hpp, striped_best.hpp), tangent.hpp and graphs have passes of their own.
//
// `forward` lets every row pull from the rows before it; the last row then holds the value of the
// whole structure. `reverse` is the chain rule: every row hands its share on to the rows that it
// was made from, so the share of a part is its marginal (sums), whether it lies on the path (best,
// draws) or on any path (reach).  There is no beta table and no third pass for edges.
#pragma once

#include "shared/interrupts.hpp"

namespace crfkit::CRFKIT_ARCH {

// Counts the work of rows in strides of up to 64, each as `cells`, but for no less than 2^13: a
// look for interrupts costs as much as a row of few cells.
class RowCount {
 public:
  explicit RowCount(std::int64_t cells)
      : cells_(cells > kLeast ? cells : kLeast),
        stride_(cells_ <= kLook / 64 ? 64
                : cells_ < kLook     ? static_cast<int>(kLook / cells_)
                                     : 1) {}

  // How many of the `left` rows come next.
  int next(int left) const {
    const int rows = left < stride_ ? left : stride_;
    worked(rows * cells_);
    return rows;
  }

 private:
  static constexpr std::int64_t kLeast = 1 << 13, kLook = 1 << 20;
  std::int64_t cells_;
  int stride_;
};

template <class Semiring, class Structure>
inline void forward(Semiring& semiring, const Structure& structure) {
  const RowCount count(structure.row_work());
  const int rows = structure.rows();
  for (int r = 0; r < rows;)
    for (const int end = r + count.next(rows - r); r < end; ++r) semiring.pull(structure, r);
}

template <class Semiring, class Structure>
inline void reverse(Semiring& semiring, const Structure& structure) {
  const RowCount count(structure.row_work());
  for (int r = structure.rows(); r > 0;)
    for (const int end = r - count.next(r); r > end;) semiring.push(structure, --r);
}

}  // namespace crfkit::CRFKIT_ARCH
