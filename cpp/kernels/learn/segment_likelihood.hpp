// Loss and gradients by scores of groups of sequences of segments, while a group is in the cache.
//
// As in likelihood.hpp; the rows of a group are those of positions, beginnings, ends and single
// segments (evaluation.hpp).  Of the score of a gold path the start, the stop, the steps and the
// lengths are left to the caller.
#pragma once

#include "kernels/learn/likelihood.hpp"
#include "kernels/sweep/segment_group.hpp"

namespace crfkit::CRFKIT_ARCH {

class SegmentLoss {
 public:
  SegmentLoss(const Evaluation& e, const SegmentFactors& factors, const Tables& scores,
              std::int64_t g, const SegmentSums& sums, Arena& arena)
      : e_(e),
        arena_(arena),
        group_(e.group[g]),
        weight_(e.weight + group_.first_lane),
        value_(e.value + group_.first_lane),
        L_(e.problem.labels),
        step_(padded(L_)),
        s_(group_, e.length + group_.first_lane, arena),
        sum_(e, factors, scores, s_, sums, arena),
        first_node_(e.segments.node[g]),
        log_z_(arena.take<double>(group_.lanes)) {
    const SegmentRows& all = e.segments;
    const std::int64_t begun = all.begin_ptr[first_node_],
                       end = all.begin_ptr[first_node_ + s_.positions()];
    rows_ = s_.positions() * (1 + all.begins + all.ends) + end - begun;
  }

  // False when a score is not finite; `impossible` becomes a lane that has no labeling, if any.
  bool run(int* impossible) {
    double* own = e_.node + (group_.first_position - e_.first) * step_;
    if (!score()) return false;
    for (int lane = 0; lane < group_.lanes; ++lane) value_[lane] = 0.0;
    double* clamped = e_.gold.allowed ? clamp_and_sum(own, impossible) : nullptr;
    if (!clamped)
      each_gold(own, [&](double& score, int lane) { value_[lane] -= weight_[lane] * score; });
    sum_.run(terms(own), weight_, false, log_z_, [&] { score(); });
    add_values(1.0, impossible);
    if (clamped) {
      for (std::int64_t c = 0; c < rows_ * step_; c += W)
        store(own + c, load(own + c) + load(clamped + c));
    } else {
      each_gold(own, [&](double& gradient, int lane) { gradient -= weight_[lane]; });
    }
    return true;
  }

 private:
  bool score() const {
    return score_packed(e_, group_.first_position, group_.first_position + rows_);
  }

  SegmentTerms terms(double* rows) const {
    const SegmentRows& all = e_.segments;
    const std::ptrdiff_t positions = s_.positions() * step_;
    return {rows,
            all.begins ? rows + positions : nullptr,
            all.ends ? rows + (1 + all.begins) * positions : nullptr,
            rows,
            all.begin_ptr + first_node_,
            all.end_ptr + first_node_,
            all.by_begin,
            all.by_end};
  }

  void add_values(double sign, int* impossible) const {
    for (int lane = 0; lane < group_.lanes; ++lane) {
      if (log_z_[lane] == kZero) *impossible = lane;
      value_[lane] += sign * weight_[lane] * log_z_[lane];
    }
  }

  // f(cell, lane): the cells of the rows that the gold takes.
  template <class F>
  void each_gold(double* rows, F f) const {
    const SegmentTerms all = terms(rows);
    const std::int32_t* label = e_.gold.label + group_.first_position;
    const auto see = [&](std::int64_t row, int lane) {
      if (label[row] >= 0) f(rows[row * step_ + label[row]], lane);
    };
    for (int r = 0; r < s_.rows(); ++r) {
      for (int lane = 0; lane < s_.reached(r); ++lane) {
        const std::int64_t p = s_.begin(r) + lane;
        for (int kind = 0; kind < 1 + e_.segments.begins + e_.segments.ends; ++kind)
          see(kind * s_.positions() + p, lane);
        for (std::int64_t k = all.begin_ptr[p]; k < all.begin_ptr[p + 1]; ++k)
          see(all.by_begin[k].row, lane);
      }
    }
  }

  // The sum over the segmentations whose labels are in the set; its gradients are returned.
  double* clamp_and_sum(const double* scores, int* impossible) {
    double* clamped = arena_.take<double>(rows_ * step_);
    double* negative = arena_.take<double>(group_.lanes);
    for (int lane = 0; lane < group_.lanes; ++lane) negative[lane] = -weight_[lane];
    const auto fill = [&] {
      for (std::int64_t c = 0; c < rows_ * step_; c += W) store(clamped + c, load(scores + c));
      for (std::int64_t p = 0; p < s_.positions(); ++p) {
        const std::int64_t source = e_.gold.source[group_.first_position + p];
        for (int j = 0; j < L_; ++j)
          if (!e_.gold.allowed[source * L_ + j]) clamped[p * step_ + j] = kZero;
      }
    };
    fill();
    sum_.run(terms(clamped), negative, true, log_z_, fill);
    add_values(-1.0, impossible);
    return clamped;
  }

  const Evaluation& e_;
  Arena& arena_;
  const Group& group_;
  const double* weight_;  // [lanes]
  double* value_;         // [lanes]
  int L_, step_;
  Packed s_;
  SegmentGroupSum sum_;
  std::int64_t first_node_, rows_;
  double* log_z_;  // [lanes]
};

// As evaluate_block of chains; `pooled` has rows of lengths after those of the table.
inline bool evaluate_segments(const Evaluation& e, const Tables& probabilities,
                              const Tables& scores, std::int64_t b, Workspace& workspace,
                              double* pooled, std::int64_t* impossible) {
  const int L = e.problem.labels, step = padded(L), D = e.segments.longest;
  const Block &from = e.block[b], &to = e.block[b + 1];
  const std::size_t cells = static_cast<std::size_t>(L) * step;
  workspace.block.reset();
  const SegmentFactors factors(e, probabilities.table[0], workspace.block);
  double* lengths = workspace.block.take<double>(static_cast<std::size_t>(D) * step, 0.0);
  const SegmentSums sums = {pooled,
                            pooled + step,
                            pooled + 2 * step,
                            pooled + 2 * step + cells,
                            workspace.block.take<double>(cells, 0.0),
                            e.segments.counted ? lengths : nullptr};
  for (std::int64_t g = from.group; g < to.group; ++g) {
    workspace.group.reset();
    int lane = -1;
    if (!SegmentLoss(e, factors, scores, g, sums, workspace.group).run(&lane)) return false;
    if (lane >= 0 && *impossible < 0) *impossible = e.group[g].first_lane + lane;
  }
  add_partials(e.partials, from.partial, to.partial, step, e.partial_row, e.node);
  gather_loose(e.rows, e.loose, e.node, from.loose, to.loose, e.gradient);
  add_gradients(probabilities.table[0], 0, sums.products, sums.edge);
  for (int c = 0; c < D * step; c += W)
    store(sums.length + c, load(sums.length + c) + load(lengths + c) * load(factors.length + c));
  return true;
}

}  // namespace crfkit::CRFKIT_ARCH
