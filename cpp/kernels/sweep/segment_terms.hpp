// What sums over segmentations of packed lanes read and add to (segment_sum.hpp).
#pragma once

#include "kernels/sweep/tables.hpp"
#include "shared/evaluation.hpp"

namespace crfkit::CRFKIT_ARCH {

// Factors that all positions share, made once for a block.
struct SegmentFactors {
  int longest, n, step;
  double *start, *stop;  // [step]
  double* length;        // [D, step]
  double* keep;          // [D, step] 1 where a label has longer segments, else 0
  bool* shorter;         // [D] whether one has none
  double most = 0.0;     // the largest score that a step and a length can add, or take away
  bool holes;            // something is forbidden, beside what is too long
  const Table& table;
  double step_top;  // what was taken out of the table, as a factor

  SegmentFactors(const Evaluation& e, const Table& table_, Arena& arena)
      : longest(e.segments.longest),
        n(e.problem.labels),
        step(padded(n)),
        start(end_factors(e.start, arena)),
        stop(end_factors(e.stop, arena)),
        length(arena.take<double>(static_cast<std::size_t>(longest) * step, 0.0)),
        keep(arena.take<double>(static_cast<std::size_t>(longest) * step, 0.0)),
        shorter(arena.take<bool>(longest, false)),
        holes(table_.spread.holes),
        table(table_),
        step_top(std::exp(table_.spread.safe_top())) {
    see(table.spread.top);
    see(table.spread.low);
    for (int j = 0; e.start && j < n; ++j) see_end(e.start[j]);
    for (int j = 0; e.stop && j < n; ++j) see_end(e.stop[j]);
    double largest = 0.0;
    for (int j = 0; j < n; ++j) {
      bool longer = false;
      for (int d = longest - 1; d >= 0; --d) {
        const double score = e.segments.length[d * n + j];
        keep[d * step + j] = longer ? 1.0 : 0.0;
        shorter[d] |= !longer;
        holes |= longer && score == kZero;
        if (score == kZero) continue;
        longer = true;
        length[d * step + j] = std::exp(score < 700.0 ? score : 700.0);  // more is not exact
        largest = std::fabs(score) > largest ? std::fabs(score) : largest;
      }
    }
    most += largest;
  }

 private:
  double* end_factors(const double* score, Arena& arena) const {
    double* factor = arena.take<double>(step, 0.0);
    for (int j = 0; j < n; ++j) factor[j] = score ? std::exp(score[j]) : 1.0;
    return factor;
  }
  void see(double score) {
    if (std::fabs(score) < kInfinity && std::fabs(score) > most) most = std::fabs(score);
  }
  void see_end(double score) {
    holes |= score == kZero;
    see(score);
  }
};

// The rows of one group: scores, which become factors on the way forward and gradients on the way
// back.
struct SegmentTerms {
  double *node, *begin, *end;               // [positions, step]; begin and end may be null
  double* rows;                             // all of them
  const std::int64_t *begin_ptr, *end_ptr;  // [positions + 1]
  const SegmentRow *by_begin, *by_end;
};

// Sums of gradients of a block, in rows of `step`; `products` and `lengths` are still without the
// factors exp(score).
struct SegmentSums {
  double *start, *stop, *edge, *length;
  double* products;
  double* lengths;  // or null when gradients of lengths are not wanted
};

}  // namespace crfkit::CRFKIT_ARCH
