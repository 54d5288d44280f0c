// Expectation propagation with trees: TreeEP (Minka & Qi 2004).
//
// q is the spanning forest times one term for each loose factor, which is a product over the edges
// of the smallest subtree that joins the factor's variables.  A visit of a factor takes its term
// out of q, puts the factor in, and makes the term such that q has the marginals of that on the
// edges of the subtree.  Terms carry their mass, so that the mass of q is the estimate of Z.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/tree_ep/tree_belief.hpp"

namespace crfkit {

struct TreeEPResult {
  std::vector<double> node;             // [labels]
  std::vector<double> clique;           // [cells] of all factors, if asked for
  std::vector<double> value;            // [N] estimate of log Z
  std::vector<std::int64_t> sweeps;     // [N]
  std::vector<std::uint8_t> converged;  // [N]
  std::vector<std::uint8_t> exact;      // [N] whether no factor is loose
};

class TreeEP : private TreeBelief {
 public:
  TreeEP(const SpanningForest& forest, double budget);

  // Cells that are computed in a sweep; if more than the budget, nothing else may be asked.
  double work() const { return work_; }

  TreeEPResult run(double tolerance, std::int64_t most, bool cliques, int threads);

 private:
  static constexpr std::int64_t kPatience = 20;  // sweeps without a smaller change

  double work(const Term& term) const;

  void find_subtree(Term& term) const;

  // ---- one loose factor

  // Sums over the subtree, with the factor in place of its term.
  struct Tilted {
    double mass;              // log
    std::vector<double> row;  // what each variable has from itself and from outside; the top's last
    std::vector<double> plain;  // with what comes from below, without the factor
    std::vector<double> up;     // messages within the subtree without the factor
    std::vector<double> joint;  // of edges, as Term::edges
    std::vector<double> node;   // of variables, as `row`
    std::vector<double> scope;  // of the factor's cells
  };

  // The factor's term must have been taken out of q; messages from outside must point here.
  Tilted tilt(const Term& term);

  // Returns the largest change of a probability since the last visit, or -1: nothing is possible.
  double visit(Term& term);

  // Returns the change of the last sweep, or -1.
  double settle(std::int64_t t, double tolerance, std::int64_t most, std::int64_t& sweeps);

  void fill_cliques(TreeEPResult& result);

  std::vector<std::int32_t> inside_;  // [V] place in a subtree, or -1
  std::vector<Term> term_;            // [loose]
  std::vector<std::vector<std::int64_t>> by_tree_;
  double work_ = 0.0;
};

// Marginals of loose factors are those with the factor in place of its term.
inline void TreeEP::fill_cliques(TreeEPResult& result) {
  std::vector<std::vector<double>> joint(s.combined.size());
  for (std::size_t i = 0; i < term_.size(); ++i) {
    Term& term = term_[i];
    if (term.seen.empty()) continue;
    put(term, -1);
    const Tilted t = tilt(term);
    put(term, 1);
    std::vector<double>& p = joint[s.loose[i]];
    p.resize(t.scope.size());
    for (std::size_t c = 0; c < p.size(); ++c)
      p[c] = t.mass == kZero ? 0.0 : std::exp(t.scope[c] - t.mass);
  }
  for (std::size_t i = 0; i < joint.size(); ++i) {
    if (!joint[i].empty() || s.combined[i].scope.size() > 2) continue;
    const std::int32_t a = s.combined[i].scope[0], b = s.combined[i].scope[1];
    const std::int32_t v = s.parent[b] == a ? b : a, p = s.parent[v];
    if (p < 0 || (p != a && p != b)) continue;        // loose, and not visited: no labeling
    const std::vector<double> cell = this->joint(v);  // [parent, labels]
    const std::int64_t n = f.width[v], m = f.width[p];
    joint[i].resize(cell.size());
    for (std::int64_t k = 0; k < m; ++k)
      for (std::int64_t l = 0; l < n; ++l)
        joint[i][v == b ? k * n + l : l * m + k] = cell[k * n + l];
  }
  for (std::int64_t g = 0; g < f.groups; ++g)
    for (std::int64_t m = 0; m < f.group[g].count; ++m) {
      std::vector<std::int64_t> step;
      const auto [number, variable] = s.place(f.group[g], m, step);
      const double* from = number < 0              ? result.node.data() + f.label_ptr[variable]
                           : joint[number].empty() ? nullptr
                                                   : joint[number].data();
      SpanningForest::for_cells(f.group[g], step, [&](std::int64_t, std::int64_t cell) {
        result.clique.push_back(from ? from[cell] : 0.0);
      });
    }
}

}  // namespace crfkit
