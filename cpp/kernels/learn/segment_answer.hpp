// From rows of scores to the marginals of rows, for sequences that are cut into segments.
//
// The segment of d positions that begins at p with label y scores
//     sum of node[p .. p + d - 1, y] + begin[p, y] + end[p + d - 1, y] + segment[p, d, y] +
//     length[d, y]
// (Sarawagi & Cohen 2004 eq. 1-3); the marginal of a row is the sum over the segments that it is
// part of.  The sweep is that of the likelihood (segment_group.hpp), a sequence at a time: each
// keeps the marginals of its transitions and lengths.
#pragma once

#include <cstring>

#include "kernels/sweep/segment_group.hpp"
#include "shared/live.hpp"

namespace crfkit::CRFKIT_ARCH {

class SegmentAnswer {
 public:
  // `problem` has the labels and the tables [L + D, L]: transitions, then lengths.  `forbidden`:
  // some first or last labels are.
  SegmentAnswer(const Segmentation& s, const Problem& problem, bool forbidden, Arena& arena)
      : s_(s),
        e_(evaluation(s, problem)),
        forbidden_(forbidden),
        probabilities_(e_.problem, true, true),
        scores_(e_.problem, true, false),
        factors_(e_, probabilities_.table[0], arena),
        arena_(arena) {}

  // log Z.  `score` [rows, step] with start and stop in the rows of the first and the last
  // position; `found` [rows, step] are their marginals, those of the tables are added to `edge` [L
  // + D, step].
  double run(std::int64_t n, const std::int64_t* rows, const double* score, double* found,
             double* edge) const {
    const int L = factors_.n, step = factors_.step, D = s_.longest;
    const std::int32_t T = static_cast<std::int32_t>(s_.positions(n));
    const std::size_t cells = static_cast<std::size_t>(rows[n + 1] - rows[n]) * step;
    const std::size_t table = static_cast<std::size_t>(L) * step;
    const Packed positions(Group{0, 0, 1, T}, &T, arena_);
    const SegmentSums sums = {arena_.take<double>(step, 0.0),
                              arena_.take<double>(step, 0.0),
                              edge,
                              edge + table,
                              arena_.take<double>(table, 0.0),
                              arena_.take<double>(static_cast<std::size_t>(D) * step, 0.0)};
    const SegmentTerms terms = terms_of(n, rows, T, found);
    const double one = 1.0;
    double log_z;
    const auto copy = [&] { std::memcpy(found, score, cells * sizeof(double)); };
    copy();
    SegmentGroupSum(e_, factors_, scores_, positions, sums, arena_)
        .run(terms, &one, forbidden_, &log_z, copy);
    add_gradients(probabilities_.table[0], 0, sums.products, sums.edge);
    for (int c = 0; c < D * step; c += W)
      store(sums.length + c,
            load(sums.length + c) + load(sums.lengths + c) * load(factors_.length + c));
    for (int t = 0; forbidden_ && t < T; t += T > 1 ? T - 1 : 1)
      for (int j = 0; j < L; ++j)
        if (score[t * step + j] == kZero) found[t * step + j] = 0.0;  // not what rounding has left
    return log_z;
  }

 private:
  static Evaluation evaluation(const Segmentation& s, const Problem& problem) {
    Evaluation e = {};
    e.problem = problem;
    e.segments.longest = s.longest;
    e.segments.length =
        problem.edge[0] + static_cast<std::ptrdiff_t>(problem.labels) * problem.labels;
    return e;
  }

  // The rows by kind; those of single segments by where these begin and by where they end.
  SegmentTerms terms_of(std::int64_t n, const std::int64_t* rows, int T, double* found) const {
    const std::ptrdiff_t positions = static_cast<std::ptrdiff_t>(T) * factors_.step;
    const int first = s_.kinds() * T, count = static_cast<int>(rows[n + 1] - rows[n]) - first;
    const std::int32_t* place = s_.place + rows[n] - s_.kinds() * s_.position_ptr[n];
    std::int64_t* begin_ptr = arena_.take<std::int64_t>(T + 2, 0);
    std::int64_t* end_ptr = arena_.take<std::int64_t>(T + 2, 0);
    SegmentRow *by_begin = arena_.take<SegmentRow>(count), *by_end = arena_.take<SegmentRow>(count);
    for (int i = 0; i < count; ++i) {
      const int p = place[i] / s_.longest, length = place[i] % s_.longest + 1;
      by_begin[i] = {length, first + i};
      ++begin_ptr[p + 1];
      ++end_ptr[p + length + 1];  // one further on: the counts become where the next one goes
    }
    for (int p = 0; p < T; ++p) begin_ptr[p + 1] += begin_ptr[p];
    for (int p = 0; p <= T; ++p) end_ptr[p + 1] += end_ptr[p];
    for (int i = count - 1; i >= 0; --i)  // those that begin later are shorter
      by_end[end_ptr[place[i] / s_.longest + by_begin[i].length]++] = by_begin[i];
    return {found,
            s_.begins ? found + positions : nullptr,
            s_.ends ? found + (s_.kinds() - 1) * positions : nullptr,
            found,
            begin_ptr,
            end_ptr,
            by_begin,
            by_end};
  }

  const Segmentation& s_;
  Evaluation e_;
  bool forbidden_;
  Tables probabilities_, scores_;
  SegmentFactors factors_;
  Arena& arena_;
};

}  // namespace crfkit::CRFKIT_ARCH
