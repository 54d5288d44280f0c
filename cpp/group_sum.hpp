// Sums over the labellings of packed lanes: scaled, or lane by lane in log space where scaling
// would lose too much.
#pragma once

#include "logs.hpp"
#include "packed.hpp"
#include "sweep.hpp"

namespace crfkit::CRFKIT_ARCH {

class GroupSum {
 public:
  // `problem` has the labels and the table, of which `probabilities` and `scores` are made.
  GroupSum(const Problem& problem, const Tables& probabilities, const Tables& scores,
           const Packed& rows, Arena& arena)
      : problem_(problem),
        probabilities_(probabilities),
        scores_(scores),
        s_(rows),
        arena_(arena),
        L_(problem.labels),
        step_(padded(L_)) {}

  // log Z of each lane; scores [positions, step] become credits times `weight` [lanes].
  // `watched`: some parts are forbidden; `restore` makes the scores again.
  template <class Restore>
  void run(double* node, const double* weight, bool watched, const EdgeSums& sums, double* log_z,
           Restore restore) const {
    bool done;
    switch (step_ / W) {
      case 1:
        done = scaled<1>(node, weight, watched, sums, log_z);
        break;
      case 2:
        done = scaled<2>(node, weight, watched, sums, log_z);
        break;
      case 3:
        done = scaled<3>(node, weight, watched, sums, log_z);
        break;
      case 4:
        done = scaled<4>(node, weight, watched, sums, log_z);
        break;
      default:
        done = scaled<0>(node, weight, watched, sums, log_z);
    }
    if (done) return;
    restore();
    for (int lane = 0; lane < s_.lanes(); ++lane)
      log_z[lane] = in_logs(node, lane, weight[lane], sums);
  }

 private:
  template <int V>
  bool scaled(double* node, const double* weight, bool watched, const EdgeSums& sums,
              double* log_z) const {
    PackedSum<V> semiring(s_, probabilities_.table[0], L_, weight, watched, node, sums, arena_);
    forward(semiring, s_);
    if (!semiring.exact()) return false;
    for (int lane = 0; lane < s_.lanes(); ++lane)
      log_z[lane] = semiring.value(s_, lane, s_.length(lane));
    reverse(semiring, s_);
    return true;
  }

  // One lane, laid out as a sequence of its own.
  double in_logs(double* node, int lane, double weight, const EdgeSums& sums) const {
    const int T = s_.length(lane);
    const std::int64_t seq_ptr[2] = {0, T}, first = 0;
    double* own = arena_.take<double>(static_cast<std::size_t>(T) * L_);  // [T, L]
    for (int t = 0; t < T; ++t)
      for (int j = 0; j < L_; ++j) own[t * L_ + j] = node[s_.position(lane, t) * step_ + j];
    Problem p = problem_;
    p.sequences = 1;
    p.seq_ptr = seq_ptr;
    p.node = own;
    Task task = {};
    task.credits.node = own;
    const PooledLayout layout(p);
    double* pooled = arena_.take<double>(layout.size, 0.0);
    const Chain chain(p, task, pooled, &first, 1, arena_);
    LogSum semiring(chain, scores_, arena_, nullptr);
    forward(semiring, chain);
    const double log_z = semiring.value(chain.row(chain.rows() - 1));
    reverse(semiring, chain);
    for (int t = 0; t < T; ++t)
      for (int j = 0; j < L_; ++j)
        node[s_.position(lane, t) * step_ + j] = weight * own[t * L_ + j];
    for (int c = 0; sums.edge && c < L_ * step_; ++c)
      sums.edge[lane * sums.lane_step + c] += weight * pooled[layout.table[0] + c];
    return log_z;
  }

  const Problem& problem_;
  const Tables &probabilities_, &scores_;
  const Packed& s_;
  Arena& arena_;
  int L_, step_;
};

}  // namespace crfkit::CRFKIT_ARCH
