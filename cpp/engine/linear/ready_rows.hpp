// Rows of weights that are ready to be read: those of several weights spread out into a table.
// Filling it costs more than scoring a few sequences, so where weights stay it is made once.
#pragma once

#include <algorithm>
#include <utility>

#include "engine/linear/batch_scores.hpp"

namespace crfkit {

class ReadyRows {
 public:
  // `weights` are all weights; those of the rows begin at `offset`.  The plan must stay.
  ReadyRows(const Kernels& kernels, const RowPlan& plan, KeptReals weights, std::int64_t offset,
            int threads)
      : weights_(std::move(weights)), table_(plan.table_bytes() / 8) {
    check_threads(threads);
    const std::int64_t F = static_cast<std::int64_t>(weights_.size());
    if (offset < 0 || offset + plan.weights() > F)
      refuse("the weights are fewer than the layout has");
    view_ = plan.view(weights_.data() + offset, F - offset, table_.data());
    const std::int64_t wide = static_cast<std::int64_t>(plan.wide.size());
    parallel_for((wide + kScoreBlock - 1) / kScoreBlock, threads, [&](std::int64_t b) {
      kernels.linear->expand(view_, plan.wide.data() + b * kScoreBlock,
                             std::min(kScoreBlock, wide - b * kScoreBlock),
                             table_.data() + b * kScoreBlock * plan.step());
    });
  }

  const Rows& view() const { return view_; }

 private:
  KeptReals weights_;
  AlignedBuffer<> table_;
  Rows view_;
};

}  // namespace crfkit
