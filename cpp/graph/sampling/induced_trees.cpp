#include "graph/sampling/induced_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace crfkit {

Grown Grown::singles(std::int64_t variables) {
  Grown made = {std::vector<std::int32_t>(variables), std::vector<std::int32_t>(variables, -1),
                std::vector<std::int64_t>(variables + 1)};
  std::iota(made.member.begin(), made.member.end(), 0);
  std::iota(made.ptr.begin(), made.ptr.end(), 0);
  return made;
}

InducedTrees::InducedTrees(const Factors& f, const Incidence& incidence)
    : f_(f), incidence_(incidence), root_(f.variables), ends_(f.variables), member_(f.variables) {
  std::iota(root_.begin(), root_.end(), 0);
  for (std::int32_t v = 0; v < f.variables; ++v) {
    ends_[v] = incidence.ptr[v + 1] - incidence.ptr[v];
    member_[v] = {v};
  }
}

Grown InducedTrees::grown() {
  std::vector<std::tuple<double, std::int32_t, std::int32_t>> edge;  // - strength, variables
  for (std::int64_t g = 0; g < f_.groups; ++g) {
    const FactorGroup& group = f_.group[g];
    const std::vector<double> strong = group.arity == 2 ? strengths(group) : std::vector<double>();
    for (std::int64_t m = 0; m < group.count && group.arity == 2; ++m)
      edge.push_back({-strong[group.table_of(m)] * group.scale_of(m), group.variables(m)[0],
                      group.variables(m)[1]});
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

std::vector<double> InducedTrees::strengths(const FactorGroup& group) {
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

std::int32_t InducedTrees::tree(std::int32_t v) {
  while (root_[v] != v) v = root_[v] = root_[root_[v]];
  return v;
}

bool InducedTrees::joined(std::int32_t u, std::int32_t v) {
  std::int32_t a = tree(u), b = tree(v);
  if (a == b) return false;
  if (ends_[a] > ends_[b]) std::swap(a, b);
  for (const std::int32_t w : member_[a])
    for (std::int64_t e = incidence_.ptr[w]; e < incidence_.ptr[w + 1]; ++e) {
      const FactorGroup& group = f_.group[incidence_.entry[e].group];
      const std::int32_t* scope = group.variables(incidence_.entry[e].factor);
      for (int i = 0; i < group.arity; ++i) {
        const bool same =
            group.arity == 2 && ((w == u && scope[i] == v) || (w == v && scope[i] == u));
        if (!same && tree(scope[i]) == b) return false;
      }
    }
  root_[a] = b;
  ends_[b] += ends_[a];
  member_[b].insert(member_[b].end(), member_[a].begin(), member_[a].end());
  member_[a] = {};
  return true;
}

}  // namespace crfkit
