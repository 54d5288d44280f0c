// Compiled once per instruction set: visits of variables, draws and mean field.
#include "shared/sampling.hpp"

namespace crfkit::CRFKIT_ARCH {

const SamplingKernels sampling = {"sampling"};

}  // namespace crfkit::CRFKIT_ARCH
