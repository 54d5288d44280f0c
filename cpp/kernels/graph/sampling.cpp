// Compiled once per instruction set: visits of variables, draws and mean field.
#include "shared/sampling.hpp"

#include "kernels/graph/block_trees.hpp"

namespace crfkit::CRFKIT_ARCH {

namespace {

double score(const BlockVisits& v, const std::int32_t* label, std::int64_t first,
             std::int64_t last) {
  double sum = 0.0;
  for (std::int64_t p = first; p < last; ++p) {
    sum += v.own[v.at[p] + label[p]];
    if (v.parent[p] >= 0)
      sum += v.edge_scale[p] *
             v.edge[p][static_cast<std::int64_t>(label[v.parent[p]]) * v.width[p] + label[p]];
    for (std::int64_t i = v.local_ptr[p]; i < v.local_ptr[p + 1]; ++i)
      if (v.local[i].first)
        sum += v.local[i].scale * v.local[i].table[cell_of(v, v.local[i], label) + label[p]];
  }
  return sum;
}

double expected(const BlockVisits& v, const double* node, std::int64_t first, std::int64_t last,
                double* scratch) {
  double sum = 0.0;
  for (std::int64_t p = first; p < last; ++p) {
    const int n = v.width[p];
    for (int l = 0; l < n; ++l) scratch[l] = 0.0;
    for (std::int64_t i = v.local_ptr[p]; i < v.local_ptr[p + 1]; ++i)
      if (v.local[i].first) add_mean(v, v.local[i], n, node, scratch);
    for (int l = 0; l < n; ++l)
      if (node[v.at[p] + l] > 0.0) sum += node[v.at[p] + l] * scratch[l];
  }
  return sum;
}

}  // namespace

const SamplingKernels sampling = {
    .draw = draw,
    .draw_trees = draw_trees,
    .score = score,
    .average = average,
    .expected = expected,
};

}  // namespace crfkit::CRFKIT_ARCH
