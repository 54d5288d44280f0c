// What can be left out before anything is summed: labels that no labeling can have.
//
// Generalized arc consistency on -inf: a label of a variable is dropped when every cell of some
// factor that agrees with it is forbidden, or has a dropped label; until nothing changes.  A
// variable with one label left is known, and is cut out of the graph.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "shared/factors.hpp"

namespace crfkit {

struct Reduction {
  std::vector<std::uint8_t> allowed;     // [labels]
  std::vector<std::int32_t> width;       // [V] how many labels are left
  std::vector<std::int64_t> at;          // [V + 1] where they begin in
  std::vector<std::int32_t> label;       // those that are left, of one variable after the other
  std::vector<std::uint8_t> impossible;  // [N] graphs in which a variable has no label left

  explicit Reduction(const Factors& f);

  std::int32_t label_of(std::int32_t variable, std::int32_t state) const {
    return label[at[variable] + state];
  }

 private:
  static double forbidden() { return -std::numeric_limits<double>::infinity(); }

  void propagate(const Factors& f, const std::vector<std::vector<std::uint8_t>>& forbids);

  // Which labels of each variable of a factor have an allowed cell, one variable after the other.
  void find_support(const Factors& f, const FactorGroup& group, std::int64_t m,
                    std::vector<std::uint8_t>& support) const;
};

}  // namespace crfkit
