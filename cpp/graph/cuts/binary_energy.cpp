#include "graph/cuts/binary_energy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace crfkit {

SplitTable split(double a, double b, double c, double d) {
  SplitTable s = {};
  if (std::max({a, b, c, d}) == infinite) {
    // A label without any allowed cell is banned, and its cells become those of the other label.
    const auto ban = [](double& x0, double& y0, double& x1, double& y1) -> std::uint8_t {
      const bool first = x0 == infinite && y0 == infinite,
                 second = x1 == infinite && y1 == infinite;
      if (first && second) x0 = y0 = x1 = y1 = 0.0;
      if (first) x0 = x1, y0 = y1;
      if (second) x1 = x0, y1 = y0;
      return static_cast<std::uint8_t>(first + 2 * second);
    };
    s.banned_u = ban(a, b, c, d);
    s.banned_v = ban(a, c, b, d);
  }
  // Now p = b - a - t and q = c - d + t for any t between d - c and b - a.
  double low = d - c, high = b - a;
  if (a == infinite || d == infinite) {
    s.differ = true;
  } else if (low > high) {
    const double size = std::max({std::abs(a), std::abs(b), std::abs(c), std::abs(d)});
    if (low - high > 4.0 * std::numeric_limits<double>::epsilon() * size)
      s.differ = true;
    else
      low = high;
  }
  if (s.differ) {
    std::swap(a, b);
    std::swap(c, d);
    low = d - c;
    high = b - a;
  }
  const double t = low > -infinite && high < infinite ? 0.5 * (low + high)
                   : low > -infinite                  ? low
                   : high < infinite                  ? high
                                                      : 0.0;
  s.base = a;
  s.dv = t;
  s.du = d - t - a;
  s.p = std::max(0.0, high - t);
  s.q = std::max(0.0, t - low);
  if (s.differ) {
    s.base += s.dv;
    s.dv = -s.dv;
  }
  return s;
}

void BinaryEnergy::clear(std::int64_t graphs) {
  slope.clear();
  banned.clear();
  graph.clear();
  base.assign(graphs, 0.0);
  pairs.clear();
  origin.clear();
  differ = hard = false;
}

std::int32_t BinaryEnergy::add_variable(std::int32_t of_graph) {
  slope.push_back(0.0);
  banned.push_back(0);
  graph.push_back(of_graph);
  return static_cast<std::int32_t>(slope.size() - 1);
}

void BinaryEnergy::add_unary(std::int32_t u, double cost0, double cost1) {
  if (cost0 == infinite || cost1 == infinite) {
    banned[u] |= static_cast<std::uint8_t>((cost0 == infinite) + 2 * (cost1 == infinite));
    if (cost0 == infinite) cost0 = cost1 == infinite ? 0.0 : cost1;
    cost1 = cost1 == infinite ? cost0 : cost1;
  }
  base[graph[u]] += cost0;
  slope[u] += cost1 - cost0;
}

bool BinaryEnergy::add_split(std::int32_t u, std::int32_t v, const SplitTable& s, double scale) {
  base[graph[u]] += s.base * scale;
  slope[u] += s.du * scale;
  slope[v] += s.dv * scale;
  banned[u] |= s.banned_u;
  banned[v] |= s.banned_v;
  const double p = s.p * scale, q = s.q * scale;
  if (p == 0.0 && q == 0.0) return false;
  pairs.push_back({u, s.differ ? ~v : v, p, q});
  differ |= s.differ;
  hard |= p == infinite || q == infinite;
  return true;
}

void BinaryEnergy::merge() {
  std::vector<BinaryPair> old;
  std::vector<std::int64_t> old_origin;
  old.swap(pairs);
  old_origin.swap(origin);
  std::vector<std::int64_t> order(old.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const auto variable = [](std::int32_t literal) { return literal < 0 ? ~literal : literal; };
  const auto key = [&](std::int64_t i) {
    const std::int64_t u = old[i].u, v = variable(old[i].v);
    return std::min(u, v) << 32 | std::max(u, v);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t i, std::int64_t j) { return key(i) < key(j); });
  differ = hard = false;
  for (std::size_t i = 0; i < order.size();) {
    const BinaryPair& first = old[order[i]];
    const std::int32_t u = first.u, v = variable(first.v);
    double cost[2][2] = {};
    std::size_t j = i;
    for (; j < order.size(); ++j) {
      const BinaryPair& next = old[order[j]];
      const bool flip = next.v < 0;
      const std::int32_t w = variable(next.v);
      if (!((next.u == u && w == v) || (next.u == v && w == u))) break;
      // p is the cost of x_u = 0, literal = 1, which is x_w = 1 or, for a complement, x_w = 0.
      if (next.u == u) {
        cost[0][!flip] += next.p;
        cost[1][flip] += next.q;
      } else {
        cost[!flip][0] += next.p;
        cost[flip][1] += next.q;
      }
    }
    if (add_table(u, v, cost[0][0], cost[0][1], cost[1][0], cost[1][1]) && !old_origin.empty())
      origin.push_back(old_origin[order[i]]);
    i = j;
  }
}

}  // namespace crfkit
