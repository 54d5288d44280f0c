// Compiled once per instruction set: many small graphs in lanes.
#include "shared/small_graphs.hpp"

namespace crfkit::CRFKIT_ARCH {

const SmallGraphKernels small_graphs = {"small_graphs"};

}  // namespace crfkit::CRFKIT_ARCH
