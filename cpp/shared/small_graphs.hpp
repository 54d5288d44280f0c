// Many small graphs of one pattern, swept together: a graph is a lane of the vectors.
//
// The program of a pattern eliminates one variable after the other.  Tables lie one after the other
// in one piece of memory [cells, kSmallLanes]; places count cells from its beginning.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

inline constexpr int kSmallLanes = 8;  // graphs that are swept together

// out[c] = left[left_at[c]] right[right_at[c]].  Lists of cells count doubles, not cells.
//
// Most products grow: left and right have only the step's variable in common, which is the fastest
// of left, and out = [fresh, left], where right_at has [fresh, width] cells and left needs no list.
struct SmallProduct {
  std::int32_t out, cells;
  std::int32_t fresh;               // cells of the new variables; 0: a general product
  std::int32_t left, left_cells;    // left == out: multiplied in place
  std::int32_t right, right_cells;  // right < 0: a copy of left
  std::int32_t left_at, right_at;   // where they begin in the program's lists
  std::int32_t left_from;           // [left_cells, cells / left_cells] cells of out, in the lists
  std::int32_t right_from;          // the same of the right table
};

// A variable is summed out of the product of all tables that have it: message = sum_label product.
struct SmallStep {
  std::int32_t variable, width;
  std::int32_t product;                  // place of [rest, width] cells
  std::int32_t message, rest;            // place of [rest] cells; rest is 1 in the last step
  std::int32_t first_product, products;  // that make it
  std::int32_t first_operand, operands;  // tables that are multiplied
  std::int32_t around, arounds;  // in the lists: [arounds] variables of rest, [arounds] strides
  std::int32_t own, own_count, own_from;  // a table with the variable, and [width, own_count] cells
  double log_width;
};

struct SmallOperand {
  std::int32_t table;  // input, or inputs + the step whose message it is
  bool wider;          // has other variables than that of the step
};

struct SmallInput {
  std::int32_t group;  // of the factor; below 0: a table of ones
  std::int32_t place, cells;
};

struct SmallProgram {
  std::int32_t variables, inputs, steps;
  std::int32_t cells;  // of memory
  const SmallInput* input;
  const SmallStep* step;
  const SmallProduct* product;
  const SmallOperand* operand;
  const std::int32_t* list;
};

// Components of one pattern, kSmallLanes of them at the most.
struct SmallBlock {
  const std::int32_t* const* factor;    // [count] -> factors of the inputs, within their groups
  const std::int32_t* const* variable;  // [count] -> [variables]
  int count;
};

struct SmallSums {
  bool logs;              // in logarithms: for any range of scores
  double* value;          // [count] log Z without the constant
  double* node;           // marginals by the flat labels of all variables; null: only log Z
  double* const* clique;  // [groups] -> [M, cells] marginals of factors; null: not wanted
};

struct SmallGraphKernels {
  // Memory of one call, in doubles.
  std::int64_t (*memory)(const SmallProgram&);
  // Bits of the components whose range of scores is too large for scaled sums: they get no answer.
  unsigned (*sums)(const Factors&, const SmallProgram&, const SmallBlock&, const SmallSums&,
                   double* memory);
  // Scores of best labelings without the constant; -inf: none, and labels -1.
  void (*best)(const Factors&, const SmallProgram&, const SmallBlock&, double* value,
               std::int32_t* label, double* memory);
};

namespace baseline {
extern const SmallGraphKernels small_graphs;
}
namespace avx2 {
extern const SmallGraphKernels small_graphs;
}
namespace avx512 {
extern const SmallGraphKernels small_graphs;
}

}  // namespace crfkit
