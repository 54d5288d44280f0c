// One sequence scored with live weights, as a chain that the sweeps take.
#pragma once

#include "kernels/learn/ngrams.hpp"
#include "kernels/linear/live_rows.hpp"
#include "shared/learned.hpp"

namespace crfkit::CRFKIT_ARCH {

// Scores of positions [first, last) into node[T * L + kPad].
inline void score_positions(const Live& w, double scale, std::int64_t first, std::int64_t last,
                            double* node) {
  const LiveScorer scorer(w, 0.0, scale, last);
  for (std::int64_t p = first; p < last; ++p) scorer.position(p, node + (p - first) * w.labels);
}

// Scores of tables, start and stop into table[(tables + 2) * L]: -inf where they are forbidden.
inline void score_small(const Learned& s, double* table) {
  const int L = s.node.weight.labels, step = s.node.weight.step;
  for (std::int64_t i = 0; i < s.tables + 2; ++i) {
    for (int j = 0; j < L; ++j) {
      const double barred = s.forbidden ? s.forbidden[i * L + j] : 0.0;
      table[i * L + j] = s.small[i * step + j] + barred;
    }
  }
  add_up_scores(table, L, s.order);
}

// Scores of the steps into positions [first + 1, last), with those of the table [L * L] of all
// steps, into steps[T * L * L + kPad]; the first position has none.
inline void score_steps(const Live& edge, double scale, std::int64_t first, std::int64_t last,
                        const double* table, double* steps) {
  const LiveScorer scorer(edge, 0.0, scale, last);
  const int cells = edge.labels;
  for (int k = 0; k < cells; ++k) steps[k] = 0.0;
  for (std::int64_t p = first + 1; p < last; ++p) {
    double* out = steps + (p - first) * cells;
    scorer.position(p, out);
    for (int k = 0; k < cells; k += W) {
      const int part = cells - k;
      store_part(out + k, part, load_part(out + k, part, 0.0) + load_part(table + k, part, 0.0));
    }
  }
}

// 0, or nan when some of n numbers are not finite.
inline double finite(const double* x, std::int64_t n) {
  Vec sum = {};
  for (std::int64_t k = 0; k < n; k += W)
    sum += 0.0 * load_part(x + k, n - k < W ? static_cast<int>(n - k) : W, 0.0);
  return sum_of(sum);
}

// One chain with scores of tables, start and stop; with edge attributes, `steps` take the place of
// the table.
inline Problem chain_of(const Learned& s, const std::int64_t* seq_ptr, const double* node,
                        const double* table, const double* steps) {
  const int L = s.node.weight.labels;
  Problem p = {};
  p.shape = Shape::chain;
  p.sequences = 1;
  p.seq_ptr = seq_ptr;
  p.labels = L;
  p.order = s.order;
  p.node = node;
  point_at(table, p);
  if (s.edges) {
    p.edge[0] = steps;
    p.edge_step = static_cast<std::int64_t>(L) * L;
  }
  p.start = table + s.tables * L;
  p.stop = p.start + L;
  return p;
}

// Calls f(h, row of the tables) for the label n-grams of h + 1 labels that end at position t of a
// path.
template <class F>
inline void each_ngram(const Learned& s, const std::int32_t* path, std::int64_t t, F f) {
  std::int64_t begin = 0, row = 0, rows = 1;
  for (int h = 1; h <= s.order && h <= t; ++h) {
    row += rows * path[t - h];
    f(h, begin + row);
    rows *= s.node.weight.labels;
    begin += rows;
  }
}

}  // namespace crfkit::CRFKIT_ARCH
