// Which tables are multiplied with which: leaves are joined two at a time, until one is left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace crfkit {

using Scopes = std::vector<std::vector<std::int32_t>>;  // variables of each table, sorted

// Join j makes table `leaves + j` of two tables that were made before.
using Joins = std::vector<std::pair<std::int32_t, std::int32_t>>;

namespace elimination {

inline std::vector<std::int32_t> together(const std::vector<std::int32_t>& a,
                                          const std::vector<std::int32_t>& b) {
  std::vector<std::int32_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace elimination

// The joins that an order of elimination means: for one variable after the other all tables that
// have it, smallest products first.
Joins joins_of(const std::vector<std::int32_t>& width, const Scopes& leaves,
               const std::vector<std::int32_t>& order);

// The variables that each table keeps: those that tables outside of its subtree have as well.
// Leaves lose variables that nobody else has.
Scopes kept_variables(std::size_t variables, const Scopes& leaves, const Joins& joins);

}  // namespace crfkit
