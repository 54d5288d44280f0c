// Sums over the segmentations of packed lanes: scaled, or lane by lane in log space where scaling
// would lose too much.
#pragma once

#include "kernels/sweep/logs.hpp"
#include "kernels/sweep/segment_sum.hpp"
#include "kernels/sweep/sweep.hpp"

namespace crfkit::CRFKIT_ARCH {

class SegmentGroupSum {
 public:
  // `scores` is the table of steps for log space.
  SegmentGroupSum(const Evaluation& e, const SegmentFactors& factors, const Tables& scores,
                  const Packed& rows, const SegmentSums& sums, Arena& arena)
      : e_(e), f_(factors), scores_(scores), s_(rows), sums_(sums), arena_(arena) {}

  // log Z of each lane; scores become credits times `weight` [lanes].  `clamped`: some scores of
  // positions are -inf; `restore` makes the scores again.
  template <class Restore>
  void run(const SegmentTerms& terms, const double* weight, bool clamped, double* log_z,
           Restore restore) const {
    if (f_.holes || clamped ? scaled<true>(terms, weight, log_z)
                            : scaled<false>(terms, weight, log_z))
      return;
    restore();
    for (int lane = 0; lane < s_.lanes(); ++lane) log_z[lane] = in_logs(terms, lane, weight[lane]);
  }

 private:
  template <bool Watched>
  bool scaled(const SegmentTerms& terms, const double* weight, double* log_z) const {
    SegmentSum<Watched> semiring(s_, f_, weight, terms, sums_, arena_);
    forward(semiring, s_);
    if (!semiring.exact()) return false;
    for (int lane = 0; lane < s_.lanes(); ++lane) log_z[lane] = semiring.value(s_, lane);
    reverse(semiring, s_);
    return true;
  }

  // One lane, laid out as a sequence of its own.
  double in_logs(const SegmentTerms& terms, int lane, double weight) const {
    const int T = s_.length(lane), D = f_.longest, L = f_.n;
    const std::int64_t seq_ptr[2] = {0, T};
    const std::size_t cells = static_cast<std::size_t>(T) * D * L;
    double* segment = arena_.take<double>(cells, kZero);  // [T, D, L]
    double* credit = arena_.take<double>(cells, 0.0);     // [T, D, L]
    each_segment(terms, lane, [&](int t, int d, const double* single) {
      double* score = segment + (t * D + d) * L;
      for (int j = 0; j < L; ++j) {
        double sum = e_.segments.length[d * L + j] + (single ? single[j] : 0.0);
        for (int i = t; i <= t + d; ++i) sum += row(terms.node, lane, i)[j];
        if (terms.begin) sum += row(terms.begin, lane, t)[j];
        if (terms.end) sum += row(terms.end, lane, t + d)[j];
        score[j] = sum;
      }
    });
    Problem p = e_.problem;
    p.sequences = 1;
    p.seq_ptr = seq_ptr;
    p.longest = D;
    p.segment = segment;
    p.start = e_.start;
    p.stop = e_.stop;
    Task task = {};
    task.credits.segment = credit;
    const PooledLayout layout(p);
    double* pooled = arena_.take<double>(layout.size, 0.0);
    const Segments segments(p, task, pooled, 0, arena_);
    LogSum semiring(segments, scores_, arena_, nullptr);
    forward(semiring, segments);
    const double log_z = semiring.value(segments.row(segments.rows() - 1));
    reverse(semiring, segments);
    for (int c = 0; c < L * f_.step; ++c) sums_.edge[c] += weight * pooled[layout.table[0] + c];
    give_credits(terms, lane, weight, credit);
    return log_z;
  }

  // Marginals of segments [T, D, L] to the rows of a lane.
  void give_credits(const SegmentTerms& terms, int lane, double weight,
                    const double* credit) const {
    const int T = s_.length(lane), D = f_.longest, L = f_.n;
    double* const rows[] = {terms.node, terms.begin, terms.end};
    for (int t = 0; t < T; ++t)
      for (double* const all : rows)
        for (int j = 0; all && j < f_.step; ++j) row(all, lane, t)[j] = 0.0;
    each_segment(terms, lane, [&](int t, int d, double* single) {
      const bool last = t + d == T - 1;
      for (int j = 0; single && j < f_.step; ++j) single[j] = 0.0;
      for (int j = 0; j < L; ++j) {
        const double c = weight * credit[(t * D + d) * L + j];
        for (int i = t; i <= t + d; ++i) row(terms.node, lane, i)[j] += c;
        if (terms.begin) row(terms.begin, lane, t)[j] += c;
        if (terms.end) row(terms.end, lane, t + d)[j] += c;
        if (single) single[j] = c;
        if (sums_.lengths) sums_.length[d * f_.step + j] += c;
        if (t == 0) sums_.start[j] += c;
        if (last) sums_.stop[j] += c;
      }
    });
  }

  double* row(double* rows, int lane, int t) const { return rows + s_.position(lane, t) * f_.step; }

  // f(first position, length - 1, row of its own or null): the segments of a lane.
  template <class F>
  void each_segment(const SegmentTerms& terms, int lane, F f) const {
    const int T = s_.length(lane);
    for (int t = 0; t < T; ++t) {
      const std::int64_t p = s_.position(lane, t);
      const SegmentRow *k = terms.by_begin + terms.begin_ptr[p],
                       *last = terms.by_begin + terms.begin_ptr[p + 1];
      for (int d = 0; d < f_.longest && t + d < T; ++d) {
        const bool single = k < last && k->length == d + 1;
        f(t, d, single ? terms.rows + static_cast<std::ptrdiff_t>(k++->row) * f_.step : nullptr);
      }
    }
  }

  const Evaluation& e_;
  const SegmentFactors& f_;
  const Tables& scores_;
  const Packed& s_;
  SegmentSums sums_;
  Arena& arena_;
};

}  // namespace crfkit::CRFKIT_ARCH
