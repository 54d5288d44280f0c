// Visits of variables, maxima: what the engine hands to the kernels of TRW-S, of dual ascent on
// forests and of ICM.
//
// Variables are numbered as they are visited: level by level, where variables of one level have no
// factor in common.  Rows of labels are padded to whole vectors with -inf.
//
// A factor f and its variables i share scores: what i has given to f is given_f_i(x), so that
//   score of f now = table_f + sum over i of given_f_i
//   score of i now = own_i - sum over f of given_f_i
// and their sum, the score of a labeling, stays what it was.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

struct VisitGroup {
  FactorGroup factors;           // scope: numbers of visits
  const std::int64_t* row;       // [a] where the row of a place begins among those of a factor
  bool each;                     // whether factor m has the lines and scores of table m
  const double* lines;           // tables of pairs, two for each: rows by the other label, padded,
                                 // of the second variable and of the first; null: use the table
  const std::int64_t* lines_at;  // [2] where those of the first and of the second place begin
  std::int64_t lines_size;       // of both
  const double* equal;           // Potts: [tables, padded row] scores of equal labels; null: not
  const double* unequal;         // [tables] score of unequal ones, not above those of equal ones
  const double* ramp;            // [tables, 3] scores base - min(slope |x - y|, cap); null: not
};

struct VisitEntry {
  std::int32_t group, axis;
  std::int64_t factor;
  std::int64_t given;  // where the rows of the factor begin in Visits::given
};

struct Visits {
  const std::int64_t* row;    // [V + 1] where the row of a variable begins
  const std::int32_t* width;  // [V] labels
  const double* own;          // rows: sum of the factors of one variable
  double* left;               // rows: own, and -inf where a label was found to be impossible
  double* shift;              // [V] what was taken from a row, so that its largest score is 0
  const std::int64_t* ptr;    // [V + 1] entries of a variable
  const VisitEntry* entry;    // factors of two variables and more
  const VisitGroup* group;
  double* given;
  std::int32_t* label;  // [V]
};

struct VisitPass {
  const std::uint8_t* active;  // [V]
  const std::uint8_t* pull;    // [entries] whether the variable takes what the factor has
  const double* push;          // [entries] which share of its score it gives to the factor
  bool label;                  // choose labels: variables with lower numbers have them
};

struct VisitKernels {
  int lanes;  // doubles of a vector
  // Visits variables [first, last) of one level; `scratch` has room for the rows of the entries of
  // one variable, and three more.
  void (*pass)(const Visits&, const VisitPass&, std::int64_t first, std::int64_t last,
               double* scratch);
  // Gives each variable of [first, last) the label that is best given all others; ties keep the
  // label.  A forbidden factor weighs more than all scores.  Returns how many changed.
  std::int64_t (*improve)(const Visits&, const std::uint8_t* active, std::int64_t first,
                          std::int64_t last, double* scratch);
};

namespace baseline {
extern const VisitKernels visits;
}
namespace avx2 {
extern const VisitKernels visits;
}
namespace avx512 {
extern const VisitKernels visits;
}

}  // namespace crfkit
