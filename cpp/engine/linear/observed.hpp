// Which columns each attribute is seen with: the weights that a layout of observed pairs has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/kept.hpp"
#include "engine/linear/transpose.hpp"

namespace crfkit {

// Rows of columns by attribute.
struct SeenPairs {
  std::vector<std::int64_t> ptr;
  std::vector<std::int32_t> column;
};

// Which columns each attribute is seen with often enough.  cell[p] is the column of position p, or
// -1; without `weight` occurrences are counted, with it weight[p] * value is added up.  Finds the
// row pointers, or with `ptr` the columns of rows that have them.
SeenPairs observed(const Transpose& t, Integers cell, const std::optional<KeptReals>& weight,
                   int width, double minimum, const std::optional<KeptPointers>& ptr, int threads);

// The same where once is often enough, in one walk over the positions: a bit for each pair.
SeenPairs seen_pairs(Pointers ptr, Integers attr, Integers cell, std::int64_t attributes, int width,
                     int threads);

}  // namespace crfkit
