// Scores of given labelings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "shared/factors.hpp"

namespace crfkit {

// Scores of labelings [R, V] of all graphs, [R, N].
inline std::vector<double> scores_of_labelings(const Factors& f, Integers label, std::int64_t R) {
  const std::int64_t V = f.variables, N = f.graphs;
  if (R < 0) refuse("rows is " + text(R) + ", expected 0 or more");
  check_length("label", label.size(), R * V);
  std::vector<double> score(R * N), sum(N);
  for (std::int64_t r = 0; r < R; ++r) {
    const std::int32_t* row = label.data() + r * V;
    double* out = score.data() + r * N;
    for (std::int64_t v = 0; v < V; ++v)
      if (row[v] < 0 || row[v] >= f.width[v])
        refuse("variable " + text(v) + " has label " + text(row[v]) + ", expected 0 to " +
               text(f.width[v] - 1));
    std::copy(f.constant, f.constant + N, out);
    for (std::int64_t g = 0; g < f.groups; ++g) {
      const FactorGroup& group = f.group[g];
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::int64_t m = 0; m < group.count; ++m) {
        const std::int32_t* v = group.variables(m);
        std::int64_t cell = 0;
        for (int i = 0; i < group.arity; ++i) cell = cell * group.shape[i] + row[v[i]];
        sum[f.graph[v[0]]] += group.scores(m)[cell] * group.scale_of(m);
      }
      for (std::int64_t n = 0; n < N; ++n) out[n] += sum[n];
    }
  }
  return score;
}

}  // namespace crfkit
