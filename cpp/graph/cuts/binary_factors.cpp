#include "graph/cuts/binary_factors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace crfkit {

namespace {

std::int64_t origin_of(std::int64_t group, std::int64_t factor) { return group << 40 | factor; }

bool add_cubic(BinaryEnergy& energy, const std::int32_t* v, const double* f, std::int64_t origin) {
  double g[8], size = 0.0;
  for (int i = 0; i < 8; ++i) {
    if (f[i] == infinite) return false;
    g[i] = f[i];
    size = std::max(size, std::abs(f[i]));
  }
  const double a = f[7] - f[6] - f[5] - f[3] + f[4] + f[2] + f[1] - f[0];
  const auto add = [&](std::int32_t x, std::int32_t y, double c00, double c01, double c10,
                       double c11) {
    if (energy.add_table(x, y, c00, c01, c10, c11)) energy.origin.push_back(origin);
  };
  if (std::abs(a) > 8.0 * std::numeric_limits<double>::epsilon() * size) {
    const std::int32_t w = energy.add_variable(energy.graph[v[0]]);
    // With w = 1 for "not chosen" where a > 0, all three pairs would rather agree.
    energy.add_unary(w, a > 0.0 ? 2.0 * a : 0.0, a > 0.0 ? 0.0 : -2.0 * a);
    for (int i = 0; i < 3; ++i) add(v[i], w, a > 0.0 ? -a : 0.0, 0.0, 0.0, a > 0.0 ? 0.0 : a);
    g[a > 0.0 ? 0 : 7] += std::abs(a);
  }
  // What is left has no cubic term: g(x,y,0) + g(x,0,z) - g(x,0,0) + g(0,y,z) - g(0,y,0) - ...
  add(v[0], v[1], g[0], g[2], g[4], g[6]);
  add(v[0], v[2], 0.0, g[1] - g[0], 0.0, g[5] - g[4]);
  add(v[1], v[2], 0.0, 0.0, 0.0, g[3] - g[2] - g[1] + g[0]);
  return true;
}

// Adds factors of two variables that share finite tables, each of which is split once; false if
// they do not.
bool add_shared(BinaryEnergy& energy, const FactorGroup& group, std::int64_t g,
                const int (&cell)[8]) {
  if (2 * group.tables > group.count || group.cells != 4) return false;
  std::vector<SplitTable> shared(group.tables);
  for (std::int64_t k = 0; k < group.tables; ++k) {
    const double* t = group.table + k * group.cells;
    if (std::min({t[0], t[1], t[2], t[3]}) == -infinite) return false;
    shared[k] = split(-t[cell[0]], -t[cell[1]], -t[cell[2]], -t[cell[3]]);
  }
  for (std::int64_t m = 0; m < group.count; ++m) {
    const std::int32_t* v = group.variables(m);
    if (energy.add_split(v[0], v[1], shared[group.table_of(m)], group.scale_of(m)))
      energy.origin.push_back(origin_of(g, m));
  }
  return true;
}

}  // namespace

Fault binary_energy_of(const Factors& f, BinaryEnergy& energy) {
  energy.clear(f.graphs);
  energy.slope.assign(f.variables, 0.0);
  energy.banned.assign(f.variables, 0);
  energy.graph.assign(f.graph, f.graph + f.variables);
  for (std::int64_t v = 0; v < f.variables; ++v)
    if (f.width[v] == 1) energy.banned[v] = 2;
  std::int64_t pairs = 0;
  for (std::int64_t g = 0; g < f.groups; ++g)
    if (f.group[g].arity == 2) pairs += f.group[g].count;
  energy.pairs.reserve(pairs);
  energy.origin.reserve(pairs);
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    if (group.count == 0) continue;
    for (int i = 0; i < group.arity; ++i)
      if (group.shape[i] > 2) return {Fault::labels, g, 0};
    if (group.arity > 3) return {Fault::arity, g, 0};
    // Where each combination of labels lies in a table; -1: a variable has one label only.
    int cell[8];
    const int cells = 1 << group.arity;
    for (int i = 0; i < cells; ++i) {
      cell[i] = 0;
      for (int k = 0; k < group.arity; ++k) {
        const int x = i >> (group.arity - 1 - k) & 1;
        cell[i] = cell[i] < 0 || x >= group.shape[k] ? -1 : cell[i] * group.shape[k] + x;
      }
    }
    if (group.arity == 2 && add_shared(energy, group, g, cell)) continue;
    for (std::int64_t m = 0; m < group.count; ++m) {
      const double* table = group.scores(m);
      const double scale = group.scale_of(m);
      const std::int32_t* v = group.variables(m);
      double cost[8];
      for (int i = 0; i < cells; ++i) cost[i] = cell[i] < 0 ? infinite : -table[cell[i]] * scale;
      if (group.arity == 1) {
        energy.add_unary(v[0], cost[0], cost[1]);
      } else if (group.arity == 2) {
        if (energy.add_table(v[0], v[1], cost[0], cost[1], cost[2], cost[3]))
          energy.origin.push_back(origin_of(g, m));
      } else if (!add_cubic(energy, v, cost, origin_of(g, m))) {
        return {Fault::forbids, g, m};
      }
    }
  }
  return {};
}

}  // namespace crfkit
