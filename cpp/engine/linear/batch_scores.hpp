// Scores of a whole batch, and its gradient: blocks of positions, or of attributes, on threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/linear/large_pages.hpp"
#include "engine/linear/row_plan.hpp"
#include "engine/linear/transpose.hpp"
#include "engine/threads/parallel.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

inline constexpr std::int64_t kScoreBlock = 512;  // positions, or rows of the table, of one task

// Scores of positions [first, last) into out[last - first, width]; false when one is not finite.
inline bool score_batch(const Kernels& kernels, const Rows& rows, const Occurrences& o,
                        const double* base, std::int64_t first, std::int64_t last, double* out,
                        int threads) {
  std::atomic<bool> finite{true};
  parallel_for((last - first + kScoreBlock - 1) / kScoreBlock, threads, [&](std::int64_t b) {
    const std::int64_t from = first + b * kScoreBlock, to = std::min(from + kScoreBlock, last);
    if (!kernels.linear->score(rows, o, base, from, to, out + (from - first) * rows.width, nullptr))
      finite = false;
  });
  return finite;
}

// gradient[k] = the sum of the gradients [P, width] of weight k, or has it added.
inline void scatter_batch(const Kernels& kernels, const RowPlan& plan, const Transpose& transpose,
                          const double* score_gradient, double* gradient, bool add, int threads) {
  const Rows rows = plan.view(nullptr, 0, nullptr);
  const Transposed view = transpose.view();
  const std::int64_t size = transpose.sum_size();
  AlignedBuffer<> sums(size * transpose.sum_tasks);
  parallel_for(static_cast<std::int64_t>(transpose.tasks.size()), threads, [&](std::int64_t i) {
    const Transpose::Task& task = transpose.tasks[i];
    if (task.sums < 0) {
      kernels.linear->scatter(rows, view, score_gradient, transpose.positions, task.first,
                              task.last, add, gradient);
    } else {
      double* own = sums.data() + task.sums * size;
      std::fill_n(own, size, 0.0);
      kernels.linear->sum_runs(rows, score_gradient, transpose.positions, transpose.view(task),
                               own);
    }
  });
  for (std::size_t slot = 0; slot < transpose.frequent.size(); ++slot) {
    const std::int32_t a = transpose.frequent[slot];
    const double* first = sums.data() + static_cast<std::int64_t>(slot) * transpose.step;
    for (std::int64_t k = rows.ptr[a]; k < rows.ptr[a + 1]; ++k) {
      double sum = 0.0;
      for (std::int64_t t = 0; t < transpose.sum_tasks; ++t)
        sum += first[t * size + rows.column[k]];
      gradient[k] = add ? gradient[k] + sum : sum;
    }
  }
}

}  // namespace crfkit
