// The sum query for chains whose steps share tables: lanes side by side on packed rows.
//
// Vectors of sequences read scores and write marginals where they lie.  For vectors of labels
// scores are copied into packed rows and marginals back, which costs less than reading them in
// place by row: the copies stream, and sums of packed rows have one term to a row.
#pragma once

#include "kernels/simd/lanes.hpp"
#include "kernels/sweep/call.hpp"
#include "kernels/sweep/group_sum.hpp"
#include "kernels/sweep/striped_rows.hpp"

namespace crfkit::CRFKIT_ARCH {

class LaneSum {
 public:
  static bool covers(const Problem& p, const Task& t) {
    return p.shape == Shape::chain && p.edge_step == 0 && !t.gradients.edge && !t.expected &&
           !t.log_space;
  }

  // `sequences` in order of falling length, none of them empty.
  LaneSum(const Call& call, const std::int64_t* sequences, int lanes)
      : call_(call),
        p_(call.problem),
        L_(p_.labels),
        step_(padded(L_)),
        lanes_(lanes),
        begin_(call.arena.take<std::int64_t>(lanes)),
        length_(lengths(sequences)),
        rows_({0, 0, lanes, length_[0]}, length_, call.arena),
        watched_(call.prepared.probabilities.holes()) {}

  void run(const std::int64_t* sequences) {
    const Task& task = call_.task;
    const bool gradients = call_.wants_gradients(), steps = gradients && !task.gradients.no_steps;
    double* weight = call_.arena.take<double>(lanes_, 1.0);
    for (int b = 0; task.weight && b < lanes_; ++b) weight[b] = task.weight[sequences[b]];
    Problem inner = p_;  // start and stop are in the rows
    inner.start = inner.stop = nullptr;
    const GroupSum sum(inner, call_.probabilities(lanes_, length_[0]), call_.prepared.scores, rows_,
                       call_.arena);
    const PooledLayout layout(p_);
    const EdgeSums sums = {steps ? call_.pooled + layout.table[0] : nullptr,
                           steps ? call_.pooled + layout.products[0] : nullptr, 0, nullptr};
    double* log_z = call_.arena.take<double>(lanes_);
    bool in_logs = false, exact = true;
    if (lanes_ > 1 && sum.is_striped(sums) && (!gradients || task.gradients.node)) {
      look();
      exact = sum.attempt(StripedRows(p_, task.gradients.node, first_rows()), weight, watched_,
                          sums, log_z, !gradients);
    } else {
      cells_ = call_.arena.take<double>(static_cast<std::size_t>(rows_.positions()) * step_);
      fill();
      if (lanes_ == 1)
        sum.run(cells_, weight, watched_, sums, log_z, [&] { fill(); }, !gradients, &in_logs);
      else
        exact = sum.attempt(cells_, weight, watched_, sums, log_z, !gradients);
    }
    if (!exact) {  // only some of them need logarithms
      for (int b = 0; b < lanes_; ++b) LaneSum(call_, sequences + b, 1).run(sequences + b);
      return;
    }
    for (int b = 0; b < lanes_; ++b) {
      task.value[sequences[b]] = log_z[b];
      if (in_logs && task.in_logs) task.in_logs[sequences[b]] = 1;
    }
    if (gradients) give_gradients(layout);
  }

 private:
  const std::int32_t* lengths(const std::int64_t* sequences) {
    std::int32_t* length = call_.arena.take<std::int32_t>(lanes_);
    for (int b = 0; b < lanes_; ++b) {
      begin_[b] = p_.seq_ptr[sequences[b]];
      length[b] = static_cast<std::int32_t>(p_.seq_ptr[sequences[b] + 1] - begin_[b]);
    }
    return length;
  }
  double* row(int lane, int t) const { return cells_ + rows_.position(lane, t) * step_; }
  // The scores and marginals of a position where they lie.
  std::int64_t place(int lane, int t) const { return (begin_[lane] + t) * L_; }

  // Where the first row of the group would be in each lane if all lanes began there.
  const std::int64_t* first_rows() const {
    std::int64_t* first = call_.arena.take<std::int64_t>(lanes_);
    for (int b = 0; b < lanes_; ++b) first[b] = place(b, length_[b] - rows_.rows());
    return first;
  }

