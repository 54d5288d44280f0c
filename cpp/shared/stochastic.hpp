// Stochastic training: what the binding and the kernels share (sgd.hpp).
#pragma once

#include "shared/learned.hpp"

namespace crfkit {

enum class Rule {
  decayed,     // stochastic gradient; L2 by one scale for all weights
  cumulative,  // stochastic gradient; L1 by clipping what is due
  adaptive     // a rate of its own for each weight; L1 and L2 by proximal steps
};

// Weights are stored divided by `scale` under the decayed rule.  Memory is the L1 received under
// the cumulative rule, sums of squares under the adaptive one.
struct Stochastic : Learned {
  Rule rule;
  Live gradient;                       // adaptive: of one sequence, 0 between sequences
  std::int64_t *row_time, *cell_time;  // adaptive: steps that a row has seen; [rows], [cells]
  const double* share;                 // [N] weights of the sequences, or null
  double l1, l2, small_l1, small_l2;   // of one step
  double offset;                       // adaptive: added to the root of the sum of squares
  double due, small_due;               // cumulative: L1 that every weight should have received
  double scale;
  double rate;        // of the last step; adaptive: of all steps of a pass
  std::int64_t time;  // steps since the pass began
};

}  // namespace crfkit
