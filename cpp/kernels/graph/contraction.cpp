// Compiled once per instruction set: elimination: tables of many variables.
#include "shared/contraction.hpp"

namespace crfkit::CRFKIT_ARCH {

const ContractionKernels contraction = {"contraction"};

}  // namespace crfkit::CRFKIT_ARCH
