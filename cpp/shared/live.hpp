// Weights that change while they are read, for online training: plain structs that the binding and
// the kernels share.
//
// A batch is compiled once into entries: for every position the rows of weights that its attributes
// have, cut into shards by attribute so that threads can update disjoint rows.  Rows with more than
// a few weights are padded and lie in a table, where labels without a weight hold kNoWeight; the
// others are short lists of cells.  An attribute that only one position has needs no row at all:
// under penalized likelihood its weights follow from the marginals of that position.
#pragma once

#include <cstdint>

#include "shared/problem.hpp"

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
  double* transition;          // [L, step], then [D, step] for the lengths of segments
  const double* steps;         // the same: 1 where there is a weight, else 0
  double *start, *stop;        // [step], or null
  const double* forbidden;     // shaped as transition: 0 or -inf, or null
  const double* forbidden_at;  // [2, step] the same for start and stop
};

using Live = LiveOf<double>;

// What the rows of a sequence of T positions stand for where it is cut into segments: its T
// positions, which every segment adds up; T begins and T ends of segments, where these have
// attributes; then the single segments that have attributes.
struct Segmentation {
  const std::int64_t* position_ptr;  // [N + 1] positions of each sequence
  const std::int32_t* place;         // of each row of a segment: first position * D + length - 1
  int longest;                       // D
  bool begins, ends;                 // whether there are such rows

  std::int64_t positions(std::int64_t n) const { return position_ptr[n + 1] - position_ptr[n]; }
  int kinds() const { return 1 + static_cast<int>(begins) + static_cast<int>(ends); }
};

// Dual training: w = soft(v, l1) / l2, where v = sum over sequences of weight * (gold - marginals).
// A chain has a row of marginals for each of its P positions, segments have more (Segmentation).
struct Dual {
  LiveOf<float> live;            // v
  const Segmentation* segments;  // null for chains
  int order;                     // of chains, k
  int tables;         // rows of the tables that all places share: L + ... + L^k, or L + D
  std::int64_t kept;  // K numbers of the tables that each sequence has, and `live.transition`,
                      // `live.steps`: tables * step, or the cells with weights, padded
  const std::int32_t* cell;     // [cells] which of [tables, step] they are; null: all
  std::int64_t cells;           // without padding, where they are listed
  const Pairs* pairs;           // steps that have weights or are forbidden; null: any step may
  const std::int32_t* pair;     // [cells] which of the pairs they are
  const std::int64_t* seq_ptr;  // [N + 1] rows of each sequence
  const std::int32_t* label;    // [P] gold of each row, -1 for one that the gold does not have
  const double* weight;         // [N] of sequences, or null
  float* node;                  // [P, step] marginals of each sequence's distribution
  float* edge;                  // [N, K] sums of the marginals of transitions (lengths)
  double* entropy;              // [N] a lower bound of its entropy; exact for exponentiated steps
  double* curvature;            // [N] true over estimated |change of v|^2
  float* theta_node;            // [P, step] log-potentials: exponentiated steps only
  float* theta_edge;            // [N, K]
  double* rate;                 // [N] their step lengths
  double l1, l2, transition_l1, transition_l2;
  double relax;              // share of the best step that is taken
  double threshold;          // changes of marginals below it are left for later
  const double* given;       // [P, L] scores to be answered in full instead of those of w, or null
  const double* given_edge;  // [tables, L] with them
  const double* given_ends;  // [2, L] start and stop, or null
};

// One visit of one sequence.
struct Visit {
  std::int64_t sequence;
  const double *scores, *edge_scores;  // [T, step], [K] that the sweep was made with
  double* node;                        // [T, step] change of weight * (gold - marginals)
  double* edge;                        // [K]
  std::int32_t* active;                // rows that change
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

// Soft threshold: what is left of v after l1 is taken off its size.  Static: see padded.hpp.
static constexpr inline double soft(double v, double l1) {
  return v > l1 ? v - l1 : v < -l1 ? v + l1 : 0.0;
}

}  // namespace crfkit
