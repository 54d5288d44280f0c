// The Hessian of sum_b weight[b] * log Z[b] of chains of order 1 in tensors, times a direction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/tensors/sums.hpp"
#include "shared/padded.hpp"

namespace crfkit {

struct HessianTask {
  const TensorChains* along = nullptr;        // the direction, addressed as the chains are
  const double* weight = nullptr;             // [B]
  const GradientTensors* gradient = nullptr;  // where the product goes
  double *dot = nullptr, *value = nullptr;    // [B]: <marginals, direction>, log Z
};

inline void hessian_of_chains(const Kernels& kernels, const TensorChains& c,
                              const HessianTask& task, int threads) {
  const Problem shared = c.problem();
  const bool usable = usable_tables(c);
  const std::int64_t L = c.labels, size = kernels.pooled_size(shared, true), step = padded(L);
  const Blocks blocks = blocks_of(c, size);
  std::vector<std::vector<double>> pooled(blocks.count());
  parallel_for(blocks.count(), threads, [&](std::int64_t i) {
    pooled[i].assign(size, 0.0);
    double* sums = pooled[i].data();
    Chunk chunk(c), along(*task.along);
    const Handle scratch = make_scratch(kernels);
    for (std::int64_t s = blocks.first[i]; s < blocks.first[i + 1]; ++s) {
      const std::int64_t b = blocks.order[s];
      chunk.clear();
      along.clear();
      if ((!usable && c.length[b] > 0) || !chunk.add(b)) {
        task.dot[b] = task.value[b] = std::numeric_limits<double>::quiet_NaN();
        task.gradient->clear(c, b);
        continue;
      }
      along.add(b);  // may hold anything: what comes of it is this sequence's own
      Task gradients = {};
      chunk.take_gradients(&gradients);
      Tangents tangents = {};
      tangents.along = {along.node(0),    task.along->start,
                        task.along->stop, c.edge ? along.edge(0) : task.along->tables[0],
                        shared.edge_step, 0};
      tangents.made = {chunk.node_gradient(0),
                       sums,
                       sums + step,
                       c.edge ? chunk.edge_gradient(0) : sums + 2 * step,
                       shared.edge_step,
                       static_cast<int>(c.edge ? L : step)};
      tangents.weight = task.weight[b];
      kernels.tangents(chunk.problem(shared), 0, tangents, scratch.get());
      task.dot[b] = tangents.dot;
      task.value[b] = tangents.value;
      task.gradient->give(c, chunk, 0, false);
    }
  });
  task.gradient->give_pooled(c, added(pooled, size));
}

}  // namespace crfkit
