// log Z of chains in tensors, losses, and their gradients, written into tensors.
//
// Blocks of sequences depend on lengths only, and their sums are added in order: the same bits for
// any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/tensors/chunk.hpp"
#include "engine/tensors/given_labels.hpp"
#include "engine/tensors/gradient.hpp"
#include "engine/threads/run_task.hpp"

namespace crfkit {

struct SumTask {
  const LabelTensor* labels = nullptr;        // losses, else log Z
  const double* weight = nullptr;             // [B] or null
  double scale = 1.0;                         // of all weights
  const GradientTensors* gradient = nullptr;  // of sum_b scale * weight[b] * value[b], or null
  double* value = nullptr;                    // [B]
  std::uint8_t* in_logs = nullptr;            // [B]

  // sum_b scale * weight[b] * value[b]; a weight of 0 leaves a value out that is not finite.
  double total(std::int64_t sequences) const {
    double sum = 0.0;
    for (std::int64_t b = 0; b < sequences; ++b)
      if (!weight || weight[b] != 0.0) sum += value[b] * (weight ? weight[b] : 1.0);
    return sum * scale;
  }
};

// The blocks of a batch, as for other problems.
inline Blocks blocks_of(const TensorChains& c, std::int64_t pooled_size) {
  std::vector<std::int64_t> ptr = {0};
  for (std::int64_t b = 0; b < c.sequences; ++b) ptr.push_back(ptr.back() + c.length[b]);
  Problem p = c.problem();
  p.sequences = c.sequences;
  p.seq_ptr = ptr.data();
  return make_blocks(p, pooled_size);
}

// How many sequences are copied out together: lanes that share a sweep, or one at a time.
inline std::int64_t chunk_size(const Kernels& kernels, const TensorChains& c, std::int64_t longest,
                               std::int64_t count) {
  const std::int64_t most = c.edge ? 1 : kernels.lanes(c.labels, c.order, longest);
  const std::int64_t chunks = (count + most - 1) / most;
  return (count + chunks - 1) / chunks;
}

// Whether start, stop and tables are scores: where they are not, only empty sequences have a value.
inline bool usable_tables(const TensorChains& c) {
  bool usable = are_scores(c.start, c.labels) && are_scores(c.stop, c.labels);
  std::int64_t cells = c.labels;
  for (const double* table : c.tables) usable &= are_scores(table, cells *= c.labels);
  return usable;
}

// The sequences of one block.
class SumBlock {
 public:
  SumBlock(const Kernels& kernels, const TensorChains& c, const SumTask& task,
           const Problem& shared, bool usable, const void* tables, std::vector<double>* pooled)
      : kernels_(kernels),
        c_(c),
        task_(task),
        shared_(shared),
        usable_(usable),
        tables_(tables),
        pooled_(pooled),
        scratch_(make_scratch(kernels)),
        free_(c),
        clamped_(c),
        gold_(c, task.labels ? *task.labels : none_) {}

  void run(const std::int64_t* sequences, std::int64_t count) {
    while (count > 0) {
      const std::int64_t size = chunk_size(kernels_, c_, c_.length[*sequences], count);
      run_chunk(sequences, size);
      sequences += size, count -= size;
    }
  }

 private:
  bool usable(std::int64_t b) const { return usable_ || c_.length[b] == 0; }

  void run_chunk(const std::int64_t* sequences, std::int64_t count) {
    const double infinity = std::numeric_limits<double>::infinity();
    clamped_.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t b = sequences[i];
      task_.in_logs[b] = 0;
      task_.value[b] = 0.0;
      if (!task_.labels || !usable(b)) continue;
      gold_.read(b);
      if (!gold_.unknown()) continue;
      const double* lower = gold_.scores(b);
      if (lower && clamped_.add(b, lower)) gold_.clamp(clamped_, clamped_.count() - 1);
    }
    if (clamped_.count() > 0) sweep(clamped_, -1.0);

