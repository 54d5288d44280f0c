// Trees of variables such that all other factors meet a tree in one variable at the most.
//
// Factors of two variables are taken from the strongest to the weakest; one joins the trees of its
// two variables if no factor but those of the same two variables has variables in both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/incidence.hpp"

namespace crfkit {

// Variables tree by tree, parents before children.
struct Grown {
  std::vector<std::int32_t> member;  // [V]
  std::vector<std::int32_t> above;   // [V] parent of each variable, or -1
  std::vector<std::int64_t> ptr;     // [trees + 1]

  static Grown singles(std::int64_t variables) {
    Grown made = {std::vector<std::int32_t>(variables), std::vector<std::int32_t>(variables, -1),
                  std::vector<std::int64_t>(variables + 1)};
    std::iota(made.member.begin(), made.member.end(), 0);
    std::iota(made.ptr.begin(), made.ptr.end(), 0);
    return made;
  }
};

class InducedTrees {
 public:
  explicit InducedTrees(const Factors& f) : f_(f), root_(f.variables), met_(f.variables) {
    std::iota(root_.begin(), root_.end(), 0);
  }

  Grown grown() {
    std::vector<std::tuple<double, std::int32_t, std::int32_t>> edge;  // - strength, variables
    for (std::int64_t g = 0; g < f_.groups; ++g) {
      const FactorGroup& group = f_.group[g];
      const std::vector<double> strong =
          group.arity == 2 ? strengths(group) : std::vector<double>();
      for (std::int64_t m = 0; m < group.count; ++m) {
        const std::int32_t* scope = group.variables(m);
        for (int a = 0; a < group.arity; ++a)
          for (int b = 0; b < a; ++b) meet(scope[b], scope[a], group.arity > 2);
        if (group.arity == 2)
          edge.push_back({-strong[group.table_of(m)] * group.scale_of(m), scope[0], scope[1]});
      }
    }
    std::stable_sort(edge.begin(), edge.end(),
                     [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    std::vector<std::vector<std::int32_t>> beside(f_.variables);
    for (const auto& [strength, u, v] : edge)
      if (joined(u, v)) {
        beside[u].push_back(v);
        beside[v].push_back(u);
      }
    Grown made = {{}, std::vector<std::int32_t>(f_.variables, -1), {0}};
    std::vector<bool> done(f_.variables);
    for (std::int32_t seed = 0; seed < f_.variables; ++seed) {
      if (done[seed]) continue;
      done[seed] = true;
      std::size_t next = made.member.size();
      for (made.member.push_back(seed); next < made.member.size(); ++next) {
        const std::int32_t u = made.member[next];
        for (const std::int32_t z : beside[u]) {
          if (done[z]) continue;
          done[z] = true;
          made.above[z] = u;
          made.member.push_back(z);
        }
      }
      made.ptr.push_back(static_cast<std::int64_t>(made.member.size()));
    }
    return made;
  }

 private:
  // How two trees are joined: by factors of one pair of variables, or by more.
  struct Link {
    std::int32_t low, high;
    bool more;
  };

  // How much tables of two variables differ from a sum of scores of one, [tables].
  static std::vector<double> strengths(const FactorGroup& group) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const std::int64_t n0 = group.shape[0], n1 = group.shape[1];
    std::vector<double> strong(group.tables), row(n0), column(n1);
    for (std::int64_t k = 0; k < group.tables; ++k) {
      const double* score = group.table + k * group.cells;
      double all = 0.0;
      std::fill(row.begin(), row.end(), 0.0);
      std::fill(column.begin(), column.end(), 0.0);
      for (std::int64_t c = 0; c < group.cells; ++c) {
        row[c / n1] += score[c] / static_cast<double>(n1);
        column[c % n1] += score[c] / static_cast<double>(n0);
        all += score[c] / static_cast<double>(group.cells);
      }
      strong[k] = all > -inf ? 0.0 : inf;
      for (std::int64_t c = 0; c < group.cells && all > -inf; ++c)
        strong[k] = std::max(strong[k], std::abs(score[c] - row[c / n1] - column[c % n1] + all));
    }
    return strong;
  }

  void meet(std::int32_t u, std::int32_t v, bool more) {
    const Link link = {std::min(u, v), std::max(u, v), more};
    add(met_[u], v, link);
    add(met_[v], u, link);
  }

  static void add(std::unordered_map<std::int32_t, Link>& to, std::int32_t tree, const Link& link) {
    const auto [at, fresh] = to.insert({tree, link});
    if (!fresh && (link.more || at->second.low != link.low || at->second.high != link.high))
      at->second.more = true;
  }

  std::int32_t tree(std::int32_t v) {
    while (root_[v] != v) v = root_[v] = root_[root_[v]];
    return v;
  }

  bool joined(std::int32_t u, std::int32_t v) {
    std::int32_t a = tree(u), b = tree(v);
    if (a == b) return false;
    const auto at = met_[a].find(b);
    if (at->second.more) return false;
    if (met_[a].size() < met_[b].size()) std::swap(a, b);
    root_[b] = a;
    met_[a].erase(b);
    for (const auto& [other, link] : met_[b]) {
      if (other == a) continue;
      add(met_[a], other, link);
      met_[other].erase(b);
      add(met_[other], a, link);
    }
    met_[b] = {};
    return true;
  }

  const Factors& f_;
  std::vector<std::int32_t> root_;
  std::vector<std::unordered_map<std::int32_t, Link>>
      met_;  // trees that share a factor with a tree
};

}  // namespace crfkit
