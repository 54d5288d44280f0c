// Kernels of visits of variables, draws and mean field.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

struct SamplingKernels {
  const char* name;
};

namespace baseline {
extern const SamplingKernels sampling;
}
namespace avx2 {
extern const SamplingKernels sampling;
}
namespace avx512 {
extern const SamplingKernels sampling;
}

}  // namespace crfkit
