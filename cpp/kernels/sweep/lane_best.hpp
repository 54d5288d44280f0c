// The best labellings of chains of order 1 whose steps share a table: lanes side by side.
//
// The same recursion as Max in logs.hpp, Sutton & McCallum (2006) eq. 1.35: cells are relative to
// the largest of their row.  Several lanes share a load of the table; one alone waits for its
// loads.  No back-pointers are kept: the candidates of a chosen label are computed again.  Ties go
// to the first.
#pragma once

#include "kernels/sweep/sums.hpp"

namespace crfkit::CRFKIT_ARCH {

class LaneBest {
 public:
  static bool covers(const Problem& p) {
    return p.shape == Shape::chain && p.order == 1 && p.edge_step == 0;
  }

  // `sequences` in order of falling length.
  LaneBest(const Call& call, const std::int64_t* sequences, int lanes)
      : call_(call), p_(call.problem), sequences_(sequences), L_(p_.labels), step_(padded(L_)) {
    lanes_ = lanes;
    stride_ = static_cast<std::ptrdiff_t>(lanes) * step_;
    cell_ = call.arena.take<double>(static_cast<std::size_t>(stride_) * length(0));
    offset_ = call.arena.take<Offset>(lanes, Offset());
    into_ = call.arena.take<double>(static_cast<std::size_t>(L_) * step_);
    candidate_ = call.arena.take<double>(step_);
  }

  void run() {
    const Table& table = call_.prepared.scores.table[0];
    for (int t = 0, active = lanes_; t < length(0); ++t) {
      while (length(active - 1) <= t) --active;
      double* cells = cell_ + t * stride_;
      if (t > 0)
        product<MaxPlus>(cells - stride_, step_, active, L_, table.matrix(0), L_, cells, step_);
      for (int b = 0; b < active; ++b) weigh(t, b, cells + b * step_);
    }
    for (int j = 0; j < L_; ++j)
      for (int i = 0; i < step_; ++i)
        into_[j * step_ + i] = i < L_ ? p_.edge[0][static_cast<std::int64_t>(i) * L_ + j] : kZero;
    for (int b = 0; b < lanes_; ++b) trace(b);
  }

 private:
  std::int64_t begin(int b) const { return p_.seq_ptr[sequences_[b]]; }
  int length(int b) const {
    return static_cast<int>(p_.seq_ptr[sequences_[b] + 1] - p_.seq_ptr[sequences_[b]]);
  }

  void weigh(int t, int b, double* cells) {
    const double* node = p_.node + (begin(b) + t) * L_;
    const double* start = t == 0 ? p_.start : nullptr;
    const double* stop = t == length(b) - 1 ? p_.stop : nullptr;
    Vec top = splat(kZero);
    for (int j = 0; j < step_; j += W) {
      const int part = L_ - j;
      Vec v = load_part(node + j, part, kZero);
      if (t > 0) v += load(cells + j);
      if (start) v += load_part(start + j, part, 0.0);
      if (stop) v += load_part(stop + j, part, 0.0);
      store(cells + j, v);
      top = max(top, v);
    }
    const double highest = max_of(top);
    if (highest == kZero) return;
    for (int j = 0; j < step_; j += W) store(cells + j, load(cells + j) - highest);
    offset_[b].add(highest);
  }

  // The first of the largest of n cells.
  static int first_best(const double* cells, int n, Vec top) {
    const double highest = max_of(top);
    for (int j = 0; j < n; ++j)
      if (cells[j] == highest) return j;
    return 0;
  }

  void trace(int b) {
    const int T = length(b);
    double& value = call_.task.value[sequences_[b]];
    value = 0.0;
    if (T == 0) return;
    const double* cells = cell_ + (T - 1) * stride_ + b * step_;
    Vec top = splat(kZero);
    for (int j = 0; j < step_; j += W) top = max(top, load(cells + j));
    value = max_of(top) + offset_[b].value();
    if (value == kZero) return call_.no_path(sequences_[b], 0);
    std::int32_t* path = call_.task.path + begin(b);
    int label = first_best(cells, L_, top);
    path[T - 1] = label;
    for (int t = T - 1; t > 0; --t) {
      cells -= stride_;
      const double* into = into_ + label * step_;
      top = splat(kZero);
      for (int i = 0; i < step_; i += W) {
        const Vec v = load(cells + i) + load(into + i);
        store(candidate_ + i, v);
        top = max(top, v);
      }
      path[t - 1] = label = first_best(candidate_, L_, top);
    }
  }

  const Call& call_;
  const Problem& p_;
  const std::int64_t* sequences_;
  int L_, step_, lanes_;
  std::ptrdiff_t stride_;  // cells of a row
  double* cell_;           // [rows, lanes, step]; all lanes begin in the first row
  Offset* offset_;         // [lanes]
  double* into_;           // [L, step] scores of the steps into each label
  double* candidate_;      // [step]
};

}  // namespace crfkit::CRFKIT_ARCH
