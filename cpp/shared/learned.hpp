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

}  // namespace crfkit