  // Calls `visit(begin, end)` for all positions of a lane, run by run, and counts them as work:
  // memory that is touched for the first time makes even copies slow.
  template <class Visit>
  void each_run(int lane, Visit visit) const {
    for (int t = 0; t < length_[lane];) {
      const int end = length_[lane] - t < kRun ? length_[lane] : t + kRun;
      worked_if_many(static_cast<std::int64_t>(end - t) * step_);
      visit(t, end);
      t = end;
    }
  }

  // Sees whether some scores are forbidden.
  void look() {
    VecInt holes = {};
    const auto see = [&](const double* score, std::int64_t count) {
      std::int64_t c = 0;
      for (; c + W <= count; c += W) holes |= load(score + c) == kZero;
      holes |= load_part(score + c, static_cast<int>(count - c), 0.0) == kZero;
    };
    for (int b = 0; b < lanes_; ++b)
      each_run(b, [&](int t, int end) {
        see(p_.node + place(b, t), static_cast<std::int64_t>(end - t) * L_);
      });
    if (p_.start) see(p_.start, L_);
    if (p_.stop) see(p_.stop, L_);
    watched_ |= any_of(holes);
  }

  // The scores of all positions; sees whether some of them are forbidden.  The padding of a row,
  // which nobody reads, may hold the scores that follow it.
  void fill() {
    const double* end = p_.node + call_.positions() * L_;
    VecInt holes = {};
    for (int b = 0; b < lanes_; ++b) {  // by lane: the scores come in order
      each_run(b, [&](int t, int stop) {
        for (const double* from = p_.node + place(b, t); t < stop; ++t, from += L_) {
          double* to = row(b, t);
          const bool inside = end - from >= step_;
          for (int j = 0; j < step_; j += W) {
            const Vec v = inside ? load(from + j) : load_part(from + j, L_ - j, 0.0);
            holes |= v == kZero;
            store(to + j, v);
          }
        }
      });
    }
    for (int b = 0; b < lanes_; ++b) {
      if (p_.start) holes |= add(row(b, 0), p_.start);
      if (p_.stop) holes |= add(row(b, length_[b] - 1), p_.stop);
    }
    watched_ |= any_of(holes);
  }
  VecInt add(double* to, const double* scores) const {
    VecInt holes = {};
    for (int j = 0; j < step_; j += W) {
      const Vec v = load(to + j) + load_part(scores + j, L_ - j, 0.0);
      holes |= v == kZero;
      store(to + j, v);
    }
    return holes;
  }

  void give_gradients(const PooledLayout& layout) const {
    double* gradient = call_.task.gradients.node;
    for (int b = 0; b < lanes_; ++b) {
      const int last = length_[b] - 1;
      if (p_.start) add_to(call_.pooled, cells_ ? row(b, 0) : gradient + place(b, 0));
      if (p_.stop)
        add_to(call_.pooled + layout.stop, cells_ ? row(b, last) : gradient + place(b, last));
    }
    if (!gradient || !cells_) return;
    for (int b = 0; b < lanes_; ++b) {
      each_run(b, [&](int t, int stop) {
        for (double* to = gradient + place(b, t); t < stop; ++t, to += L_) {
          const double* from = row(b, t);
          for (int j = 0; j < step_; j += W) store_part(to + j, L_ - j, load(from + j));
        }
      });
    }
  }
  void add_to(double* out, const double* from) const {
    for (int j = 0; j < step_; j += W)
      store(out + j, load(out + j) + load_part(from + j, L_ - j, 0.0));
  }

  static constexpr int kRun = 1 << 13;

  const Call& call_;
  const Problem& p_;
  int L_, step_, lanes_;
  std::int64_t* begin_;         // [lanes] first position of each sequence
  const std::int32_t* length_;  // [lanes]
  Packed rows_;
  double* cells_ = nullptr;  // [positions, step] scores, then gradients, where they are copied
  bool watched_;             // some parts are forbidden
};

// Sequences by falling length; empty ones have one labeling, which scores 0.
inline void sum_lanes(const Call& call, const std::int64_t* sequences, int lanes) {
  const std::int64_t* ptr = call.problem.seq_ptr;
  for (; lanes > 0 && ptr[sequences[lanes - 1]] == ptr[sequences[lanes - 1] + 1]; --lanes)
    call.task.value[sequences[lanes - 1]] = 0.0;
  if (lanes > 0) LaneSum(call, sequences, lanes).run(sequences);
}

}  // namespace crfkit::CRFKIT_ARCH
