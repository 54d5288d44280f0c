// Factors of one or two variables by variable: costs (scores negated) of labels, and pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/cuts/binary_factors.hpp"
#include "shared/factors.hpp"

namespace crfkit {

struct LabelPair {
  std::int32_t u, v;
  std::int32_t group, columns;
  std::int64_t factor;
  const double* scores;  // [labels of u, columns]
  double scale;

  double cost(std::int32_t x, std::int32_t y) const {
    return -scale * scores[static_cast<std::int64_t>(x) * columns + y];
  }
};

struct Pairwise {
  Fault fault;
  std::vector<double> unary;  // [label_ptr[V]]
  std::vector<LabelPair> pairs;

  explicit Pairwise(const Factors& f) : unary(f.label_ptr[f.variables]) {
    for (std::int64_t g = 0; g < f.groups; ++g) {
      const FactorGroup& group = f.group[g];
      if (group.arity > 2 && group.count > 0) {
        fault = {Fault::arity, g, 0};
        return;
      }
      for (std::int64_t m = 0; m < group.count; ++m) {
        const std::int32_t* v = group.variables(m);
        const double* scores = group.scores(m);
        if (group.arity == 1) {
          for (std::int64_t x = 0; x < group.cells; ++x)
            unary[f.label_ptr[v[0]] + x] -= group.scale_of(m) * scores[x];
        } else {
          pairs.push_back({v[0], v[1], static_cast<std::int32_t>(g), group.shape[1], m, scores,
                           group.scale_of(m)});
        }
      }
    }
  }
};

}  // namespace crfkit
