// A spanning forest along the factors that say most: what TreeEP approximates by.
//
// Factors of the same variables are added up first; variables with one label are left out.  An edge
// may join any two variables of a factor; its weight is their mutual information if that factor and
// the scores of its variables alone were all (Minka & Qi 2004, after Chow & Liu 1968).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shared/factors.hpp"

namespace crfkit {

// All factors of some variables.
struct Combined {
  std::vector<std::int32_t> scope;  // two or more, rising, of two labels or more each
  std::vector<double> table;        // the last variable fastest
};

class SpanningForest {
 public:
  const Factors& f;
  std::vector<double> own;                        // [labels] scores of variables alone
  std::vector<Combined> combined;                 // two variables or more
  std::vector<std::int64_t> loose;                // combined factors that are not edges
  std::vector<std::int32_t> order;                // [V] parents before children, tree by tree
  std::vector<std::int64_t> tree_ptr;             // [trees + 1]
  std::vector<std::int32_t> parent, depth, tree;  // [V]
  std::vector<std::vector<std::int32_t>> child;   // [V]
  std::vector<std::vector<double>> edge;          // [V] scores [labels of the parent, labels]

  explicit SpanningForest(const Factors& factors);

  // Cell of a combined table for the labels of a cell of a factor, or -1 if that has one variable.
  // `number`: of the combined factor; -1 and the variable where only one has two labels or more.
  std::pair<std::int64_t, std::int32_t> place(const FactorGroup& group, std::int64_t m,
                                              std::vector<std::int64_t>& step) const;

  // Calls use(cell of the factor, cell by `step`) for all cells.
  template <class Use>
  static void for_cells(const FactorGroup& group, const std::vector<std::int64_t>& step, Use use) {
    std::vector<std::int32_t> label(group.arity, 0);
    std::int64_t to = 0;
    for (std::int64_t c = 0; c < group.cells; ++c) {
      use(c, to);
      for (int a = group.arity; a-- > 0;) {
        to += step[a];
        if (++label[a] < group.shape[a]) break;
        to -= step[a] * group.shape[a];
        label[a] = 0;
      }
    }
  }

 private:
  void combine();

  // Mutual information of variables i < k of a combined factor.
  double information(const Combined& c, std::size_t i, std::size_t k) const;

  void span();

  std::map<std::vector<std::int32_t>, std::int64_t> number_;
};

}  // namespace crfkit
