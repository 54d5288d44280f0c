// Compiled once per instruction set: sums over packed lanes, of labelings and of segmentations,
// which share products of matrices.
#include "kernels/sweep/group_sum.hpp"

#include "kernels/sweep/history_sum.hpp"
#include "kernels/sweep/logs.hpp"
#include "kernels/sweep/packed.hpp"
#include "kernels/sweep/segment_group.hpp"
#include "kernels/sweep/segment_sum.hpp"
#include "kernels/sweep/striped.hpp"
#include "kernels/sweep/sweep.hpp"

namespace crfkit::CRFKIT_ARCH {

template <class Semiring>
bool GroupSum::swept(Semiring& semiring, double* log_z, bool forward_only) const {
  forward(semiring, s_);
  if (!semiring.exact()) return false;
  for (int lane = 0; lane < s_.lanes(); ++lane)
    log_z[lane] = semiring.value(s_, lane, s_.length(lane));
  if (!forward_only) reverse(semiring, s_);
  return true;
}

template <class Semiring>
bool GroupSum::scaled(double* node, const double* weight, bool watched, const EdgeSums& sums,
                      double* log_z, bool forward_only) const {
  Semiring semiring(s_, probabilities_.table[0], L_, weight, watched, node, sums, arena_);
  return swept(semiring, log_z, forward_only);
}

bool GroupSum::attempt(double* node, const double* weight, bool watched, const EdgeSums& sums,
                       double* log_z, bool forward_only) const {
  if (problem_.order > 1) {
    HistorySum semiring(s_, probabilities_, L_, weight, watched, node, sums, arena_);
    return swept(semiring, log_z, forward_only);
  }
  if (is_striped(sums))
    return attempt(StripedRows(node, L_), weight, watched, sums, log_z, forward_only);
  switch (step_ / W) {
    case 1:
      return scaled<PackedSum<1>>(node, weight, watched, sums, log_z, forward_only);
    case 2:
      return scaled<PackedSum<2>>(node, weight, watched, sums, log_z, forward_only);
    case 3:
      return scaled<PackedSum<3>>(node, weight, watched, sums, log_z, forward_only);
    case 4:
      return scaled<PackedSum<4>>(node, weight, watched, sums, log_z, forward_only);
    case 6:  // 17 to 24 labels in vectors of four
      return scaled<PackedSum<6>>(node, weight, watched, sums, log_z, forward_only);
    default:
      return scaled<PackedSum<0>>(node, weight, watched, sums, log_z, forward_only);
  }
}

bool GroupSum::attempt(const StripedRows& rows, const double* weight, bool watched,
                       const EdgeSums& sums, double* log_z, bool forward_only) const {
  StripedSum semiring(s_, probabilities_.table[0], L_, weight, watched, rows, sums, arena_);
  return swept(semiring, log_z, forward_only);
}

double GroupSum::in_logs(double* node, int lane, double weight, const EdgeSums& sums,
                         bool forward_only, bool* finite) const {
  const int T = s_.length(lane);
  const std::int64_t seq_ptr[2] = {0, T};
  double* own = arena_.take<double>(static_cast<std::size_t>(T) * L_);  // [T, L]
  for (int t = 0; t < T; ++t)
    for (int j = 0; j < L_; ++j) own[t * L_ + j] = node[s_.position(lane, t) * step_ + j];
  Problem p = problem_;
  p.sequences = 1;
  p.seq_ptr = seq_ptr;
  p.node = own;
  p.pairs = nullptr;  // gradients of steps are made for all of them
  Task task = {};
  task.gradients.node = own;
  if (sums.factors) *finite &= add_edge_scores(lane, *sums.factors, &p, &task);
  const PooledLayout layout(p);
  double* pooled = arena_.take<double>(layout.size, 0.0);
  const Chain chain(p, task, pooled, 0, arena_);
  LogSum semiring(chain, scores_, arena_, nullptr);
  forward(semiring, chain);
  const double log_z = semiring.value(chain.row(chain.rows() - 1));
  if (forward_only) return log_z;
  reverse(semiring, chain);
  for (int t = 0; t < T; ++t)
    for (int j = 0; j < step_; ++j)
      node[s_.position(lane, t) * step_ + j] = j < L_ ? weight * own[t * L_ + j] : 0.0;
  for (int t = 1; sums.factors && t < T; ++t)
    sums.factors->add(s_.first() + s_.position(lane, t), task.gradients.edge + t * p.edge_step,
                      weight, sums.edge);
  if (sums.edge && !sums.factors)
    add_steps(pooled + layout.table[0], layout.products[0] - layout.table[0], weight,
              sums.edge + lane * sums.lane_step);
  return log_z;
}

void GroupSum::add_steps(const double* steps, std::int64_t cells, double weight,
                         double* edge) const {
  if (const Pairs* pairs = problem_.pairs) {
    for (int j = 0; j < L_; ++j)
      for (std::int32_t k = pairs->ptr[j]; k < pairs->ptr[j + 1]; ++k)
        edge[k] += weight * steps[pairs->from[k] * step_ + j];
  } else {
    for (std::int64_t c = 0; c < cells; ++c) edge[c] += weight * steps[c];
  }
}

bool GroupSum::add_edge_scores(int lane, const EdgeFactors& factors, Problem* p, Task* task) const {
  const int T = s_.length(lane), cells = L_ * L_;
  const double* shared = problem_.edge[0];
  double* own = arena_.take<double>(static_cast<std::size_t>(T) * cells);  // [T, L, L]
  bool finite = true;
  for (int t = 0; t < T; ++t) {
    double* score = own + static_cast<std::ptrdiff_t>(t) * cells;
    for (int c = 0; c < cells; ++c) score[c] = shared[c];
    factors.add_scores(s_.first() + s_.position(lane, t), score);
    for (int c = 0; c < cells; ++c) finite &= score[c] - score[c] == 0.0 || shared[c] == kZero;
  }
  p->edge[0] = own;
  p->edge_step = task->gradients.edge_step = cells;
  task->gradients.edge = arena_.take<double>(static_cast<std::size_t>(T) * cells);
  return finite;
}

template <bool Watched>
bool SegmentGroupSum::scaled(const SegmentTerms& terms, const double* weight, double* log_z) const {
  SegmentSum<Watched> semiring(s_, f_, weight, terms, sums_, arena_);
  forward(semiring, s_);
  if (!semiring.exact()) return false;
  for (int lane = 0; lane < s_.lanes(); ++lane) log_z[lane] = semiring.value(s_, lane);
  reverse(semiring, s_);
  return true;
}

bool SegmentGroupSum::attempt(const SegmentTerms& terms, const double* weight, bool clamped,
                              double* log_z) const {
  return f_.holes || clamped ? scaled<true>(terms, weight, log_z)
                             : scaled<false>(terms, weight, log_z);
}

template <class F>
void SegmentGroupSum::each_segment(const SegmentTerms& terms, int lane, F f) const {
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

double SegmentGroupSum::in_logs(const SegmentTerms& terms, int lane, double weight) const {
  const int T = s_.length(lane), D = f_.longest, L = f_.n;
  const std::int64_t seq_ptr[2] = {0, T};
  const std::size_t cells = static_cast<std::size_t>(T) * D * L;
  double* segment = arena_.take<double>(cells, kZero);  // [T, D, L]
  double* gradient = arena_.take<double>(cells, 0.0);   // [T, D, L]
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
  task.gradients.segment = gradient;
  const PooledLayout layout(p);
  double* pooled = arena_.take<double>(layout.size, 0.0);
  const Segments segments(p, task, pooled, 0, arena_);
  LogSum semiring(segments, scores_, arena_, nullptr);
  forward(semiring, segments);
  const double log_z = semiring.value(segments.row(segments.rows() - 1));
  reverse(semiring, segments);
  for (int c = 0; c < L * f_.step; ++c) sums_.edge[c] += weight * pooled[layout.table[0] + c];
  give_gradients(terms, lane, weight, gradient);
  return log_z;
}

void SegmentGroupSum::give_gradients(const SegmentTerms& terms, int lane, double weight,
                                     const double* gradient) const {
  const int T = s_.length(lane), D = f_.longest, L = f_.n;
  double* const rows[] = {terms.node, terms.begin, terms.end};
  for (int t = 0; t < T; ++t)
    for (double* const all : rows)
      for (int j = 0; all && j < f_.step; ++j) row(all, lane, t)[j] = 0.0;
  each_segment(terms, lane, [&](int t, int d, double* single) {
    const bool last = t + d == T - 1;
    for (int j = 0; single && j < f_.step; ++j) single[j] = 0.0;
    for (int j = 0; j < L; ++j) {
      const double c = weight * gradient[(t * D + d) * L + j];
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

}  // namespace crfkit::CRFKIT_ARCH
