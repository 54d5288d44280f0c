// Kernels of elimination: tables of many variables.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

struct ContractionKernels {
  const char* name;
};

namespace baseline {
extern const ContractionKernels contraction;
}
namespace avx2 {
extern const ContractionKernels contraction;
}
namespace avx512 {
extern const ContractionKernels contraction;
}

}  // namespace crfkit
