#include "graph/elimination/components.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/threads/parallel.hpp"
#include "graph/elimination/bounded_search.hpp"
#include "graph/elimination/plan.hpp"
#include "graph/elimination/search.hpp"
#include "graph/union_find.hpp"

namespace crfkit {

Components::Components(const Factors& f, const Reduction& left, double budget, int threads) {
  find(f, left);
  refuse_wide(f, left, budget, threads);
  make_leaves(f, left);
  find_programs(budget, threads);
}

void Components::find(const Factors& f, const Reduction& left) {
  UnionFind joined(f.variables);
  const auto is_free = [&](std::int32_t v) { return left.width[v] > 1; };
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    for (std::int64_t m = 0; m < group.count; ++m) {
      const std::int32_t* scope = group.variables(m);
      std::int32_t first = -1;
      for (int a = 0; a < group.arity; ++a) {
        if (!is_free(scope[a])) continue;
        if (first < 0) first = scope[a];
        joined.join(first, scope[a]);
      }
    }
  }
  of_.assign(f.variables, -1);
  local_.assign(f.variables, -1);
  for (std::int32_t v = 0; v < f.variables; ++v) {
    if (!is_free(v) || left.impossible[f.graph[v]]) continue;
    const std::int32_t r = joined.root(v);
    if (r == v) {
      of_[v] = static_cast<std::int32_t>(component.size());
      component.emplace_back();
      component.back().graph = f.graph[v];
    }
    of_[v] = of_[r];
    local_[v] = static_cast<std::int32_t>(component[of_[v]].variable.size());
    component[of_[v]].variable.push_back(v);
  }
}

void Components::refuse_wide(const Factors& f, const Reduction& left, double budget, int threads) {
  refused_.resize(component.size());
  std::int64_t arity = 1;
  for (std::int64_t g = 0; g < f.groups; ++g)
    arity = std::max<std::int64_t>(arity, f.group[g].arity);
  std::vector<std::size_t> large;  // those that would not be annealed, as they have many leaves
  for (std::size_t c = 0; c < component.size(); ++c) {
    const std::int64_t n = static_cast<std::int64_t>(component[c].variable.size());
    if (!can_anneal(n, n / arity)) large.push_back(c);
  }
  if (large.empty()) return;
  const BoundedSearch search(f, left);
  parallel_for(static_cast<std::int64_t>(large.size()), threads, [&](std::int64_t i) {
    Component& c = component[large[i]];
    c.cells = search.too_wide(c.variable, budget);
    refused_[large[i]] = c.cells > 0.0;
  });
}

void Components::make_leaves(const Factors& f, const Reduction& left) {
  scope_.resize(component.size());
  shape_.resize(component.size());
  std::vector<std::vector<std::pair<std::vector<std::int32_t>, Member>>> found(component.size());
  std::vector<std::int32_t> scope;
  for (std::int32_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    for (std::int64_t m = 0; m < group.count; ++m) {
      const std::int32_t* v = group.variables(m);
      if (left.impossible[f.graph[v[0]]]) continue;
      scope.clear();
      std::int32_t mine = -1;
      for (int a = 0; a < group.arity; ++a)
        if (local_[v[a]] >= 0) scope.push_back(local_[v[a]]), mine = of_[v[a]];
      if (mine < 0) {
        known.push_back({g, m});
        continue;
      }
      if (refused_[mine]) continue;
      std::sort(scope.begin(), scope.end());
      found[mine].emplace_back(scope, Member{g, m});
    }
  }
  for (std::size_t c = 0; c < component.size(); ++c) {
    if (refused_[c]) continue;
    for (const std::int32_t v : component[c].variable) shape_[c].push_back(left.width[v]);
    merge(component[c], found[c], scope_[c], shape_[c]);
    decltype(found)::value_type().swap(found[c]);
  }
}

void Components::merge(Component& c,
                       std::vector<std::pair<std::vector<std::int32_t>, Member>>& found,
                       std::vector<std::vector<std::int32_t>>& scope,
                       const std::vector<std::int32_t>& width) {
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first.size() > y.first.size(); });
  std::vector<std::vector<std::int32_t>> at(c.variable.size());
  const auto host = [&](const std::vector<std::int32_t>& mine) {
    const std::vector<std::int32_t>* fewest = &at[mine[0]];
    for (const std::int32_t v : mine)
      if (at[v].size() < fewest->size()) fewest = &at[v];
    std::int32_t best = -1;
    double least = 1e300;
    for (std::size_t i = fewest->size(); i-- > 0 && fewest->size() - i <= 256;) {
      const std::vector<std::int32_t>& other = scope[(*fewest)[i]];
      if (!std::includes(other.begin(), other.end(), mine.begin(), mine.end())) continue;
      double cells = 1.0;
      for (const std::int32_t v : other) cells *= width[v];
      if (cells < least) least = cells, best = (*fewest)[i];
    }
    return best;
  };
  const auto put = [&](const std::vector<std::int32_t>& mine) {
    std::int32_t leaf = host(mine);
    if (leaf < 0) {
      leaf = static_cast<std::int32_t>(scope.size());
      scope.push_back(mine);
      c.leaf.emplace_back();
      for (const std::int32_t v : mine) at[v].push_back(leaf);
    }
    return leaf;
  };
  for (const auto& [mine, member] : found) c.leaf[put(mine)].push_back(member);
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(at.size()); ++v)
    if (at[v].empty()) put({v});  // no factor: all labels score 0
}

void Components::find_programs(double budget, int threads) {
  std::map<std::vector<std::int32_t>, std::size_t> seen;  // of equal components: the first
  std::vector<std::size_t> like(component.size()), distinct;
  for (std::size_t c = 0; c < component.size(); ++c) {
    like[c] = c;
    if (refused_[c]) continue;
    std::vector<std::int32_t> key = shape_[c];
    for (const std::vector<std::int32_t>& scope : scope_[c]) {
      key.push_back(-1);
      key.insert(key.end(), scope.begin(), scope.end());
    }
    like[c] = seen.try_emplace(std::move(key), c).first->second;
    if (like[c] == c) distinct.push_back(c);
  }
  const bool many = static_cast<int>(distinct.size()) >= 4 * threads;
  parallel_for(static_cast<std::int64_t>(distinct.size()), many ? threads : 1,
               [&](std::int64_t i) { find_program(distinct[i], budget, many ? 1 : threads); });
  for (std::size_t c = 0; c < component.size(); ++c) {
    component[c].program = component[like[c]].program;
    component[c].cells = component[like[c]].cells;
  }
}

void Components::find_program(std::size_t c, double budget, int threads) {
  PrimalGraph graph;
  graph.near.resize(shape_[c].size());
  for (const std::int32_t n : shape_[c]) graph.bits.push_back(std::log2(n));
  for (const std::vector<std::int32_t>& scope : scope_[c])
    for (const std::int32_t u : scope)
      for (const std::int32_t v : scope)
        if (u != v) graph.near[u].push_back(v);
  for (std::vector<std::int32_t>& near : graph.near) {
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
  }
  const SearchedJoins found = find_joins(graph, shape_[c], scope_[c], budget, threads);
  component[c].cells = found.cells;
  if (!found.complete) return;
  Planner planner(shape_[c], scope_[c], found.joins);
  component[c].cells = planner.cells();
  if (planner.cells() > budget) return;
  const auto program = std::make_shared<const Program>(planner.take());
  component[c].cells = program->cells;
  if (program->cells <= budget) component[c].program = program;
}

}  // namespace crfkit
