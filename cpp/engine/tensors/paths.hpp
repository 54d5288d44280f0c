// Labelings of chains in tensors: the best, the k best, draws; written as int64.
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
  double* score = nullptr;  // [B, k]
};

// The sequences of one block; rows that are in no chain hold -1 already.
class PathBlock {
 public:
  PathBlock(const Kernels& kernels, const TensorChains& c, const PathTask& task,
            const Problem& shared, bool usable, const void* tables)
      : kernels_(kernels),
        c_(c),
        task_(task),
        shared_(shared),
        usable_(usable),
        tables_(tables),
        scratch_(make_scratch(kernels)),
        chunk_(c) {}

  // The best labelings of several sequences share a sweep; otherwise one sequence after the other.
  void run(const std::int64_t* sequences, std::int64_t count) {
    while (count > 0) {
      const std::int64_t size =
          task_.query == Query::best ? chunk_size(kernels_, c_, c_.length[*sequences], count) : 1;
      run_chunk(sequences, size);
      sequences += size, count -= size;
    }
  }

 private:
  void run_chunk(const std::int64_t* sequences, std::int64_t count) {
    chunk_.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t b = sequences[i];
      if ((!usable_ && c_.length[b] > 0) || !chunk_.add(b))
        std::fill_n(task_.score + b * task_.k, task_.k, std::numeric_limits<double>::quiet_NaN());
    }
    if (chunk_.count() == 0) return;
    const std::int64_t k = task_.k, P = chunk_.positions();
    value_.resize(chunk_.count());
    score_.resize(chunk_.count() * k);
    Task task = {};
    task.query = task_.query;
    task.k = task_.k;
    task.seed = task_.seed + static_cast<std::uint64_t>(*sequences) * 0x9e3779b97f4a7c15ULL;
    task.value = value_.data();
    task.path = path_.of(static_cast<std::size_t>(k * P));
    task.path_score = score_.data();
    kernels_.run(chunk_.problem(shared_), task, tables_, chunk_.order(), chunk_.count(), nullptr,
                 scratch_.get());
    const std::vector<double>& scores = task_.query == Query::best ? value_ : score_;
    for (std::int64_t i = 0; i < chunk_.count(); ++i) {
      const std::int64_t b = chunk_.sequence(i);
      std::copy_n(scores.data() + i * k, k, task_.score + b * k);
      for (std::int64_t j = 0; j < k; ++j) {
        std::int64_t* out = task_.labels + j * task_.by_path + b * task_.by_sequence;
        const std::int32_t* path = task.path + j * P + chunk_.begin(i);
        for (std::int64_t n = 0; n < chunk_.length(i); ++n) out[c_.row(b, n)] = path[n];
      }
    }
  }

  const Kernels& kernels_;
  const TensorChains& c_;
  const PathTask& task_;
  const Problem& shared_;
  bool usable_;  // see usable_tables
  const void* tables_;
  Handle scratch_;
  Chunk chunk_;
  Room<std::int32_t> path_;  // [k, positions]
  std::vector<double> value_, score_;
};

inline void trace_chains(const Kernels& kernels, const TensorChains& c, const PathTask& task,
                         int threads) {
  const Problem shared = c.problem();
  Task paths = {};
  paths.query = task.query;
  const bool usable = usable_tables(c);
  const Blocks blocks = blocks_of(c, 0);
  const Handle tables = prepare(kernels, shared, paths);
  parallel_for(blocks.count(), threads, [&](std::int64_t i) {
    PathBlock(kernels, c, task, shared, usable, tables.get())
        .run(blocks.order.data() + blocks.first[i], blocks.first[i + 1] - blocks.first[i]);
  });
}

}  // namespace crfkit
