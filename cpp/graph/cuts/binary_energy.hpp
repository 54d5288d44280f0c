// Energies of binary variables, to be minimized:
//
// E(x) = base_n + sum_v slope_v x_v + sum over pairs (u, v) of p [x_u = 0, x_v = 1] + q [x_u = 1,
// x_v = 0]
//
// with p, q >= 0.  A pair that would rather differ has the complement of v, which is written ~v.
// What is forbidden is a banned label, or an infinite p or q: there are no large numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace crfkit {

struct BinaryPair {
  std::int32_t u, v;  // v below 0: the complement of variable ~v
  double p, q;        // cost of 0 and 1, cost of 1 and 0
};

// A table of costs as base + du x + dv y + a pair.
struct SplitTable {
  double base, du, dv, p, q;
  bool differ;                      // the pair has the complement of y
  std::uint8_t banned_u, banned_v;  // bit x: label x is forbidden
};

constexpr double infinite = std::numeric_limits<double>::infinity();

// Costs of (0, 0), (0, 1), (1, 0), (1, 1).  Differences within the rounding of the costs count as
// 0.
SplitTable split(double a, double b, double c, double d);

struct BinaryEnergy {
  std::vector<double> slope;         // [n]
  std::vector<std::uint8_t> banned;  // [n] bit x: label x is forbidden
  std::vector<std::int32_t> graph;   // [n]
  std::vector<double> base;          // [graphs]
  std::vector<BinaryPair> pairs;
  std::vector<std::int64_t> origin;  // [pairs] where they come from; empty: nobody asks
  bool differ = false;               // whether any pair has a complement
  bool hard = false;                 // whether any p or q is infinite

  void clear(std::int64_t graphs);

  std::int32_t add_variable(std::int32_t of_graph);

  void add_unary(std::int32_t u, double cost0, double cost1);

  // Adds a table of two variables; whether it became a pair.
  bool add_table(std::int32_t u, std::int32_t v, double a, double b, double c, double d) {
    return add_split(u, v, split(a, b, c, d), 1.0);
  }

  // The same for `scale` times a table, which is finite unless the scale is 1.
  bool add_split(std::int32_t u, std::int32_t v, const SplitTable& s, double scale);

  // Adds pairs of the same variables up, so that those which pull both ways may agree in sum.
  void merge();
};

}  // namespace crfkit
