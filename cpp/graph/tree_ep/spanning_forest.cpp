#include "graph/tree_ep/spanning_forest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/incidence.hpp"

namespace crfkit {

SpanningForest::SpanningForest(const Factors& factors) : f(factors), own(f.label_ptr[f.variables]) {
  combine();
  span();
}

std::pair<std::int64_t, std::int32_t> SpanningForest::place(const FactorGroup& group,
                                                            std::int64_t m,
                                                            std::vector<std::int64_t>& step) const {
  std::vector<std::pair<std::int32_t, int>> wide;
  for (int a = 0; a < group.arity; ++a)
    if (group.shape[a] > 1) wide.push_back({group.variables(m)[a], a});
  std::sort(wide.begin(), wide.end());
  step.assign(group.arity, 0);
  std::int64_t size = 1;
  std::vector<std::int32_t> key;
  for (std::size_t i = wide.size(); i-- > 0;) {
    step[wide[i].second] = size;
    size *= group.shape[wide[i].second];
  }
  for (const auto& [v, a] : wide) key.push_back(v);
  if (wide.size() < 2) return {-1, wide.empty() ? group.variables(m)[0] : wide[0].first};
  return {number_.at(key), -1};
}

void SpanningForest::combine() {
  for (std::int64_t g = 0; g < f.groups; ++g)
    for (std::int64_t m = 0; m < f.group[g].count; ++m) {
      const FactorGroup& group = f.group[g];
      std::vector<std::int32_t> key;
      for (int a = 0; a < group.arity; ++a)
        if (group.shape[a] > 1) key.push_back(group.variables(m)[a]);
      std::sort(key.begin(), key.end());
      if (key.size() > 1 &&
          number_.insert({key, static_cast<std::int64_t>(combined.size())}).second)
        combined.push_back({key, std::vector<double>(group.cells)});
      std::vector<std::int64_t> step;
      const auto [number, variable] = place(group, m, step);
      double* to = number < 0 ? own.data() + f.label_ptr[variable] : combined[number].table.data();
      const double scale = group.scale_of(m);
      for_cells(group, step, [&](std::int64_t from, std::int64_t cell) {
        to[cell] += scale * group.scores(m)[from];
      });
    }
}

double SpanningForest::information(const Combined& c, std::size_t i, std::size_t k) const {
  const std::int64_t n = f.width[c.scope[i]], m = f.width[c.scope[k]];
  std::vector<double> joint(n * m), row(n), column(m), score(c.table);
  std::vector<std::int64_t> at(score.size());
  double top = -std::numeric_limits<double>::infinity(), total = 0.0, sum = 0.0;
  for (std::size_t cell = 0; cell < score.size(); ++cell) {
    std::int64_t rest = static_cast<std::int64_t>(cell);
    for (std::size_t a = c.scope.size(); a-- > 0;) {
      const std::int64_t width = f.width[c.scope[a]], label = rest % width;
      rest /= width;
      score[cell] += own[f.label_ptr[c.scope[a]] + label];
      if (a == i) at[cell] += label * m;
      if (a == k) at[cell] += label;
    }
    top = std::max(top, score[cell]);
  }
  if (!(top > -std::numeric_limits<double>::infinity())) return 0.0;
  for (std::size_t cell = 0; cell < score.size(); ++cell) {
    const double p = std::exp(score[cell] - top);
    joint[at[cell]] += p;
    row[at[cell] / m] += p;
    column[at[cell] % m] += p;
    total += p;
  }
  for (std::int64_t cell = 0; cell < n * m; ++cell)
    if (joint[cell] > 0.0)
      sum +=
          joint[cell] / total * std::log(joint[cell] * total / (row[cell / m] * column[cell % m]));
  return sum;
}

void SpanningForest::span() {
  std::vector<std::tuple<double, std::int32_t, std::int32_t>> candidate;
  for (const Combined& c : combined)
    for (std::size_t k = 1; k < c.scope.size(); ++k)
      for (std::size_t i = c.scope.size() > 8 ? k - 1 : 0; i < k; ++i)
        candidate.push_back({-information(c, i, k), c.scope[i], c.scope[k]});
  std::stable_sort(candidate.begin(), candidate.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  std::vector<std::int32_t> root(f.variables);
  std::iota(root.begin(), root.end(), 0);
  const auto top = [&](std::int32_t v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  std::vector<std::vector<std::int32_t>> beside(f.variables);
  for (const auto& [weight, u, v] : candidate)
    if (top(u) != top(v)) {
      root[top(u)] = top(v);
      beside[u].push_back(v);
      beside[v].push_back(u);
    }
  parent.assign(f.variables, -1);
  depth.assign(f.variables, 0);
  tree.assign(f.variables, -1);
  child.resize(f.variables);
  edge.resize(f.variables);
  tree_ptr = {0};
  for (std::int32_t seed = 0; seed < f.variables; ++seed) {
    if (tree[seed] >= 0) continue;
    const std::int32_t number = static_cast<std::int32_t>(tree_ptr.size()) - 1;
    tree[seed] = number;
    std::size_t next = order.size();
    for (order.push_back(seed); next < order.size(); ++next) {
      const std::int32_t u = order[next];
      for (const std::int32_t z : beside[u]) {
        if (tree[z] >= 0) continue;
        tree[z] = number;
        parent[z] = u;
        depth[z] = depth[u] + 1;
        child[u].push_back(z);
        edge[z].assign(static_cast<std::int64_t>(f.width[u]) * f.width[z], 0.0);
        order.push_back(z);
      }
    }
    tree_ptr.push_back(static_cast<std::int64_t>(order.size()));
  }
  for (std::size_t i = 0; i < combined.size(); ++i) {
    const Combined& c = combined[i];
    const std::int32_t u = c.scope[0], v = c.scope[1];
    if (c.scope.size() > 2 || (parent[u] != v && parent[v] != u)) {
      loose.push_back(static_cast<std::int64_t>(i));
      continue;
    }
    const std::int64_t n = f.width[u], m = f.width[v];
    for (std::int64_t a = 0; a < n; ++a)
      for (std::int64_t b = 0; b < m; ++b)
        (parent[v] == u ? edge[v][a * m + b] : edge[u][b * n + a]) = c.table[a * m + b];
  }
}

}  // namespace crfkit
