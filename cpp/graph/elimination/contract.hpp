// One contraction by the kernels, in blocks on threads: the blocks depend on the loops only.
#pragma once

#include <cstdint>

#include "graph/elimination/program.hpp"

namespace crfkit {

using ContractionKernel = void (*)(const Contraction&);

// c = sum of a * b (`zero` 0), or the maximum of a + b (`zero` -inf); b may be null.
void contract(ContractionKernel kernel, double zero, const KernelLoops& loops, const double* a,
              const double* b, double* c, std::int64_t cells, int threads);

}  // namespace crfkit
