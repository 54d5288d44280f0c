// Charts as lists of cells: what each is made of, in an order in which cells follow their parts.
//
// The value of a cell is the sum over pairs, left[i] * right[i]; a cell of one pair may have a part
// of the structure, whose score is a factor.  Sums, maxima, lists of the best and draws know only
// this (chart.hpp), whatever the structure is.  Cells that are the left of some pairs and the right
// of others are kept twice, so that all pairs of a cell lie side by side.
#pragma once

#include <cstdint>
#include <vector>

namespace crfkit {

// What `shape` of the scores of a sentence, [rows, columns, kinds], means.
enum class TreeShape {
  projective,              // [head, dependent]; roots on the diagonal; Eisner (1996)
  projective_single_root,  // only one of the words depends on the root
  spanning,                // trees that may cross: no chart (spanning.hpp)
  spanning_single_root,
  binary,    // [first, last] words of a span; binary trees of all words; CKY
  alignment  // [row, column, kind]: 0 from the column before, 1 from both, 2 from the row before
};

struct ChartCell {
  std::int32_t left, right, count;  // pairs (left + i, right + i) of places
  std::int32_t place, twin;         // where the value is kept; twin: -1 where it is kept once
  std::int32_t part;                // whose score it has, in the scores of the sentence; -1: none
};

struct ChartPlan {
  TreeShape shape = TreeShape::projective;
  std::int64_t rows = -1, columns = -1, stride = -1;  // of the sentence; of a row of its scores

  std::vector<ChartCell> cells;
  std::vector<std::int32_t> owner;  // [places] the cell that is kept there, or -1
  std::vector<std::int32_t> ones;   // places that hold 1, the score 0
  std::int32_t goal = 0;            // the place of the whole structure

  // Makes the plan unless it is the one that there is.
  void make(TreeShape of, std::int64_t rows, std::int64_t columns, std::int64_t stride);
  std::int64_t places() const { return static_cast<std::int64_t>(owner.size()); }

 private:
  void projective(std::int32_t words, bool single_root);
  void binary(std::int32_t words);
  void alignment(std::int32_t n, std::int32_t m);
  void add(ChartCell cell);
};

}  // namespace crfkit
