// Factors of variables with one or two labels as an energy of binary variables.
//
// A cubic term a x y z becomes pairs with one more variable w, Kolmogorov & Zabih (2004):
//   a < 0: a x y z = min_w a w (x + y + z - 2);   a > 0: the same for complements, of which
//   -a (1-x)(1-y)(1-z) has the cubic term a x y z.
// If the factor is submodular, so are all pairs, in sum.
#pragma once

#include <cstdint>

#include "graph/cuts/binary_energy.hpp"
#include "shared/factors.hpp"

namespace crfkit {

// The factor that a method cannot handle; group -1: there is none.
struct Fault {
  enum Why : int { none, labels, arity, forbids, sign, order };
  Why why = none;
  std::int64_t group = -1, factor = -1;
};

// The variables of the factors come first, in their order; costs are scores negated.
Fault binary_energy_of(const Factors& f, BinaryEnergy& energy);

}  // namespace crfkit
