// Learning sequence by sequence: weights, what a method remembers of each, and the sequences; plain
// structs that the binding and the kernels share.
#pragma once

#include <cstdint>

#include "shared/live.hpp"

namespace crfkit {

// The weights of one kind of attributes, and what a method remembers of each of them.
struct LearnedRows {
  Live weight;
  Live memory;  // in the same places of tables of the same form; the weights where there is none
  std::int64_t rows, cells;  // of these tables

  // Whether a weight is one of these.
  bool has(const double* at) const {
    const CellOf<double>* cell = weight.cell;
    return (at >= weight.table && at < weight.table + rows * weight.step) ||
           (at >= &cell->weight && at < &cell[cells].weight);
  }
};

// The tables that all places share have a row for each label before (order k: each row of 1 to k
// labels before, fewer labels first, the oldest label first), then one for start and one for stop:
// [tables + 2, step].  The cells of edge attributes are steps, from * L + to: chains of order 1.
struct Learned {
  LearnedRows node, edge;
  bool edges;           // whether there are edge attributes
  int order;            // k
  std::int64_t tables;  // L + ... + L^k
  double *small, *small_memory;
  const double* exists;     // [tables + 2, step] 1 where there is a weight
  const double* forbidden;  // [tables + 2, L] 0 or -inf; or null
  const std::int64_t* seq_ptr;
  const std::int32_t* label;  // [P]
};

// ---- max-margin sequence by sequence (margin.hpp)

// Labelings of one sequence of T positions; the first is the gold.
struct WorkingSet {
  std::int32_t count, room;
  std::int32_t* path;  // [room, T]
  double* share;       // [room] they add up to 1
  double* cost;        // [room] wrong labels times the weight of the sequence
  double* gram;        // [room, room] products of the vectors, times 1 / l2
};

// Memory is the sum of k (k - 1) times the change of visit k.
struct Margins : Learned {
  const double* factor;           // [N] weights of the sequences, or null
  double inverse, small_inverse;  // 1 / l2 of attributes, and of all other weights
  WorkingSet* sets;               // [N]
  std::int64_t seen;              // the number of the visit to come, from 1 on
  bool learns;                    // else only gaps are found
};

// ---- the perceptron and the methods like it (perceptron.hpp)

enum class Remedy {
  perceptron,  // the whole difference
  passive,     // as much of it as the cost asks for
  confidence,  // each weight by its variance
  bounded      // as CRF++ does: the steps of a sequence have a bound together
};

// How far the gold labels must be above m wrong ones.
enum class Margin { one, root, errors };  // 1, sqrt(m), m

// Memory is the sum of `seen` times each update where weights are averaged; variances under the
// rule of confidence.
struct Mistakes : Learned {
  Remedy remedy;
  bool averaged;
  Margin margin;      // passive
  int kbest;          // passive: the number of best labelings that the gold is set apart from
  double most;        // passive: the longest step; bounded: the sum of a sequence's steps
  double slack;       // passive: added to the squared length of the difference
  double gamma;       // confidence: how little a variance shrinks
  std::int64_t seen;  // the number of the sequence to come, from 1 on
  double* spent;      // [N] bounded: the sum of the steps of each sequence
  double* right;      // [N] bounded: visits of each sequence since its last mistake
};

// ---- stochastic training (sgd.hpp)

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
