// Trees of variables such that all other factors meet a tree in one variable at the most.
//
// Factors of two variables are taken from the strongest to the weakest; one joins the trees of its
// two variables if no factor but those of the same two variables has variables in both.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/incidence.hpp"

namespace crfkit {

// Variables tree by tree, parents before children.
struct Grown {
  std::vector<std::int32_t> member;  // [V]
  std::vector<std::int32_t> above;   // [V] parent of each variable, or -1
  std::vector<std::int64_t> ptr;     // [trees + 1]

  static Grown singles(std::int64_t variables);
};

class InducedTrees {
 public:
  InducedTrees(const Factors& f, const Incidence& incidence);

  Grown grown();

 private:
  // How much tables of two variables differ from a sum of scores of one, [tables].
  static std::vector<double> strengths(const FactorGroup& group);

  std::int32_t tree(std::int32_t v);

  // The smaller tree is looked through for other factors: most trees that cannot be joined show
  // that soon.
  bool joined(std::int32_t u, std::int32_t v);

  const Factors& f_;
  const Incidence& incidence_;
  std::vector<std::int32_t> root_;
  std::vector<std::int64_t> ends_;                 // [V] of factors in a tree
  std::vector<std::vector<std::int32_t>> member_;  // [V] of a tree
};

}  // namespace crfkit
