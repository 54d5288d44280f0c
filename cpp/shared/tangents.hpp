// Second derivatives of log Z of chains of order 1, along a direction.
#pragma once

#include <cstdint>

namespace crfkit {

// Arrays with the shapes of the scores of one sequence: a direction, or the Hessian times it.
// `edge` is [L, edge_row], or [T, L, L] with step L * L, whose entry t enters position t.
template <class Number>
struct ChainParts {
  Number *node, *start, *stop, *edge;
  std::int64_t edge_step;
  int edge_row;
};

struct Tangents {
  ChainParts<const double> along;
  ChainParts<double> made;  // weight * Hessian * direction: node and edges by position are stored,
                            // the others are added to
  double weight;
  double value, dot;  // log Z; <marginals, direction>
};

}  // namespace crfkit
