// The transposed index of a batch: for each attribute, the positions that have it.
//
// Built once per batch and used by every gradient.  Most occurrences belong to few attributes
// (CoNLL-2000: 3.0 M of 4.0 M to 5,500 of 339,000), whose positions lie all over the gradients:
// pulled attribute by attribute, each comes from the outer cache or from memory.  Theirs are
// therefore cut into runs by blocks of positions whose gradients fit into the inner cache.
//
// All cuts depend on the data alone; threads take tasks, and sums of tasks are added in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/linear/index.hpp"
#include "shared/padded.hpp"

namespace crfkit {

struct Transpose : Index {
  static constexpr std::int64_t kTask = 1 << 15;          // occurrences of rare attributes
  static constexpr std::int64_t kRunTask = 1 << 18;       // occurrences of frequent attributes
  static constexpr std::int64_t kBlockBytes = 512 << 10;  // gradients of a block of positions
  static constexpr std::int64_t kSumBytes = 64 << 20;     // sums of all tasks together
  static constexpr std::int64_t kFrequent = 64;

  struct Task {
    std::int64_t first, last;  // attributes; with sums: blocks of positions
    std::int64_t sums;         // -1, or the place of its sums
  };

  std::int64_t positions = 0, step = 0, frequent_from = kFrequent, block_positions = 1;
  std::int64_t sum_tasks = 0;
  std::vector<std::int32_t> frequent;     // attributes, by slot
  std::vector<Run> runs;                  // by block and slot
  std::vector<std::int64_t> run_ptr;      // [blocks + 1]
  std::vector<std::uint16_t> run_offset;  // [frequent nnz + kAhead], by run
  std::vector<double> run_value;          // [frequent nnz] or empty
  std::vector<Task> tasks;                // those with sums come first

  Transpose(const Occurrences& o, std::int64_t positions_, std::int64_t attributes, int width)
      : Index(o, positions_, attributes), positions(positions_), step(padded(width)) {
    choose_frequent();
    cut_runs(width);
    cut_tasks();
  }

  std::int64_t attributes() const { return size(); }
  std::int64_t sum_size() const { return static_cast<std::int64_t>(frequent.size()) * step; }
  Transposed view() const {
    return {ptr.data(), position.data(), value.empty() ? nullptr : value.data(), frequent_from};
  }
  Runs view(const Task& task) const {
    return {runs.data(),       run_ptr.data(),
            run_offset.data(), run_value.empty() ? nullptr : run_value.data(),
            task.first,        task.last,
            block_positions};
  }

 private:
  void choose_frequent() {
    for (;; frequent_from *= 2) {
      frequent.clear();
      for (std::int64_t a = 0; a < attributes(); ++a)
        if (ptr[a + 1] - ptr[a] >= frequent_from) frequent.push_back(static_cast<std::int32_t>(a));
      if (sum_size() * 8 <= kSumBytes || frequent.empty()) return;
    }
  }

  void cut_runs(int width) {
    block_positions = std::max<std::int64_t>(kBlockBytes / (8 * width),
                                             16);  // 2^16 at the most: offsets are short
    const std::int64_t blocks = (positions + block_positions - 1) / block_positions;
    std::vector<std::int64_t> next;
    for (const std::int32_t a : frequent) next.push_back(ptr[a]);
    run_ptr.push_back(0);
    for (std::int64_t b = 0; b < blocks; ++b) {
      for (std::size_t slot = 0; slot < frequent.size(); ++slot) {
        const std::int64_t first = next[slot], end = ptr[frequent[slot] + 1];
        std::int64_t last = first;
        const std::int64_t begin = static_cast<std::int64_t>(run_offset.size());
        for (; last < end && position[last] < (b + 1) * block_positions; ++last) {
          run_offset.push_back(static_cast<std::uint16_t>(position[last] - b * block_positions));
          if (!value.empty()) run_value.push_back(value[last]);
        }
        if (last > first)
          runs.push_back(
              {begin, static_cast<std::int32_t>(last - first), static_cast<std::int32_t>(slot)});
        next[slot] = last;
      }
      run_ptr.push_back(static_cast<std::int64_t>(runs.size()));
    }
    run_offset.resize(run_offset.size() + kAhead, 0);
  }

  void cut_tasks() {
    const std::int64_t blocks = static_cast<std::int64_t>(run_ptr.size()) - 1;
    std::int64_t total = 0, done = 0, begin = 0;
    for (const Run& run : runs) total += run.count;
    const std::int64_t by_memory = kSumBytes / std::max<std::int64_t>(sum_size() * 8, 1);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(total / kRunTask, 1, std::max<std::int64_t>(by_memory, 1));
    for (std::int64_t b = 0; b < blocks && total > 0; ++b) {
      for (std::int64_t i = run_ptr[b]; i < run_ptr[b + 1]; ++i) done += runs[i].count;
      if (done * wanted >= total * (sum_tasks + 1) || b + 1 == blocks) {
        tasks.push_back({begin, b + 1, sum_tasks++});
        begin = b + 1;
      }
    }
    std::int64_t work = 0;
    begin = 0;
    for (std::int64_t a = 0; a < attributes(); ++a) {
      const std::int64_t n = ptr[a + 1] - ptr[a];
      work += 4 + (n < frequent_from ? n : 0);
      if (work < kTask && a + 1 < attributes()) continue;
      tasks.push_back({begin, a + 1, -1});
      begin = a + 1, work = 0;
    }
  }
};

}  // namespace crfkit
