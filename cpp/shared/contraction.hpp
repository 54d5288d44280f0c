// Kernels of elimination: sums over products of two tables of many variables.
#pragma once

#include <cstdint>

namespace crfkit {

// A loop over the labels of one variable, or of several that lie side by side in all three tables.
// A stride of 0: the table does not have the variable.
struct Loop {
  std::int64_t extent = 1, a = 0, b = 0, c = 0;
};

// c = sum over loops without a stride in c of a * b; or the maximum of a + b.  The loops may be in
// any order: `i` is innermost and runs through cells side by side, `k` is around it and is summed,
// or has one step; `n` is around them.
struct Contraction {
  const Loop* outer;
  int outers;
  Loop n, k, i;
  const double* a;
  const double* b;
  double* c;
  bool add;  // to what c holds already; else each cell of c is met once, but for k and i
  // Where one table does not lie side by side with the other two: its places along i, [i.extent],
  // at most kPlaces.  Of b; of c (then `add` is set); or of a, where b is one number.
  const std::int32_t* place = nullptr;
  char odd = 0;  // 'a', 'b' or 'c'; 0: none

  static constexpr std::int64_t kPlaces = 512;
};

struct ContractionKernels {
  const char* name;
  void (*sum)(const Contraction&);
  void (*best)(const Contraction&);
  // The largest of some numbers that are not negative, and the smallest that is not 0 (infinity:
  // none).
  void (*range)(const double* values, std::int64_t count, double* least, double* most);
  void (*multiply)(double* values, std::int64_t count, double factor);
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
