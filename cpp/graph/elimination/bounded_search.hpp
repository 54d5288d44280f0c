// Large components that are far too wide, found out by looking at a small part of them.
//
// What is left of an order of elimination in an induced subgraph costs no more than the whole.  So
// a few thousand variables around one of them are ordered alone; where the best of some greedy
// orders needs many times the budget, the whole does not fit either.  Greedy orders prove nothing:
// hence the many times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "graph/elimination/order.hpp"
#include "graph/elimination/reduce.hpp"
#include "graph/incidence.hpp"
#include "shared/factors.hpp"

namespace crfkit {

class BoundedSearch {
 public:
  // Variables with one label left do not count.
  BoundedSearch(const Factors& f, const Reduction& left) : f_(f), left_(left), incidence_(f) {}

  // Cells that a component needs at least, where that is far above the budget; otherwise 0.
  double too_wide(const std::vector<std::int32_t>& component, double budget) const {
    const auto degree = [&](std::int32_t v) { return incidence_.ptr[v + 1] - incidence_.ptr[v]; };
    const std::int32_t hub =
        *std::max_element(component.begin(), component.end(),
                          [&](std::int32_t u, std::int32_t v) { return degree(u) < degree(v); });
    for (const std::int32_t start : {hub, component[component.size() / 2]})
      if (const double cells = cells_of(around(start), kMargin * budget); cells > 0.0) return cells;
    return 0.0;
  }

 private:
  static constexpr std::size_t kVariables = 4096;
  static constexpr double kMargin = 64.0;

  template <class Visit>
  void for_each_neighbor(std::int32_t v, Visit visit) const {
    for (std::int64_t i = incidence_.ptr[v]; i < incidence_.ptr[v + 1]; ++i) {
      const FactorGroup& group = f_.group[incidence_.entry[i].group];
      const std::int32_t* scope = group.variables(incidence_.entry[i].factor);
      for (int a = 0; a < group.arity; ++a)
        if (scope[a] != v && left_.width[scope[a]] > 1) visit(scope[a]);
    }
  }

  // The variables nearest to one of them, by number.
  std::vector<std::int32_t> around(std::int32_t start) const {
    std::vector<std::int32_t> nearest = {start};
    std::vector<bool> seen(f_.variables);
    seen[start] = true;
    for (std::size_t head = 0; head < nearest.size() && nearest.size() < kVariables; ++head)
      for_each_neighbor(nearest[head], [&](std::int32_t v) {
        if (seen[v] || nearest.size() == kVariables) return;
        seen[v] = true;
        nearest.push_back(v);
      });
    std::sort(nearest.begin(), nearest.end());
    return nearest;
  }

  // 0 where an order has `most` cells or fewer, or was not found out.
  double cells_of(const std::vector<std::int32_t>& nearest, double most) const {
    PrimalGraph graph;
    for (const std::int32_t v : nearest) {
      std::vector<std::int32_t>& near = graph.near.emplace_back();
      graph.bits.push_back(std::log2(left_.width[v]));
      for_each_neighbor(v, [&](std::int32_t u) {
        const auto at = std::lower_bound(nearest.begin(), nearest.end(), u);
        if (at != nearest.end() && *at == u)
          near.push_back(static_cast<std::int32_t>(at - nearest.begin()));
      });
      std::sort(near.begin(), near.end());
      near.erase(std::unique(near.begin(), near.end()), near.end());
    }
    const LowDegree low(graph);
    using Rule = GreedyOrder::Rule;
    constexpr std::int64_t kOperations = std::int64_t{1} << 26;
    constexpr Rule kRules[] = {Rule::size, Rule::fill, Rule::size, Rule::weighted_fill};
    double cells = 0.0;
    for (std::uint64_t i = 0; i < std::size(kRules); ++i) {
      const Order order = GreedyOrder(low.core, kRules[i], i / 2).run(most, 1e300, kOperations);
      if (order.cells <= most) return 0.0;
      cells = i == 0 ? order.cells : std::min(cells, order.cells);
    }
    return cells;
  }

  const Factors& f_;
  const Reduction& left_;
  Incidence incidence_;
};

}  // namespace crfkit