    free_.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t b = sequences[i];
      const double* lower = nullptr;
      if (task_.labels) {
        gold_.read(b);
        lower = gold_.scores(b);
      }
      const bool number = usable(b) && free_.add(b, lower);
      if (number && (lower || !task_.labels) && task_.value[b] != infinity) continue;
      if (number) free_.drop_last();  // nothing agrees with its labels
      task_.value[b] = number ? infinity : std::numeric_limits<double>::quiet_NaN();
      if (task_.gradient) task_.gradient->clear(c_, b);
    }
    if (free_.count() > 0) sweep(free_, 1.0);
  }

  // Adds sign * log Z of the sequences of a chunk to their values, and their gradients to
  // gradients.
  void sweep(Chunk& chunk, double sign) {
    const std::int64_t count = chunk.count();
    const bool gradients = task_.gradient != nullptr;
    value_.resize(count);
    weight_.resize(count);
    in_logs_.assign(count, 0);
    part_.assign(pooled_->size(), 0.0);
    for (std::int64_t i = 0; i < count; ++i)
      weight_[i] = sign * task_.scale * (task_.weight ? task_.weight[chunk.sequence(i)] : 1.0);
    Task task = {};
    task.query = Query::sum;
    task.weight = weight_.data();
    task.value = value_.data();
    task.in_logs = in_logs_.data();
    if (gradients) chunk.take_gradients(&task);
    kernels_.run(chunk.problem(shared_), task, tables_, chunk.order(), count,
                 gradients ? part_.data() : nullptr, scratch_.get());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t b = chunk.sequence(i);
      bool again = false;
      task_.value[b] += sign * value_[i];
      task_.in_logs[b] |= in_logs_[i];
      if (task_.labels && sign > 0.0) {
        gold_.read(b);
        again = gold_.unknown();
        task_.value[b] = std::max(task_.value[b], 0.0);
        if (gradients && !again) gold_.count(chunk, i, -weight_[i], part_.data());
      }
      if (gradients) task_.gradient->give(c_, chunk, i, again);
    }
    for (std::size_t i = 0; i < part_.size(); ++i) (*pooled_)[i] += part_[i];
  }

  static inline const LabelTensor none_ = {};

  const Kernels& kernels_;
  const TensorChains& c_;
  const SumTask& task_;
  const Problem& shared_;
  bool usable_;  // see usable_tables
  const void* tables_;
  std::vector<double>* pooled_;  // of this block
  Handle scratch_;
  Chunk free_, clamped_;
  GivenLabels gold_;
  std::vector<double> value_, weight_, part_;
  std::vector<std::uint8_t> in_logs_;
};

// The sums of all blocks, in their order.
inline std::vector<double> added(const std::vector<std::vector<double>>& pooled,
                                 std::int64_t size) {
  std::vector<double> sum(size, 0.0);
  for (const std::vector<double>& part : pooled)
    for (std::int64_t i = 0; i < size; ++i) sum[i] += part[i];
  return sum;
}

inline void sum_chains(const Kernels& kernels, const TensorChains& c, const SumTask& task,
                       int threads) {
  const Problem shared = c.problem();
  Task sums = {};
  sums.query = Query::sum;
  const bool usable = usable_tables(c);
  const std::int64_t size = task.gradient ? kernels.pooled_size(shared, true) : 0;
  const Blocks blocks = blocks_of(c, size);
  const Handle tables = prepare(kernels, shared, sums);
  std::vector<std::vector<double>> pooled(blocks.count());
  parallel_for(blocks.count(), threads, [&](std::int64_t i) {
    pooled[i].assign(size, 0.0);
    SumBlock(kernels, c, task, shared, usable, tables.get(), &pooled[i])
        .run(blocks.order.data() + blocks.first[i], blocks.first[i + 1] - blocks.first[i]);
  });
  if (task.gradient) task.gradient->give_pooled(c, added(pooled, size));
}

}  // namespace crfkit
