// Learning sequence by sequence: weights, what a method remembers of each, and the sequences; a
// plain struct that the binding and the kernels share.
#pragma once

#include <cstdint>

#include "shared/live.hpp"

namespace crfkit {

// Small tables hold transitions, start and stop: [(L + 2) * step].
struct Learned {
  Live weight;
  Live memory;  // in the same places of tables of the same form; the weights where there is none
  std::int64_t rows, cells;  // of these tables
  double *small, *small_memory;
  const double* exists;     // [(L + 2) * step] 1 where there is a weight
  const double* forbidden;  // [L + 2, L] 0 or -inf for transitions, start, stop; or null
  const std::int64_t* seq_ptr;
  const std::int32_t* label;  // [P]
};

}  // namespace crfkit
