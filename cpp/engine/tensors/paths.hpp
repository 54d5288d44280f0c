// Labellings of chains in tensors: the best, the k best, draws; written as int64.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/tensors/sums.hpp"

namespace crfkit {

struct PathTask {
  Query query = Query::best;
  int k = 1;  // paths or draws of a sequence
  std::uint64_t seed = 0;
  std::int64_t* labels = nullptr;  // path i of sequence b: labels + i * by_path + b * by_sequence
  std::int64_t by_path = 0, by_sequence = 0;
  double* score = nullptr;  // [B, k], or null
};

// One sequence; rows that are in no chain hold -1 already.
inline void trace_chain(const Kernels& kernels, const TensorChains& c, const PathTask& task,
                        const Problem& shared, bool usable, const void* tables, std::int64_t b,
                        Chunk& chunk, Room<std::int32_t>& path, std::vector<double>& score,
                        void* scratch) {
  double* scores = task.score ? task.score + b * task.k : nullptr;
  chunk.clear();
  if ((!usable && c.length[b] > 0) || !chunk.add(b)) {
    if (scores) std::fill_n(scores, task.k, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const std::int64_t T = c.length[b];
  double value;
  score.assign(task.k, 0.0);
  Task one = {};
  one.query = task.query;
  one.k = task.k;
  one.seed = task.seed + static_cast<std::uint64_t>(b) * 0x9e3779b97f4a7c15ULL;
  one.value = &value;
  one.path = path.of(static_cast<std::size_t>(task.k * T));
  one.path_score = score.data();
  kernels.run(chunk.problem(shared), one, tables, chunk.order(), 1, nullptr, scratch);
  if (task.query == Query::best) score[0] = value;
  if (scores) std::copy_n(score.data(), task.k, scores);
  for (int i = 0; i < task.k; ++i) {
    std::int64_t* out = task.labels + i * task.by_path + b * task.by_sequence;
    for (std::int64_t n = 0; n < T; ++n) out[c.row(b, n)] = path.data()[i * T + n];
  }
}

inline void trace_chains(const Kernels& kernels, const TensorChains& c, const PathTask& task,
                         int threads) {
  const Problem shared = c.problem();
  Task paths = {};
  paths.query = task.query;
  const bool usable = usable_tables(c);
  const Blocks blocks = blocks_of(c, 0);
  const Handle tables = prepare(kernels, shared, paths);
  parallel_for(blocks.count(), threads, [&](std::int64_t i) {
    Chunk chunk(c);
    Room<std::int32_t> path;
    std::vector<double> score;
    const Handle scratch = make_scratch(kernels);
    for (std::int64_t s = blocks.first[i]; s < blocks.first[i + 1]; ++s)
      trace_chain(kernels, c, task, shared, usable, tables.get(), blocks.order[s], chunk, path,
                  score, scratch.get());
  });
}

}  // namespace crfkit
