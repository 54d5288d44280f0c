// Kernels of visits of variables, maxima.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

struct VisitKernels {
  const char* name;
};

namespace baseline {
extern const VisitKernels visits;
}
namespace avx2 {
extern const VisitKernels visits;
}
namespace avx512 {
extern const VisitKernels visits;
}

}  // namespace crfkit
