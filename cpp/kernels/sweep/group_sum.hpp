// Sums over the labelings of packed lanes: scaled, or lane by lane in log space where scaling
// would lose too much.
#pragma once

#include "kernels/sweep/packed_rows.hpp"
#include "kernels/sweep/tables.hpp"

namespace crfkit::CRFKIT_ARCH {

class StripedRows;

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

  // log Z of each lane; scores [positions, step] become gradients times `weight` [lanes].  The
  // padding of scores is never read; that of gradients is 0. `watched`: some parts are forbidden;
  // `restore` makes the scores again.  False when a score of edge attributes is not finite.  With
  // `forward_only` there are no gradients.
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
               double* log_z, bool forward_only) const;

  // The same of any rows, for sums that are striped.
  bool attempt(const StripedRows& rows, const double* weight, bool watched, const EdgeSums& sums,
               double* log_z, bool forward_only) const;

  // Lanes side by side: with sparse steps, and with few labels unless most places would be empty.
  bool is_striped(const EdgeSums& sums) const {
    const Table& table = probabilities_.table[0];
    return problem_.order == 1 &&
           (table.sparse() || (table.ahead.made() && !sums.factors && s_.lanes() > kStripe / 4));
  }

 private:
  template <class Semiring>
  bool scaled(double* node, const double* weight, bool watched, const EdgeSums& sums, double* log_z,
              bool forward_only) const;

  template <class Semiring>
  bool swept(Semiring& semiring, double* log_z, bool forward_only) const;

  // One lane, laid out as a sequence of its own.
  double in_logs(double* node, int lane, double weight, const EdgeSums& sums, bool forward_only,
                 bool* finite) const;

  // edge += weight * the gradients of steps, in the cells of the tables of all orders.
  void add_steps(const double* steps, std::int64_t cells, double weight, double* edge) const;

  // Scores and gradients of steps by position, for one lane; false when a score is not finite.
  bool add_edge_scores(int lane, const EdgeFactors& factors, Problem* p, Task* task) const;

  const Problem& problem_;
  const Tables &probabilities_, &scores_;
  const Packed& s_;
  Arena& arena_;
  int L_, step_;
};

}  // namespace crfkit::CRFKIT_ARCH
