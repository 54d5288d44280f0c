// Sums over the segmentations of packed lanes: scaled, or lane by lane in log space where scaling
// would lose too much.
#pragma once

#include "kernels/sweep/packed_rows.hpp"
#include "kernels/sweep/segment_sum.hpp"
#include "kernels/sweep/tables.hpp"

namespace crfkit::CRFKIT_ARCH {

class SegmentGroupSum {
 public:
  // `scores` is the table of steps for log space.
  SegmentGroupSum(const Evaluation& e, const SegmentFactors& factors, const Tables& scores,
                  const Packed& rows, const SegmentSums& sums, Arena& arena)
      : e_(e), f_(factors), scores_(scores), s_(rows), sums_(sums), arena_(arena) {}

  // log Z of each lane; scores become gradients times `weight` [lanes].  `clamped`: some scores of
  // positions are -inf; `restore` makes the scores again.
  template <class Restore>
  void run(const SegmentTerms& terms, const double* weight, bool clamped, double* log_z,
           Restore restore) const {
    if (attempt(terms, weight, clamped, log_z)) return;
    restore();
    for (int lane = 0; lane < s_.lanes(); ++lane) log_z[lane] = in_logs(terms, lane, weight[lane]);
  }

 private:
  bool attempt(const SegmentTerms& terms, const double* weight, bool clamped, double* log_z) const;
  template <bool Watched>
  bool scaled(const SegmentTerms& terms, const double* weight, double* log_z) const;

  // One lane, laid out as a sequence of its own.
  double in_logs(const SegmentTerms& terms, int lane, double weight) const;

  // Marginals of segments [T, D, L] to the rows of a lane.
  void give_gradients(const SegmentTerms& terms, int lane, double weight,
                      const double* gradient) const;

  double* row(double* rows, int lane, int t) const { return rows + s_.position(lane, t) * f_.step; }

  // f(first position, length - 1, row of its own or null): the segments of a lane.
  template <class F>
  void each_segment(const SegmentTerms& terms, int lane, F f) const;

  const Evaluation& e_;
  const SegmentFactors& f_;
  const Tables& scores_;
  const Packed& s_;
  SegmentSums sums_;
  Arena& arena_;
};

}  // namespace crfkit::CRFKIT_ARCH
