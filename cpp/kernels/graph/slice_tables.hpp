// Tables that all sequences of slices share: numbers whose largest is 1, what was taken out of
// them, and matrices in tiles.
#pragma once

#include "kernels/graph/slice_products.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace slice {

struct PreparedSlices {
  double step_peak, local_peak, range, holes;
  const double* local;               // [states]
  const double* matrix[kSliceAxes];  // [n, n]
  const double* forth[kSliceAxes];   // in tiles
  const double* back[kSliceAxes];
};

inline constexpr std::int64_t kHead = 8;

inline PreparedSlices places(const SliceFamily& family, const double* prepared) {
  PreparedSlices p = {prepared[0],      prepared[1], prepared[2], prepared[3],
                      prepared + kHead, {},          {},          {}};
  const double* at = p.local + family.states;
  for (int i = 0; i < family.axes; ++i) {
    const std::int64_t n = family.axis[i].width;
    p.matrix[i] = at, p.forth[i] = at + n * n, p.back[i] = p.forth[i] + n * tiles(n);
    at = p.back[i] + n * tiles(n);
  }
  return p;
}

inline std::int64_t prepared_size(const SliceFamily& family) {
  std::int64_t size = kHead + family.states;
  for (int i = 0; i < family.axes; ++i) {
    const std::int64_t n = family.axis[i].width;
    size += n * n + 2 * n * tiles(n);
  }
  return size;
}

// Scores to numbers whose largest is 1; returns the largest score.
inline double open(double* x, std::int64_t count, double* range, double* holes) {
  double most = kZero, least = kInfinity;
  for (std::int64_t i = 0; i < count; ++i) {
    if (x[i] > most) most = x[i];
    if (x[i] == kZero) *holes = 1.0;
    if (x[i] > kZero && x[i] < least) least = x[i];
  }
  if (most == kZero) most = least = 0.0;
  *range += most - least;
  for (std::int64_t i = 0; i < count; ++i) x[i] = std::exp(x[i] - most);
  return most;
}

inline void prepare(const Factors& f, const SliceFamily& family, double* prepared) {
  const PreparedSlices p = places(family, prepared);
  double *local = const_cast<double*>(p.local), step_peak = 0.0, range = 0.0, holes = 0.0;
  for (std::int64_t s = 0; s < family.states; ++s) {
    local[s] = 0.0;
    for (int r = 0; r < family.roles; ++r)
      if (family.role[r].shared)
        local[s] += f.group[family.role[r].group].table[family.role[r].at[s]];
  }
  const double local_peak = open(local, family.states, &range, &holes);
  for (int i = 0; i < family.axes; ++i) {
    const SliceAxis& axis = family.axis[i];
    const std::int64_t n = axis.width;
    double* m = const_cast<double*>(p.matrix[i]);
    for (std::int64_t c = 0; c < n * n; ++c) {
      m[c] = 0.0;
      for (int g = 0; g < axis.groups; ++g) m[c] += f.group[axis.group[g]].table[c];
    }
    step_peak += open(m, n * n, &range, &holes);
    pack(m, n, false, const_cast<double*>(p.forth[i]));
    pack(m, n, true, const_cast<double*>(p.back[i]));
  }
  prepared[0] = step_peak, prepared[1] = local_peak, prepared[2] = range, prepared[3] = holes;
}

}  // namespace slice
}  // namespace crfkit::CRFKIT_ARCH
