// Compiled once per instruction set: messages along paths.
#include "shared/path_messages.hpp"

namespace crfkit::CRFKIT_ARCH {

const PathKernels path_messages = {"path_messages"};

}  // namespace crfkit::CRFKIT_ARCH
