// Weights that change while they are read, for online training: plain structs that the binding and
// the kernels share.
//
// A batch is compiled once into entries: for every position the rows of weights that its attributes
// have, cut into shards by attribute so that threads can update disjoint rows.  Rows with more than
// a few weights are padded and lie in a table, where labels without a weight hold kNoWeight; the
// others are short lists of cells.  An attribute that only one position has needs no row at all:
// under penalised likelihood its weights follow from the marginals of that position.
#pragma once

#include <cstdint>

namespace crfkit {

// What stands in a padded row where a label has no weight.  No weight is ever -0: sums of finite
// numbers are -0 only when all of them are.
inline constexpr double kNoWeight = -0.0;

template <class Real>
struct CellOf {
  Real weight;
  std::int32_t column;
  std::int32_t last;  // 1 for the last cell of a row
};

// Real is double where weights are exact, float where they steer a search and speed is all.
template <class Real>
struct LiveOf {
  int labels, step;               // L, and padded to 8
  int shards;                     // K
  const std::int64_t* row_ptr;    // [P * K + 1] entries with rows of the table
  const std::uint32_t* row;       // row of each
  const double* row_value;        // value of each
  const std::int64_t* short_ptr;  // [P * K + 1] entries with cells
  const std::uint32_t* first;     // first cell of each
  const double* short_value;      // value of each
  bool values;                    // whether there are values; all are 1 without
  Real* table;                    // [rows, step]
  bool partial;                   // some labels have no weight in some rows: they hold kNoWeight
  CellOf<Real>* cell;
  const float* alone;          // [P] attributes that only this position has, or null
  bool alone_full;             // they have weights for all labels, not for the gold one only
  double* transition;          // [L, step]
  const double* steps;         // [L, step] 1 where a transition has a weight, else 0
  double *start, *stop;        // [step], or null
  const double* forbidden;     // [L, step] 0 or -inf for transitions, or null
  const double* forbidden_at;  // [2, step] the same for start and stop
};

using Live = LiveOf<double>;

// Dual training: w = soft(v, l1) / l2, where v = sum over sequences of weight * (gold - marginals).
struct Dual {
  LiveOf<float> live;  // v
  const std::int64_t* seq_ptr;
  const std::int32_t* label;  // [P]
  const double* weight;       // [N] of sequences, or null
  float* node;                // [P, step] marginals of each sequence's distribution
  float* edge;                // [N, L * step] sums of edge marginals
  double* entropy;            // [N] a lower bound of its entropy; exact for exponentiated steps
  double* curvature;          // [N] true over estimated |change of v|^2
  float* theta_node;          // [P, step] log-potentials: exponentiated steps only
  float* theta_edge;          // [N, L * step]
  double* rate;               // [N] their step lengths
  double l1, l2, transition_l1, transition_l2;
  double relax;              // share of the best step that is taken
  double threshold;          // changes of marginals below it are left for later
  const double* given;       // [P, L] scores to be answered in full instead of those of w, or null
  const double* given_edge;  // [L, L] with them
  const double* given_ends;  // [2, L] start and stop, or null
};

// One visit of one sequence.
struct Visit {
  std::int64_t sequence;
  const double *scores, *edge_scores;  // [T, L], [L, L] that the sweep was made with
  double* node;                        // [T, step] change of weight * (gold - marginals)
  double* edge;                        // [L, step]
  std::int32_t* active;                // positions that change
  std::int32_t actives;
  bool moved_first, moved_last;  // whether the first and the last position are among them
  double gamma;                  // step; 0 when nothing was to be gained
  double gap;                    // before the step
  double entropy, before;        // stored entropy after and before
  double slope;                  // entropy and scores: what a small step is worth less the gap
  double estimate;               // of |change of v|^2 / l2 for a full step
  double quadratic[8];           // change of |soft(v)|^2 / l2 by shard
  double alone;                  // the part of attributes without a row
  double change;                 // all parts together
  double revise;                 // factor by which the change has to be repeated, 0 if it stays
};

}  // namespace crfkit
