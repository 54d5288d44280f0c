// A task on blocks of sequences.
//
// Which sequences form a block depends on the data only, and sums over blocks are added in the
// order of the blocks: the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/handles.hpp"
#include "engine/threads/parallel.hpp"

namespace crfkit {

struct Blocks {
  std::vector<std::int64_t> order;  // all sequences, each block by falling length
  std::vector<std::int64_t> first;  // [blocks + 1]

  std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

// Consecutive sequences of about equal numbers of positions: at most `most` blocks, fewer where the
// pooled sums are large.
inline Blocks make_blocks(const Problem& p, std::int64_t pooled_size, std::int64_t most = 64) {
  const std::int64_t positions = p.seq_ptr[p.sequences], work = positions + p.sequences;
  const std::int64_t by_memory =
      std::max<std::int64_t>(8, (std::int64_t{1} << 24) / std::max<std::int64_t>(pooled_size, 1));
  const std::int64_t wanted = std::clamp<std::int64_t>(work / 1024, 1, std::min(most, by_memory));
  Blocks blocks;
  blocks.order.resize(p.sequences);
  std::iota(blocks.order.begin(), blocks.order.end(), std::int64_t{0});
  blocks.first.push_back(0);
  for (std::int64_t b = 1; b <= wanted; ++b) {
    std::int64_t n = blocks.first.back();
    while (n < p.sequences && (b == wanted || (p.seq_ptr[n] + n) * wanted < work * b)) ++n;
    if (n > blocks.first.back()) blocks.first.push_back(n);
  }
  const auto length = [&](std::int64_t n) { return p.seq_ptr[n + 1] - p.seq_ptr[n]; };
  for (std::int64_t b = 0; b < blocks.count(); ++b)
    std::stable_sort(blocks.order.begin() + blocks.first[b],
                     blocks.order.begin() + blocks.first[b + 1],
                     [&](std::int64_t i, std::int64_t j) { return length(i) > length(j); });
  return blocks;
}

// Answers the task; returns the pooled gradients, summed over the blocks (empty when they are not
// wanted).  Segments of one position each are a chain, and answered as one.
inline std::vector<double> run_task(const Kernels& kernels, const Problem& p, const Task& task,
                                    bool gradients, int threads) {
  if (p.shape == Shape::segments && p.longest == 1) {
    Problem chain = p;
    chain.shape = Shape::chain;
    chain.order = 1;
    chain.node = p.segment;
    Task same = task;
    same.gradients.node = task.gradients.segment;
    if (task.begin) std::fill_n(task.begin, task.k * p.seq_ptr[p.sequences], std::uint8_t{1});
    return run_task(kernels, chain, same, gradients, threads);
  }
  const std::int64_t size = gradients ? kernels.pooled_size(p, !task.gradients.no_steps) : 0;
  const Blocks blocks = make_blocks(p, size);
  const Handle tables = prepare(kernels, p, task);
  std::vector<std::vector<double>> pooled(blocks.count());
  parallel_for(blocks.count(), threads, [&](std::int64_t b) {
    if (gradients) pooled[b].assign(size, 0.0);
    kernels.run(p, task, tables.get(), blocks.order.data() + blocks.first[b],
                blocks.first[b + 1] - blocks.first[b], gradients ? pooled[b].data() : nullptr,
                nullptr);
  });
  std::vector<double> sum(size, 0.0);
  for (const std::vector<double>& part : pooled)
    for (std::int64_t i = 0; i < size; ++i) sum[i] += part[i];
  return sum;
}

}  // namespace crfkit
