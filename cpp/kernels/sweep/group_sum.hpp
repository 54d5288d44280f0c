// Sums over the labelings of packed lanes: scaled, or lane by lane in log space where scaling
// would lose too much.
#pragma once

#include "kernels/sweep/history_sum.hpp"
#include "kernels/sweep/logs.hpp"
#include "kernels/sweep/packed.hpp"
#include "kernels/sweep/striped.hpp"
#include "kernels/sweep/sweep.hpp"

namespace crfkit::CRFKIT_ARCH {

class GroupSum {
 public:
  // `problem` has the labels and the tables, of which `probabilities` and `scores` are made.
  GroupSum(const Problem& problem, const Tables& probabilities, const Tables& scores,
           const Packed& rows, Arena& arena)
      : problem_(problem),
        probabilities_(probabilities),
        scores_(scores),
        s_(rows),
        arena_(arena),
        L_(problem.labels),
        step_(padded(L_)) {}

  // log Z of each lane; scores [positions, step] become credits times `weight` [lanes].  The
  // padding of scores is never read; that of credits is 0. `watched`: some parts are forbidden;
  // `restore` makes the scores again.  False when a score of edge attributes is not finite.  With
  // `forward_only` there are no credits.
  template <class Restore>
  bool run(double* node, const double* weight, bool watched, const EdgeSums& sums, double* log_z,
           Restore restore, bool forward_only = false, bool* in_log_space = nullptr) const {
    if (attempt(node, weight, watched, sums, log_z, forward_only)) return true;
    if (in_log_space) *in_log_space = true;
    restore();
    bool finite = true;
    for (int lane = 0; lane < s_.lanes(); ++lane)
      log_z[lane] = in_logs(node, lane, weight[lane], sums, forward_only, &finite);
    return finite;
  }

  // The same, in scaled probabilities only; false, with the scores lost and nothing added to sums,
  // where they would lose too much in some lane.
  bool attempt(double* node, const double* weight, bool watched, const EdgeSums& sums,
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

  // The same of any rows, for sums that are striped.
  bool attempt(const StripedRows& rows, const double* weight, bool watched, const EdgeSums& sums,
               double* log_z, bool forward_only) const {
    StripedSum semiring(s_, probabilities_.table[0], L_, weight, watched, rows, sums, arena_);
    return swept(semiring, log_z, forward_only);
  }

  // Lanes side by side: with sparse steps, and with few labels unless most places would be empty.
  bool is_striped(const EdgeSums& sums) const {
    const Table& table = probabilities_.table[0];
    return problem_.order == 1 &&
           (table.sparse() || (table.ahead.made() && !sums.factors && s_.lanes() > kStripe / 4));
  }

 private:
  template <class Semiring>
  bool scaled(double* node, const double* weight, bool watched, const EdgeSums& sums, double* log_z,
              bool forward_only) const {
    Semiring semiring(s_, probabilities_.table[0], L_, weight, watched, node, sums, arena_);
    return swept(semiring, log_z, forward_only);
  }

  template <class Semiring>
  bool swept(Semiring& semiring, double* log_z, bool forward_only) const {
    forward(semiring, s_);
    if (!semiring.exact()) return false;
    for (int lane = 0; lane < s_.lanes(); ++lane)
      log_z[lane] = semiring.value(s_, lane, s_.length(lane));
    if (!forward_only) reverse(semiring, s_);
    return true;
  }

  // One lane, laid out as a sequence of its own.
  double in_logs(double* node, int lane, double weight, const EdgeSums& sums, bool forward_only,
                 bool* finite) const {
    const int T = s_.length(lane);
    const std::int64_t seq_ptr[2] = {0, T};
    double* own = arena_.take<double>(static_cast<std::size_t>(T) * L_);  // [T, L]
    for (int t = 0; t < T; ++t)
      for (int j = 0; j < L_; ++j) own[t * L_ + j] = node[s_.position(lane, t) * step_ + j];
    Problem p = problem_;
    p.sequences = 1;
    p.seq_ptr = seq_ptr;
    p.node = own;
    p.pairs = nullptr;  // credits of steps are made for all of them
    Task task = {};
    task.credits.node = own;
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
      sums.factors->add(s_.first() + s_.position(lane, t), task.credits.edge + t * p.edge_step,
                        weight, sums.edge);
    if (sums.edge && !sums.factors)
      add_steps(pooled + layout.table[0], layout.products[0] - layout.table[0], weight,
                sums.edge + lane * sums.lane_step);
    return log_z;
  }

  // edge += weight * the credits of steps, in the cells of the tables of all orders.
  void add_steps(const double* steps, std::int64_t cells, double weight, double* edge) const {
    if (const Pairs* pairs = problem_.pairs) {
      for (int j = 0; j < L_; ++j)
        for (std::int32_t k = pairs->ptr[j]; k < pairs->ptr[j + 1]; ++k)
          edge[k] += weight * steps[pairs->from[k] * step_ + j];
    } else {
      for (std::int64_t c = 0; c < cells; ++c) edge[c] += weight * steps[c];
    }
  }

  // Scores and credits of steps by position, for one lane; false when a score is not finite.
  bool add_edge_scores(int lane, const EdgeFactors& factors, Problem* p, Task* task) const {
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
    p->edge_step = task->credits.edge_step = cells;
    task->credits.edge = arena_.take<double>(static_cast<std::size_t>(T) * cells);
    return finite;
  }

  const Problem& problem_;
  const Tables &probabilities_, &scores_;
  const Packed& s_;
  Arena& arena_;
  int L_, step_;
};

}  // namespace crfkit::CRFKIT_ARCH
