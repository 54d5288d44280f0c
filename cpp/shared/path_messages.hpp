// Kernels of messages along paths.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

struct PathKernels {
  const char* name;
};

namespace baseline {
extern const PathKernels path_messages;
}
namespace avx2 {
extern const PathKernels path_messages;
}
namespace avx512 {
extern const PathKernels path_messages;
}

}  // namespace crfkit
