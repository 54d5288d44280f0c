// Max-margin sequence by sequence: what the engine and the kernels share (margin.hpp).
#pragma once

#include "shared/learned.hpp"

namespace crfkit {

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

}  // namespace crfkit
