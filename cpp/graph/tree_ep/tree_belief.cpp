#include "graph/tree_ep/tree_belief.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace crfkit {

TreeBelief::TreeBelief(const SpanningForest& forest) : s(forest), f(forest.f) {
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

void TreeBelief::add_log(double& sum, double x) {
  if (x == kZero) return;
  const double high = std::max(sum, x), low = std::min(sum, x);
  sum = low == kZero ? high : high + std::log1p(std::exp(low - high));
}

double TreeBelief::log_sum(const double* x, std::int64_t n) {
  double top = kZero, sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) top = std::max(top, x[i]);
  if (top == kZero) return kZero;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
  return top + std::log(sum);
}

void TreeBelief::put(double& sum, std::int32_t& gone, double x, int sign) {
  if (x == kZero)
    gone += sign;
  else
    sum += sign * x;
}

void TreeBelief::put(const Term& term, int sign) {
  std::int64_t at = 0;
  for (const std::int32_t v : term.below)
    for (std::size_t c = 0; c < sum_[v].size(); ++c, ++at)
      put(sum_[v][c], gone_[v][c], term.edges[at], sign);
  for (std::int32_t l = 0; l < f.width[term.top]; ++l)
    put(own_sum_[f.label_ptr[term.top] + l], own_gone_[f.label_ptr[term.top] + l], term.root[l],
        sign);
}

void TreeBelief::send_up(std::int32_t v) {
  const std::int32_t n = f.width[v], p = s.parent[v];
  std::vector<double> row(n), x(n);
  gather(v, [p](std::int32_t z) { return z == p; }, row.data());
  for (std::int32_t k = 0; k < f.width[p]; ++k) {
    for (std::int32_t l = 0; l < n; ++l) x[l] = edge(v, k * n + l) + row[l];
    up_[v][k] = log_sum(x.data(), n);
  }
}

void TreeBelief::send_down(std::int32_t v) {
  const std::int32_t n = f.width[v], p = s.parent[v], m = f.width[p];
  std::vector<double> row(m), x(m);
  gather(p, [v](std::int32_t z) { return z == v; }, row.data());
  for (std::int32_t l = 0; l < n; ++l) {
    for (std::int32_t k = 0; k < m; ++k) x[k] = edge(v, k * n + l) + row[k];
    down_[v][l] = log_sum(x.data(), m);
  }
}

void TreeBelief::move(std::int32_t from, std::int32_t to) {
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

double TreeBelief::calibrate(std::int64_t t, double* node) {
  double mass = kZero;
  for (std::int64_t i = s.tree_ptr[t]; i < s.tree_ptr[t + 1]; ++i) {
    const std::int32_t v = s.order[i];
    if (i > s.tree_ptr[t]) send_down(v);
    double* p = node + f.label_ptr[v];
    gather(v, [](std::int32_t) { return false; }, p);
    const double sum = log_sum(p, f.width[v]);
    if (i == s.tree_ptr[t]) mass = sum;
    for (std::int32_t l = 0; l < f.width[v]; ++l) p[l] = sum == kZero ? 0.0 : std::exp(p[l] - sum);
  }
  return mass;
}

std::vector<double> TreeBelief::joint(std::int32_t v) const {
  const std::int32_t p = s.parent[v], n = f.width[v], m = f.width[p];
  std::vector<double> above(m), below(n), cell(sum_[v].size());
  gather(p, [v](std::int32_t z) { return z == v; }, above.data());
  gather(v, [p](std::int32_t z) { return z == p; }, below.data());
  for (std::int32_t k = 0; k < m; ++k)
    for (std::int32_t l = 0; l < n; ++l) cell[k * n + l] = above[k] + edge(v, k * n + l) + below[l];
  const double mass = log_sum(cell.data(), static_cast<std::int64_t>(cell.size()));
  for (double& x : cell) x = mass == kZero ? 0.0 : std::exp(x - mass);
  return cell;
}

}  // namespace crfkit
