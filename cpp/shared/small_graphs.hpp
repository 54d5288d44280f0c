// Kernels of many small graphs in lanes.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

struct SmallGraphKernels {
  const char* name;
};

namespace baseline {
extern const SmallGraphKernels small_graphs;
}
namespace avx2 {
extern const SmallGraphKernels small_graphs;
}
namespace avx512 {
extern const SmallGraphKernels small_graphs;
}

}  // namespace crfkit
