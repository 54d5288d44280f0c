// The order in which variables are visited, and its levels.
//
// Order: as the variables are numbered (a grid in raster order), unless growing from a variable is
// better: the next variable is the one with most factors that were touched, ties to the one that
// was touched first.  Orders are judged by the sum over factors of the way from the first variable
// to the last (Kolmogorov 2015).  Level: one more than the highest level of the neighbors before,
// so that variables of one level have no factor in common and can be visited at the same time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <queue>
#include <tuple>
#include <vector>

#include "graph/incidence.hpp"
#include "shared/factors.hpp"

namespace crfkit {

struct VisitOrder {
  std::vector<std::int32_t> variable;  // [V] in the order of visits
  std::vector<std::int32_t> number;    // [V] visit of each variable
  std::vector<std::int64_t> level;     // [levels + 1] where levels begin

  explicit VisitOrder(const Factors& f) : variable(f.variables), number(f.variables), level(1) {
    std::iota(number.begin(), number.end(), 0);
    // A grid of any shape passes without growing.
    const double straight = span(f, number);
    if (straight > 2.0 * std::sqrt(static_cast<double>(f.variables)) * factors(f)) {
      std::vector<std::int32_t> grown = grow(f);
      if (span(f, grown) < straight) number = std::move(grown);
    }
    sort_by_level(f);
  }

 private:
  static double factors(const Factors& f) {
    double total = 0.0;
    for (std::int64_t g = 0; g < f.groups; ++g)
      if (f.group[g].arity > 1) total += static_cast<double>(f.group[g].count);
    return total;
  }

  static double span(const Factors& f, const std::vector<std::int32_t>& number) {
    double total = 0.0;
    for (std::int64_t g = 0; g < f.groups; ++g)
      for (std::int64_t m = 0; m < f.group[g].count; ++m) {
        std::int32_t first = number[f.group[g].variables(m)[0]], last = first;
        for (int a = 1; a < f.group[g].arity; ++a) {
          const std::int32_t n = number[f.group[g].variables(m)[a]];
          first = std::min(first, n), last = std::max(last, n);
        }
        total += last - first;
      }
    return total;
  }

  static std::vector<std::int32_t> grow(const Factors& f) {
    const Incidence in(f);
    std::vector<std::int32_t> number(f.variables, -1), touched(f.variables, 0);
    // most touched factors first, then the earliest touch
    using Next = std::tuple<std::int32_t, std::int64_t, std::int32_t>;
    std::priority_queue<Next> queue;
    std::int64_t clock = 0;
    std::int32_t n = 0;
    for (std::int32_t seed = 0; seed < f.variables; ++seed) {
      if (number[seed] < 0) queue.emplace(0, --clock, seed);
      while (!queue.empty()) {
        const auto [count, when, v] = queue.top();
        queue.pop();
        if (number[v] >= 0 || count < touched[v]) continue;
        number[v] = n++;
        for (std::int64_t k = in.ptr[v]; k < in.ptr[v + 1]; ++k) {
          const FactorGroup& g = f.group[in.entry[k].group];
          for (int a = 0; a < g.arity; ++a) {
            const std::int32_t other = g.variables(in.entry[k].factor)[a];
            if (number[other] < 0) queue.emplace(++touched[other], --clock, other);
          }
        }
      }
    }
    return number;
  }

  void sort_by_level(const Factors& f) {
    const Incidence in(f);
    for (std::int32_t v = 0; v < f.variables; ++v) variable[number[v]] = v;
    std::vector<std::int32_t> depth(f.variables, 0);
    std::int32_t deepest = -1;
    for (const std::int32_t v : variable) {
      for (std::int64_t k = in.ptr[v]; k < in.ptr[v + 1]; ++k) {
        const FactorGroup& g = f.group[in.entry[k].group];
        for (int a = 0; a < g.arity; ++a) {
          const std::int32_t other = g.variables(in.entry[k].factor)[a];
          if (number[other] < number[v]) depth[v] = std::max(depth[v], depth[other] + 1);
        }
      }
      deepest = std::max(deepest, depth[v]);
    }
    level.assign(deepest + 2, 0);
    for (const std::int32_t d : depth) ++level[d + 1];
    for (std::size_t d = 1; d < level.size(); ++d) level[d] += level[d - 1];
    std::vector<std::int64_t> next(level.begin(), level.end() - 1);
    std::vector<std::int32_t> sorted(variable.size());
    for (const std::int32_t v : variable) sorted[next[depth[v]]++] = v;
    variable = std::move(sorted);
    for (std::int32_t n = 0; n < f.variables; ++n) number[variable[n]] = n;
  }
};

}  // namespace crfkit
