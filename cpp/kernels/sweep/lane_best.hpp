// The best labelings of chains of order 1 whose steps share a table: lanes side by side.
//
// The same recursion as Max in logs.hpp, Sutton & McCallum (2006) eq. 1.35: cells are relative to
// the largest of their row.  Several lanes share a load of the table; one alone waits for its
// loads.  No back-pointers are kept: the candidates of a chosen label are computed again.  Ties go
// to the first.  Few labels: striped_best.hpp; few steps that differ: best_steps.hpp.
#pragma once

#include "kernels/sweep/striped_best.hpp"

namespace crfkit::CRFKIT_ARCH {

class LaneBest {
 public:
  // `sequences` in order of falling length.
  LaneBest(const Call& call, const std::int64_t* sequences, int lanes)
      : call_(call),
        p_(call.problem),
        steps_(call.prepared.best),
        sequences_(sequences),
        L_(p_.labels),
        step_(padded(L_)) {
    lanes_ = lanes;
    stride_ = static_cast<std::ptrdiff_t>(lanes) * step_;
    cell_ = call.arena.take<double>(static_cast<std::size_t>(stride_) * length(0));
    offset_ = call.arena.take<Offset>(lanes, Offset());
    candidate_ = call.arena.take<double>(step_);
  }

  void run() {
    const Table& table = call_.prepared.scores.table[0];
    const RowCount count(std::int64_t{lanes_} * L_ * L_ / kAtOnce);
    for (int t = 0, active = lanes_, counted = 0; t < length(0); ++t) {
      if (t == counted) counted += count.next(length(0) - t);
      while (length(active - 1) <= t) --active;
      double* cells = cell_ + t * stride_;
      if (t > 0 && steps_.sparse()) {
        for (int b = 0; b < active; ++b)
          steps_.pull(cells - stride_ + b * step_, cells + b * step_);
      } else if (t > 0) {
        product<MaxPlus>(cells - stride_, step_, active, L_, table.matrix(0), L_, cells, step_);
      }
      for (int b = 0; b < active; ++b) weigh(t, b, cells + b * step_);
    }
    for (int b = 0; b < lanes_; ++b) trace(b);
  }

 private:
  // Labels up to which cells are compared one by one on the way back: the processor foretells such
  // branches and goes on, where it would wait for a place that is computed.
  static constexpr int kForetold = 12;
  static constexpr int kAtOnce = 8;  // cells of a product that take a nanosecond

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

  // The first of the largest cells, of which `top` is the maximum by places.  Where all are NaN,
  // the padding is larger: it is not a label.
  int first_best(const double* cells, Vec top) const {
    const Vec highest = splat(max_of(top));
    for (int j = 0; L_ <= kForetold && j < L_; ++j)
      if (cells[j] == highest[0]) return j;
    for (int j = 0; j < step_; j += W)
      if (const unsigned found = bits_of(load(cells + j) == highest)) {
        const int label = j + __builtin_ctz(found);
        return label < L_ ? label : 0;
      }
    return 0;
  }
  int first_best(const double* cells) const {
    Vec top = splat(kZero);
    for (int j = 0; j < step_; j += W) top = max(top, load(cells + j));
    return first_best(cells, top);
  }

  // The label before `label`, from the row before its own.
  int before(const double* cells, int label) {
    if (steps_.sparse()) {
      steps_.candidates(cells, label, candidate_);
      return first_best(candidate_);
    }
    const double* into = steps_.into(label);
    Vec top = splat(kZero);
    for (int i = 0; i < step_; i += W) {
      const Vec v = load(cells + i) + load(into + i);
      store(candidate_ + i, v);
      top = max(top, v);
    }
    return first_best(candidate_, top);
  }

  void trace(int b) {
    const int T = length(b);
    double& value = call_.task.value[sequences_[b]];
    value = 0.0;
    if (T == 0) return;
    const double* cells = cell_ + (T - 1) * stride_ + b * step_;
    int label = first_best(cells);
    value = cells[label] + offset_[b].value();
    if (value == kZero) return call_.no_path(sequences_[b], 0);
    std::int32_t* path = call_.task.path + begin(b);
    path[T - 1] = label;
    for (int t = T - 1; t > 0; --t) path[t - 1] = label = before(cells -= stride_, label);
  }

  const Call& call_;
  const Problem& p_;
  const BestSteps& steps_;
  const std::int64_t* sequences_;
  int L_, step_, lanes_;
  std::ptrdiff_t stride_;  // cells of a row
  double* cell_;           // [rows, lanes, step]; all lanes begin in the first row
  Offset* offset_;         // [lanes]
  double* candidate_;      // [step]
};

inline constexpr int kFewBestLabels = 16;  // below which vectors run over sequences

// How many sequences `best_lanes` should take, if not as many as fit into the outer cache: two
// vectors of them where that many fit, or one alone where steps share no loads (twice as fast as 16
// with 472 labels); else 0.
inline int few_best_lanes(const Call& call, std::int64_t longest) {
  constexpr std::int64_t budget = 2000000;  // cells
  const int L = call.problem.labels;
  if (L < kFewBestLabels && longest * L * 2 * W <= budget) return 2 * W;
  return call.prepared.best.sparse() ? 1 : 0;
}

inline void best_lanes(const Call& call, const std::int64_t* sequences, int lanes) {
  const int L = call.problem.labels;
  if (L >= kFewBestLabels || lanes * padded(L) <= L * W)
    return LaneBest(call, sequences, lanes).run();
  lanes > W ? StripedBest<2>(call, sequences, lanes).run()
            : StripedBest<1>(call, sequences, lanes).run();
}

}  // namespace crfkit::CRFKIT_ARCH
