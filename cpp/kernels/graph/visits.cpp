// Compiled once per instruction set: visits of variables, maxima.
#include "shared/visits.hpp"

namespace crfkit::CRFKIT_ARCH {

const VisitKernels visits = {"visits"};

}  // namespace crfkit::CRFKIT_ARCH
