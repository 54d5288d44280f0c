// A distribution on a spanning forest: its own scores times terms of loose factors, and messages.
//
// In logarithms, so that only what is impossible is 0; terms carry their mass.  Messages point to a
// *focus*, which moves along the tree from factor to factor: of all messages only those that point
// there are up to date.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/tree_ep/spanning_forest.hpp"

namespace crfkit {

// What stands for a loose factor: a product over the edges of the smallest subtree that joins the
// factor's variables.
struct Term {
  const Combined* factor;
  std::int32_t top;                 // root of the subtree
  std::vector<std::int32_t> below;  // its other variables, children before parents
  std::vector<double> edges;        // of each of them: log of the term, [parent, labels]
  std::vector<double> root;         // [labels of the top]
  std::vector<double> seen;         // marginals of the last visit
  double damping = 0.0;
};

class TreeBelief {
 public:
  static constexpr double kZero = -std::numeric_limits<double>::infinity();
  const SpanningForest& s;
  const Factors& f;

  explicit TreeBelief(const SpanningForest& forest);

  static void add_log(double& sum, double x);
  static double log_sum(const double* x, std::int64_t n);

  // ---- q: scores of edges and variables, with the terms of all loose factors

  double edge(std::int32_t v, std::int64_t c) const { return gone_[v][c] ? kZero : sum_[v][c]; }
  double own(std::int64_t l) const { return own_gone_[l] ? kZero : own_sum_[l]; }

  static void put(double& sum, std::int32_t& gone, double x, int sign);
  void put(const Term& term, int sign);

  // The scores of a tree and its terms, without what rounding has left; then all messages up.
  template <class Terms>
  void refresh(std::int64_t t, const Terms& terms) {
    for (std::int64_t i = s.tree_ptr[t]; i < s.tree_ptr[t + 1]; ++i) {
      const std::int32_t v = s.order[i];
      sum_[v].assign(s.edge[v].size(), 0.0);
      gone_[v].assign(s.edge[v].size(), 0);
      for (std::size_t c = 0; c < s.edge[v].size(); ++c)
        put(sum_[v][c], gone_[v][c], s.edge[v][c], 1);
      for (std::int64_t l = f.label_ptr[v]; l < f.label_ptr[v + 1]; ++l) {
        own_sum_[l] = 0.0;
        own_gone_[l] = 0;
        put(own_sum_[l], own_gone_[l], s.own[l], 1);
      }
    }
    for (const Term* term : terms)
      if (!term->seen.empty()) put(*term, 1);
    for (std::int64_t i = s.tree_ptr[t + 1]; i-- > s.tree_ptr[t] + 1;) send_up(s.order[i]);
  }

  // ---- messages

  // Scores of a variable and what all neighbors but some say.
  template <class Skip>
  void gather(std::int32_t v, Skip skip, double* row) const {
    const std::int32_t n = f.width[v];
    for (std::int32_t l = 0; l < n; ++l) row[l] = own(f.label_ptr[v] + l);
    if (s.parent[v] >= 0 && !skip(s.parent[v]))
      for (std::int32_t l = 0; l < n; ++l) row[l] += down_[v][l];
    for (const std::int32_t c : s.child[v])
      if (!skip(c))
        for (std::int32_t l = 0; l < n; ++l) row[l] += up_[c][l];
  }

  void send_up(std::int32_t v);
  void send_down(std::int32_t v);
  void move(std::int32_t from, std::int32_t to);

  // All messages down, where those up are there; marginals of variables; returns the log of the
  // mass.
  double calibrate(std::int64_t t, double* node);

  // Marginals of a variable and its parent, [parent, labels].
  std::vector<double> joint(std::int32_t v) const;

 private:
  std::vector<std::vector<double>> up_, down_;   // [V] messages to and from the parent
  std::vector<std::vector<double>> sum_;         // [V] scores of edges: what is finite
  std::vector<std::vector<std::int32_t>> gone_;  // and how many say that it is impossible
  std::vector<double> own_sum_;                  // [labels] the same of variables
  std::vector<std::int32_t> own_gone_;
};

}  // namespace crfkit
