// Tables of label n-grams, one after the other: those of 2 labels, of 3, ..., of order + 1.
//
// The sweeps look at one table for each step: that of the last h + 1 labels holds the scores of all
// shorter n-grams that end there as well.  So scores are added up from the shorter ones to the
// longer ones, and gradients from the longer ones to the shorter ones.
#pragma once

#include "kernels/sweep/structure.hpp"

namespace crfkit::CRFKIT_ARCH {

// Calls f(rows before, rows before the shorter ones, rows of these) for the n-grams of h + 1 = 3,
// ..., order + 1 labels: row r of them ends as row r % (rows of the shorter ones) does.
template <class F>
inline void each_longer(int labels, int order, F f) {
  std::int64_t shorter = 0, rows = labels;
  for (int h = 2; h <= order; ++h) {
    f(shorter + rows, shorter, rows);
    shorter += rows;
    rows *= labels;
  }
}

// Scores [tables, L] of n-grams as the sweeps take them.
inline void add_up_scores(double* table, int labels, int order) {
  each_longer(labels, order, [&](std::int64_t at, std::int64_t shorter, std::int64_t rows) {
    for (int oldest = 0; oldest < labels; ++oldest)
      for (std::int64_t k = 0; k < rows * labels; ++k)
        table[(at + oldest * rows) * labels + k] += table[shorter * labels + k];
  });
}

// Points a problem at such scores.
inline void point_at(const double* table, Problem& p) {
  p.edge[0] = table;
  each_longer(p.labels, p.order, [&, h = 1](std::int64_t at, std::int64_t, std::int64_t) mutable {
    p.edge[h++] = table + at * p.labels;
  });
}

// Gradients [tables, step] of such scores as those of each n-gram.
inline void hand_back_gradients(double* gradient, int labels, int step, int order) {
  std::int64_t begin[kMaxOrder][3];
  int longer = 0;
  each_longer(labels, order, [&](std::int64_t at, std::int64_t shorter, std::int64_t rows) {
    begin[longer][0] = at, begin[longer][1] = shorter, begin[longer++][2] = rows;
  });
  while (longer-- > 0) {
    const auto [at, shorter, rows] = begin[longer];
    for (int oldest = 0; oldest < labels; ++oldest)
      for (std::int64_t k = 0; k < rows * step; k += W) {
        double* sum = gradient + shorter * step + k;
        store(sum, load(sum) + load(gradient + (at + oldest * rows) * step + k));
      }
  }
}

}  // namespace crfkit::CRFKIT_ARCH
