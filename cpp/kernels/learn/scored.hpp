// One sequence scored with live weights, as a chain that the sweeps take.
#pragma once

#include "kernels/linear/live_rows.hpp"
#include "shared/learned.hpp"

namespace crfkit::CRFKIT_ARCH {

// Scores of positions [first, last) into node[T * L + kPad].
inline void score_positions(const Live& w, double scale, std::int64_t first, std::int64_t last,
                            double* node) {
  const LiveScorer scorer(w, 0.0, scale, last);
  for (std::int64_t p = first; p < last; ++p) scorer.position(p, node + (p - first) * w.labels);
}

// Scores of transitions, start and stop into table[(L + 2) * L]: -inf where they are forbidden.
inline void score_small(const Learned& s, double* table) {
  const int L = s.weight.labels, step = s.weight.step;
  for (int i = 0; i < L + 2; ++i) {
    for (int j = 0; j < L; ++j) {
      const double barred = s.forbidden ? s.forbidden[i * L + j] : 0.0;
      table[i * L + j] = s.small[static_cast<std::int64_t>(i) * step + j] + barred;
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

inline Problem chain_of(int labels, const std::int64_t* seq_ptr, const double* node,
                        const double* table) {
  Problem p = {};
  p.shape = Shape::chain;
  p.sequences = 1;
  p.seq_ptr = seq_ptr;
  p.labels = labels;
  p.order = 1;
  p.node = node;
  p.edge[0] = table;
  p.start = table + labels * labels;
  p.stop = p.start + labels;
  return p;
}

}  // namespace crfkit::CRFKIT_ARCH
