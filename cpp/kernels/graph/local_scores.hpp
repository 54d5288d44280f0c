// What a variable sees of the factors that leave its block: scores given the labels of the others,
// or mean scores under independent q.
#pragma once

#include "kernels/simd/simd.hpp"
#include "shared/sampling.hpp"

namespace crfkit::CRFKIT_ARCH {

// Where the scores of a variable begin in the factor's table, given the labels of the others.
inline std::int64_t cell_of(const BlockVisits& v, const LocalFactor& local,
                            const std::int32_t* label) {
  std::int64_t cell = static_cast<std::int64_t>(local.next.step) * label[local.next.position];
  for (std::int32_t i = 0; i < local.more; ++i) {
    const Other& other = v.other[local.rest + i];
    cell += static_cast<std::int64_t>(other.step) * label[other.position];
  }
  return cell;
}

// score[l * step] = own scores and those of factors, given the labels of the others.
template <int L>  // number of labels, or 0: as many as the variable has
inline void local_scores(const BlockVisits& v, std::int64_t p, const std::int32_t* label, int step,
                         double* score) {
  const int n = L ? L : v.width[p];
  const double* own = v.own + v.at[p];
  if constexpr (L > 0) {
    double sum[L];
    for (int l = 0; l < L; ++l) sum[l] = own[l];
    for (std::int64_t i = v.local_ptr[p]; i < v.local_ptr[p + 1]; ++i) {
      const LocalFactor& local = v.local[i];
      const double* row = local.table + cell_of(v, local, label);
      for (int l = 0; l < L; ++l) sum[l] += local.scale * row[l];
    }
    for (int l = 0; l < L; ++l) score[l * step] = sum[l];
  } else {
    for (int l = 0; l < n; ++l) score[l * step] = own[l];
    for (std::int64_t i = v.local_ptr[p]; i < v.local_ptr[p + 1]; ++i) {
      const LocalFactor& local = v.local[i];
      const double* row = local.table + cell_of(v, local, label);
      for (int l = 0; l < n; ++l) score[l * step] += local.scale * row[l];
    }
  }
}

// Adds to mean[l] the mean score of a factor; 0 * -inf is 0.
inline void add_mean(const BlockVisits& v, const LocalFactor& local, int n, const double* q,
                     double* mean) {
  std::int32_t label[40];  // of the further variables, which have 2 labels or more: 2^40 cells
  const std::int32_t more = local.more;
  const auto chance = [&](const Other& o, std::int32_t l) { return q[v.at[o.position] + l]; };
  for (std::int32_t i = 0; i < more; ++i) label[i] = 0;
  while (true) {
    double share = local.scale;
    std::int64_t cell = 0;
    bool possible = true;
    for (std::int32_t i = 0; i < more; ++i) {
      const Other& other = v.other[local.rest + i];
      const double p = chance(other, label[i]);
      possible = possible && p > 0.0;
      share *= p;
      cell += static_cast<std::int64_t>(other.step) * label[i];
    }
    if (possible)
      for (std::int32_t l = 0; l < v.width[local.next.position]; ++l) {
        const double p = chance(local.next, l);
        if (!(p > 0.0)) continue;
        const double weight = share * p;
        const double* row = local.table + cell + static_cast<std::int64_t>(local.next.step) * l;
        if (weight > 0.0)
          for (int k = 0; k < n; ++k) mean[k] += weight * row[k];
        else  // the product of small probabilities is 0: what is forbidden stays so
          for (int k = 0; k < n; ++k) mean[k] += row[k] == kZero ? kZero : 0.0;
      }
    std::int32_t i = 0;
    for (; i < more; ++i) {
      if (++label[i] < v.width[v.other[local.rest + i].position]) break;
      label[i] = 0;
    }
    if (i == more) return;
  }
}

}  // namespace crfkit::CRFKIT_ARCH
