// Stochastic training: what the binding and the kernels share (sgd.hpp).
#pragma once

#include "shared/learned.hpp"

namespace crfkit {

enum class Rule {
  decayed,     // stochastic gradient; L2 by one scale for all weights
  cumulative,  // stochastic gradient; L1 by clipping what is due
  adaptive     // a rate of its own for each weight; L1 and L2 by proximal steps
};

// The penalty of a group of weights: strengths of one step.
struct Strength {
  double l1, l2;
  double due;  // cumulative: L1 that every weight should have received
};

// What a rule keeps of the rows of one kind of attributes.
struct RowSteps {
  Live gradient;                       // adaptive: of one sequence, 0 between sequences
  std::int64_t *row_time, *cell_time;  // adaptive: steps that a row has seen; [rows], [cells]
  double scale;                        // decayed: weights are stored divided by it
};

// Memory is the L1 received under the cumulative rule, sums of squares under the adaptive one.
struct Stochastic : Learned {
  Rule rule;
  RowSteps node_steps, edge_steps;
  const double* share;          // [N] weights of the sequences, or null
  Strength attributes, others;  // others: edge attributes, and tables that all places share
  double offset;                // adaptive: added to the root of the sum of squares
  double rate;                  // of the last step; adaptive: of all steps of a pass
  std::int64_t time;            // steps since the pass began
};

}  // namespace crfkit
