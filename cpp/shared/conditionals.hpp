// Softmaxes of single labels and of single factors: what the engine hands to the kernels of
// pseudo-likelihood and piecewise training.
//
// A variable whose label is -1 is hidden: it has no term, and neither have the factors that it is
// in.  The others have the labels that are given.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

// Every label given all others.
struct Conditionals {
  Factors factors;
  const std::int64_t* ptr;  // [V + 1] entries of a variable
  const Incident* entry;
  const std::int32_t* label;  // [V]
  const double* weight;       // [V] of the term of each variable
  double* share;              // [label_ptr[V]] gradient of the loss by the sum of a label's scores
};

enum class Terms {
  labels,   // of Conditionals: `share` is added to the cells that each label meets
  factors,  // a softmax over all cells of a factor
  each,     // a softmax over each label of a factor, given its others
};

// Factors of one group, by the tables that they take.
struct TableTerms {
  FactorGroup group;
  Terms terms;
  const std::int64_t* order;  // [M] factors, those with the same table in a row; null: 0 to M - 1
  const std::int32_t* label;  // [V]
  const double* weight;       // [V]
  const std::int64_t* label_ptr;  // [V + 1]
  const double* share;            // of Conditionals; null: other terms
  double* gradient;               // [tables, cells], added to

  std::int64_t factor(std::int64_t i) const { return order ? order[i] : i; }
  // Whether place i of the order goes on with the table of the place before.
  bool goes_on(std::int64_t i) const {
    return i > 0 && group.table_of(factor(i - 1)) == group.table_of(factor(i));
  }
};

struct ConditionalKernels {
  // The loss of the variables [first, last), whose shares are written; scratch: the labels of a
  // variable, and 8.
  double (*labels)(const Conditionals&, std::int64_t first, std::int64_t last, double* scratch);
  // The loss of the places [first, last) of the order (0 where terms are those of labels).  What
  // belongs to a table that goes on from before `first` is added to `head` [cells].  Scratch: the
  // cells of a table, and 8.
  double (*factors)(const TableTerms&, std::int64_t first, std::int64_t last, double* head,
                    double* scratch);
};

namespace baseline {
extern const ConditionalKernels conditionals;
}
namespace avx2 {
extern const ConditionalKernels conditionals;
}
namespace avx512 {
extern const ConditionalKernels conditionals;
}

}  // namespace crfkit
