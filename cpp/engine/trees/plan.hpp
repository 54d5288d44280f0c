// Charts as rows of cells: what each is made of, in an order in which cells follow their parts.
//
// The value of a cell is the sum over pairs of left * right.  Leaves have the scores of the parts
// of the structure.  Sums, maxima, lists of the best and draws know only this (chart.hpp), whatever
// the structure is.  Cells with pairs at the same distances are a row, whose cells and pairs lie
// side by side: they are the lanes of vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/charts.hpp"

namespace crfkit {

// What the scores of a sentence, [rows, columns, kinds], mean.
enum class TreeShape {
  projective,              // [head, dependent]; roots on the diagonal; Eisner (1996)
  projective_single_root,  // only one of the words depends on the root
  spanning,                // trees that may cross: no chart (spanning.hpp)
  spanning_single_root,
  binary,    // [first, last] words of a span; binary trees of all words; CKY
  alignment  // [row, column, kind]: 0 from the column before, 1 from both, 2 from the row before
};

struct ChartLeaf {
  std::int32_t place, part;  // whose score it has, in the scores of the sentence
};

struct ChartPlan {
  std::vector<ChartRow> rows;
  std::vector<ChartTerm> terms;
  std::vector<ChartLeaf> leaves;
  std::vector<std::int32_t> ones;          // places that hold 1, the score 0
  std::vector<std::int32_t> row_of, part;  // [places] or -1
  std::int32_t goal = 0;                   // the place of the whole structure

  // Makes the plan; returns false if it is the one that there is.
  bool make(TreeShape shape, std::int64_t height, std::int64_t width, std::int64_t stride);
  std::int64_t places() const { return static_cast<std::int64_t>(part.size()); }

 private:
  void projective(std::int32_t words, bool single_root);
  void binary(std::int32_t words);
  void alignment(std::int32_t n, std::int32_t m);
  void resize(std::int64_t places);
  void leaf(std::int32_t place, std::int64_t part);
  // Starts a row; pairs follow.
  void row(std::int32_t place, std::int32_t lanes);
  void pair(std::int32_t left, std::int32_t right);

  TreeShape shape_ = TreeShape::projective;
  std::int64_t height_ = -1, width_ = -1, stride_ = -1;
};

}  // namespace crfkit
