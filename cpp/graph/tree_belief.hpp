// A distribution on a spanning forest: its own scores times terms of loose factors, and messages.
//
// In logarithms, so that only what is impossible is 0; terms carry their mass.  Messages point to a
// *focus*, which moves along the tree from factor to factor: of all messages only those that point
// there are up to date.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/spanning_forest.hpp"

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

  explicit TreeBelief(const SpanningForest& forest) : s(forest), f(forest.f) {
    const std::int64_t V = f.variables;
    up_.resize(V);
    down_.resize(V);
    sum_.resize(V);
    gone_.resize(V);
    own_sum_.resize(s.own.size());
    own_gone_.resize(s.own.size());
    for (std::int64_t v = 0; v < V; ++v)
      if (s.parent[v] >= 0) {
        up_[v].resize(f.width[s.parent[v]]);
        down_[v].resize(f.width[v]);
      }
  }

  static void add_log(double& sum, double x) {
    if (x == kZero) return;
    const double high = std::max(sum, x), low = std::min(sum, x);
    sum = low == kZero ? high : high + std::log1p(std::exp(low - high));
  }
  static double log_sum(const double* x, std::int64_t n) {
    double top = kZero, sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) top = std::max(top, x[i]);
    if (top == kZero) return kZero;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
    return top + std::log(sum);
  }

  // ---- q: scores of edges and variables, with the terms of all loose factors

  double edge(std::int32_t v, std::int64_t c) const { return gone_[v][c] ? kZero : sum_[v][c]; }
  double own(std::int64_t l) const { return own_gone_[l] ? kZero : own_sum_[l]; }

  static void put(double& sum, std::int32_t& gone, double x, int sign) {
    if (x == kZero)
      gone += sign;
    else
      sum += sign * x;
  }
  void put(const Term& term, int sign) {
    std::int64_t at = 0;
    for (const std::int32_t v : term.below)
      for (std::size_t c = 0; c < sum_[v].size(); ++c, ++at)
        put(sum_[v][c], gone_[v][c], term.edges[at], sign);
    for (std::int32_t l = 0; l < f.width[term.top]; ++l)
      put(own_sum_[f.label_ptr[term.top] + l], own_gone_[f.label_ptr[term.top] + l], term.root[l],
          sign);
  }

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

  void send_up(std::int32_t v) {
    const std::int32_t n = f.width[v], p = s.parent[v];
    std::vector<double> row(n), x(n);
    gather(v, [p](std::int32_t z) { return z == p; }, row.data());
    for (std::int32_t k = 0; k < f.width[p]; ++k) {
      for (std::int32_t l = 0; l < n; ++l) x[l] = edge(v, k * n + l) + row[l];
      up_[v][k] = log_sum(x.data(), n);
    }
  }
  void send_down(std::int32_t v) {
    const std::int32_t n = f.width[v], p = s.parent[v], m = f.width[p];
    std::vector<double> row(m), x(m);
    gather(p, [v](std::int32_t z) { return z == v; }, row.data());
    for (std::int32_t l = 0; l < n; ++l) {
      for (std::int32_t k = 0; k < m; ++k) x[k] = edge(v, k * n + l) + row[k];
      down_[v][l] = log_sum(x.data(), m);
    }
  }
  void move(std::int32_t from, std::int32_t to) {
    std::vector<std::int32_t> path;
    while (from != to)
      if (s.depth[from] >= s.depth[to]) {
        send_up(from);
        from = s.parent[from];
      } else {
        path.push_back(to);
        to = s.parent[to];
      }
    for (std::size_t i = path.size(); i-- > 0;) send_down(path[i]);
  }

  // All messages down, where those up are there; marginals of variables; returns the log of the
  // mass.
  double calibrate(std::int64_t t, double* node) {
    double mass = kZero;
    for (std::int64_t i = s.tree_ptr[t]; i < s.tree_ptr[t + 1]; ++i) {
      const std::int32_t v = s.order[i];
      if (i > s.tree_ptr[t]) send_down(v);
      double* p = node + f.label_ptr[v];
      gather(v, [](std::int32_t) { return false; }, p);
      const double sum = log_sum(p, f.width[v]);
      if (i == s.tree_ptr[t]) mass = sum;
      for (std::int32_t l = 0; l < f.width[v]; ++l)
        p[l] = sum == kZero ? 0.0 : std::exp(p[l] - sum);
    }
    return mass;
  }

  // Marginals of a variable and its parent, [parent, labels].
  std::vector<double> joint(std::int32_t v) const {
    const std::int32_t p = s.parent[v], n = f.width[v], m = f.width[p];
    std::vector<double> above(m), below(n), cell(sum_[v].size());
    gather(p, [v](std::int32_t z) { return z == v; }, above.data());
    gather(v, [p](std::int32_t z) { return z == p; }, below.data());
    for (std::int32_t k = 0; k < m; ++k)
      for (std::int32_t l = 0; l < n; ++l)
        cell[k * n + l] = above[k] + edge(v, k * n + l) + below[l];
    const double mass = log_sum(cell.data(), static_cast<std::int64_t>(cell.size()));
    for (double& x : cell) x = mass == kZero ? 0.0 : std::exp(x - mass);
    return cell;
  }

 private:
  std::vector<std::vector<double>> up_, down_;   // [V] messages to and from the parent
  std::vector<std::vector<double>> sum_;         // [V] scores of edges: what is finite
  std::vector<std::vector<std::int32_t>> gone_;  // and how many say that it is impossible
  std::vector<double> own_sum_;                  // [labels] the same of variables
  std::vector<std::int32_t> own_gone_;
};

}  // namespace crfkit
