// The kernels of one instruction set, as the binding sees them.
#pragma once

#include "problem.hpp"
#include "rows.hpp"

namespace crfkit {

struct Kernels {
  const char* name;
  std::int64_t (*pooled_size)(const Problem&);
  // Shared tables in the form that the task needs; read-only afterwards.
  void* (*prepare)(const Problem&, const Task&);
  void (*release)(void*);
  // Answers the task for some sequences (in order of falling length) and adds their pooled credits
  // to `pooled`, which may be null when no credits are wanted.  Safe to call from many threads with
  // different sequences and sums.
  void (*run)(const Problem&, const Task&, const void* prepared, const std::int64_t* sequences,
              std::int64_t count, double* pooled);

  // Layouts: weights to scores, credits to gradients (layout.hpp).
  void (*expand)(const Rows&, const std::int32_t* attribute, std::int64_t count, double* table);
  bool (*score)(const Rows&, const Occurrences&, const double* base, std::int64_t first,
                std::int64_t last, double* out);
  void (*scatter)(const Rows&, const Transposed&, const double* credit, std::int64_t positions,
                  std::int64_t first, std::int64_t last, bool add, double* gradient);
  void (*sum_runs)(const Rows&, const double* credit, std::int64_t positions, const Runs&,
                   double* sums);
};

namespace baseline {
extern const Kernels kernels;
}
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}

}  // namespace crfkit
