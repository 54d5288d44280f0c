// Rows of a sweep, the edges that enter them and the terms that multiply them (structure.hpp).
#pragma once

#include <cstdint>

#include "shared/problem.hpp"

namespace crfkit::CRFKIT_ARCH {

struct Row {
  std::int64_t cell;  // index of the first cell in the arrays of the sweep
  int blocks, n;      // sub-rows, labels in each
  int step;           // cells from one sub-row to the next

  std::int64_t cells() const { return static_cast<std::int64_t>(blocks) * step; }
  // The cell of source state s: n states to a sub-row.
  std::int64_t state(std::int64_t s) const { return s / n * step + s % n; }
};

enum class Kind { dense, diagonal, total };

struct InEdge {
  Kind kind;
  int source;  // row
  int n_in;    // dense: sources of each cell; cell (m, j) has sources a * blocks + m, a < n_in
  const double* score;  // dense: [n_in * blocks, n]; diagonal: [n]
  int table;            // dense: shared table whose prepared form may be used, or -1
  double* gradient;     // laid out like score, or null
  double* pooled;       // dense: rows padded, added up over positions, or null
  double* products;     // the same, without the factor exp(score)
  bool deferred;        // products are made after the sweep, for all rows at once (see PooledRows)
};

// Scores that multiply a row, and where their gradients go: the first term has a place of its own
// for each row, the gradients of the others (start, stop) are added up.
struct Terms {
  int count = 0;
  const double* score[3];
  double* gradient[3];
  bool own = false;  // gradient[0] is stored, not added to

  void add(const double* s, double* c) {
    if (!s) return;
    score[count] = s;
    gradient[count++] = c;
  }
  void add_own(const double* s, double* c) {
    own = true;
    add(s, c);
  }
};

// Row pairs whose shared table pools its gradients: source row + i * step feeds target row + i *
// step, i < count.
struct PooledRows {
  int source, target, step, count;
};

// Source number i of one cell of a row, and its score; cells relative to their rows.
struct Source {
  std::int64_t cell;
  double score;
};
inline Source source_of(const Row& row, const Row& source, const InEdge& edge, std::int64_t cell,
                        int i) {
  if (edge.kind == Kind::diagonal) return {cell, edge.score[cell]};
  if (edge.kind == Kind::total) return {source.state(i), 0.0};
  const std::int64_t s = static_cast<std::int64_t>(i) * row.blocks + cell / row.step;
  return {source.state(s), edge.score[s * row.n + cell % row.step]};
}

// Calls f(source cell, score) for every source of one cell of a row, in order.  A row without
// histories takes a way of its own: dividing would be most of the work.
template <class F>
inline void visit_sources(const Row& row, const Row& source, const InEdge& edge, std::int64_t cell,
                          F f) {
  if (edge.kind == Kind::diagonal) {
    f(cell, edge.score[cell]);
  } else if (edge.kind == Kind::total) {
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(source.blocks) * source.n; ++s)
      f(source.state(s), 0.0);
  } else if (row.blocks == 1 && source.blocks == 1) {
    for (int a = 0; a < edge.n_in; ++a)
      f(static_cast<std::int64_t>(a), edge.score[static_cast<std::int64_t>(a) * row.n + cell]);
  } else {
    const std::int64_t m = cell / row.step, j = cell % row.step;
    for (int a = 0; a < edge.n_in; ++a) {
      const std::int64_t s = static_cast<std::int64_t>(a) * row.blocks + m;
      f(source.state(s), edge.score[s * row.n + j]);
    }
  }
}

}  // namespace crfkit::CRFKIT_ARCH
