// Stochastic training: plain structs that the binding and the kernels share (sgd.hpp).
#pragma once

#include <cstdint>

#include "live.hpp"

namespace crfkit {

enum class Rule {
  decayed,     // stochastic gradient; L2 by one scale for all weights
  cumulative,  // stochastic gradient; L1 by clipping what is due
  adaptive     // a rate of its own for each weight; L1 and L2 by proximal steps
};

// Weights, and what a rule remembers of each, in the same places of tables of the same form.  Small
// tables hold transitions, start and stop: [(L + 2) * step].
struct Stochastic {
  Rule rule;
  Live weight;                         // decayed: times `scale`
  Live memory;                         // cumulative: L1 received; adaptive: sums of squares
  Live gradient;                       // adaptive: of one sequence, 0 between sequences
  std::int64_t rows, cells;            // of these tables
  std::int64_t *row_time, *cell_time;  // adaptive: steps that a row has seen; [rows], [cells]
  double *small, *small_memory;
  const double* exists;     // [(L + 2) * step] 1 where there is a weight
  const double* forbidden;  // [L + 2, L] 0 or -inf for transitions, start, stop; or null
  const std::int64_t* seq_ptr;
  const std::int32_t* label;          // [P]
  const double* share;                // [N] weights of the sequences, or null
  double l1, l2, small_l1, small_l2;  // of one step
  double offset;                      // adaptive: added to the root of the sum of squares
  double due, small_due;              // cumulative: L1 that every weight should have received
  double scale;
  double rate;        // of the last step; adaptive: of all steps of a pass
  std::int64_t time;  // steps since the pass began
};

}  // namespace crfkit
