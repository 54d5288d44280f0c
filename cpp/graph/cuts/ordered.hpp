// Labels in an order as binary variables z_k = [y > k]: Ishikawa (2003), Schlesinger & Flach
// (2006).
//
// A table of two variables whose second differences
//   w_kl = t(k, l+1) + t(k+1, l) - t(k, l) - t(k+1, l+1)
// of costs are not negative (convex functions of y - y' are such) is the sum of its first row and
// column, less w_kl z_k z'_l: a cut finds the minimum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/checks.hpp"
#include "graph/cuts/pairwise.hpp"

namespace crfkit {

struct OrderedEnergy {
  BinaryEnergy energy;
  Fault fault;

  explicit OrderedEnergy(const Factors& f) : f_(f) {
    Pairwise costs(f);
    fault = costs.fault;
    if (fault.why != Fault::none) return;
    energy.clear(f.graphs);
    for (std::int64_t v = 0; v < f.variables; ++v)
      for (std::int32_t k = 0; k + 1 < f.width[v]; ++k) energy.add_variable(f.graph[v]);
    add_pairs(costs);
    if (fault.why == Fault::none) add_variables(costs);
  }

  // Labels of the factors' variables, given those of the binary ones.
  std::vector<std::int32_t> labels(const std::vector<std::int8_t>& z) const {
    std::vector<std::int32_t> label(f_.variables);
    for (std::int64_t v = 0; v < f_.variables; ++v)
      for (std::int32_t k = 0; k + 1 < f_.width[v]; ++k) label[v] += z[first(v) + k] == 1;
    return label;
  }

 private:
  std::int32_t first(std::int64_t v) const {
    return static_cast<std::int32_t>(f_.label_ptr[v] - v);
  }

  struct Bend {
    std::int32_t k, l;
    double w;
  };

  // The second differences of a table that are not 0; whether none is negative.
  static bool bends(const double* scores, std::int32_t rows, std::int32_t columns,
                    std::vector<Bend>& found) {
    found.clear();
    double size = 0.0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows) * columns; ++i) {
      if (scores[i] == -infinite) return false;
      size = std::max(size, std::abs(scores[i]));
    }
    const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * size;
    for (std::int32_t k = 0; k + 1 < rows; ++k)
      for (std::int32_t l = 0; l + 1 < columns; ++l) {
        const double* at = scores + static_cast<std::int64_t>(k) * columns + l;
        const double w = (at[0] - at[1]) - (at[columns] - at[columns + 1]);
        if (w < -rounding) return false;
        if (w > rounding) found.push_back({k, l, w});
      }
    return true;
  }

  void add_pairs(Pairwise& costs) {
    std::vector<Bend> found;
    const double* last = nullptr;
    for (const LabelPair& pair : costs.pairs) {
      const std::int32_t rows = f_.width[pair.u], columns = pair.columns;
      if (pair.scores != last && !bends(pair.scores, rows, columns, found)) {
        fault = {Fault::order, pair.group, pair.factor};
        return;
      }
      last = pair.scores;
      if (energy.pairs.size() + found.size() > (std::size_t{1} << 28))
        refuse("the ordered cut needs more than 2^28 arcs; use method=Expansion()");
      double *of_u = costs.unary.data() + f_.label_ptr[pair.u],
             *of_v = costs.unary.data() + f_.label_ptr[pair.v];
      for (std::int32_t i = 0; i < rows; ++i) of_u[i] += pair.cost(i, 0);
      for (std::int32_t j = 0; j < columns; ++j) of_v[j] += pair.cost(0, j) - pair.cost(0, 0);
      for (const Bend& b : found)
        energy.add_table(first(pair.u) + b.k, first(pair.v) + b.l, 0.0, 0.0, 0.0,
                         -pair.scale * b.w);
    }
  }

  void add_variables(Pairwise& costs) {
    for (std::int64_t v = 0; v < f_.variables; ++v) {
      const double* cost = costs.unary.data() + f_.label_ptr[v];
      const std::int32_t L = f_.width[v], z = first(v);
      double before = 0.0;  // cost of the allowed label before, which stands in for forbidden ones
      for (std::int32_t y = 0; y < L; ++y) {
        const double here = cost[y] == infinite ? before : cost[y];
        if (y == 0)
          energy.base[f_.graph[v]] += here;
        else
          energy.slope[z + y - 1] += here - before;
        if (y == 0 && L > 1 && cost[y] == infinite) energy.banned[z] |= 1;
        if (y > 0 && y + 1 == L && cost[y] == infinite) energy.banned[z + y - 1] |= 2;
        if (y > 0 && y + 1 < L) {
          energy.pairs.push_back(
              {z + y - 1, z + y, infinite, cost[y] == infinite ? infinite : 0.0});
          energy.hard = true;
        }
        before = here;
      }
    }
  }

  const Factors& f_;
};

}  // namespace crfkit
