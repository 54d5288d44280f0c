// Rows of scores and of gradients at the border of lanes side by side, transposed on the way:
// packed rows [positions, step], where gradients take the place of scores, or the caller's own rows
// [P, L].
#pragma once

#include "kernels/simd/lanes.hpp"
#include "kernels/sweep/packed_rows.hpp"

namespace crfkit::CRFKIT_ARCH {

class StripedRows {
 public:
  // Packed rows, which have the scores of both ends; the padding of gradients becomes 0.
  StripedRows(double* node, int labels)
      : score_(node), gradient_(node), n_(labels), step_(padded(labels)) {}

  // The rows of a problem, where row r of lane b begins at cell first[b] + r * labels.  `gradient`
  // may be null in sums without gradients.
  StripedRows(const Problem& p, double* gradient, const std::int64_t* first)
      : score_(p.node),
        gradient_(gradient),
        n_(p.labels),
        step_(p.labels),
        first_(first),
        start_(p.start),
        stop_(p.stop) {}

  // Where the rows of W lanes begin.
  struct Lanes {
    std::ptrdiff_t at[W];
  };
  // Those of row r from this lane on; the last lane that reaches it stands for those that do not.
  Lanes lanes(const Packed& s, int r, int lane) const {
    const int last = s.reached(r) - 1;
    const std::ptrdiff_t row = first_ ? r * step_ : s.begin(r) * step_;
    Lanes found;
    for (int i = 0; i < W; ++i) {
      const int b = lane + i < last ? lane + i : last;
      found.at[i] = row + (first_ ? first_[b] : b * step_);
    }
    return found;
  }

  // The largest scores of W lanes of row r, the first `reached` of which are there and `before`
  // were there before; all of their scores go to `out` [label][kStripe].
  Vec take(const Packed& s, int r, const Lanes& lanes, int before, int reached, double* out) const {
    Vec highest = splat(kZero);
    int j = 0;
    for (; j + W <= n_; j += W) highest = max(highest, turn_in(lanes, j, out));
    if (j + 1 == n_) {
      Vec x;
      for (int i = 0; i < W; ++i) x[i] = score_[lanes.at[i] + j];
      highest = max(highest, x);
      store(out + j * kStripe, x);
    } else if (j < n_) {
      highest = max(highest, turn_in(lanes, j, n_ - j, out));
    }
    const bool begins = start_ && before < W && before < reached, ends = stop_ && r == s.rows() - 1;
    if (begins || ends) highest = add_ends(begins, ends, before, reached, out);
    return highest == kZero ? Vec{} : highest;
  }

  // The gradients of W labels from j on become those of the first `count` lanes.
  void give(const Lanes& lanes, int j, int count, Vec (&x)[W]) const {
    transpose(x);
    for (int i = 0; i < count; ++i) store(gradient_ + lanes.at[i] + j, x[i]);
  }
  // The same for the last labels, fewer than W; the others of x are 0.
  void give_last(const Lanes& lanes, int j, int count, Vec (&x)[W]) const {
    const bool pads = !first_;
    if (j + 1 == n_) {
      for (int i = 0; i < count; ++i) {
        if (pads) store(gradient_ + lanes.at[i] + j, Vec{});
        gradient_[lanes.at[i] + j] = x[0][i];
      }
    } else if (j < n_) {
      transpose(x);
      for (int i = 0; i < count; ++i) {
        double* out = gradient_ + lanes.at[i] + j;
        pads ? store(out, x[i]) : store_first(out, n_ - j, x[i]);
      }
    }
    if (!pads) return;
    for (j += j < n_ ? W : 0; j < step_; j += W)
      for (int i = 0; i < count; ++i) store(gradient_ + lanes.at[i] + j, Vec{});
  }

 private:
  Vec turn_in(const Lanes& lanes, int j, double* out) const {
    Vec x[W], highest = splat(kZero);
    for (int i = 0; i < W; ++i) x[i] = load(score_ + lanes.at[i] + j);
    transpose(x);
    for (int k = 0; k < W; ++k) {
      highest = max(highest, x[k]);
      store(out + (j + k) * kStripe, x[k]);
    }
    return highest;
  }
  Vec turn_in(const Lanes& lanes, int j, int labels, double* out) const {
    Vec x[W], highest = splat(kZero);
    for (int i = 0; i < W; ++i) x[i] = load_part(score_ + lanes.at[i] + j, labels, kZero);
    transpose(x);
    for (int k = 0; k < labels; ++k) {
      highest = max(highest, x[k]);
      store(out + (j + k) * kStripe, x[k]);
    }
    return highest;
  }

  // Two places or more, but not all.
  static void store_first(double* out, int count, Vec x) {
#if defined(__AVX2__) && !defined(__AVX512F__)  // store_part would go place by place
    typedef double Two __attribute__((vector_size(16), aligned(8), may_alias));
    *reinterpret_cast<Two*>(out) = __builtin_shufflevector(x, x, 0, 1);
    if (count == 3) out[2] = x[2];
#else
    store_part(out, count, x);
#endif
  }

  // Adds the scores of the ends that are not part of the rows; returns the largest scores.
  Vec add_ends(bool begins, bool ends, int before, int reached, double* out) const {
    const VecInt first = first_places(reached) & ~first_places(before);
    Vec highest = splat(kZero);
    for (int j = 0; j < n_; ++j) {
      Vec x = load(out + j * kStripe);
      if (begins) x += first ? splat(start_[j]) : Vec{};
      if (ends) x += splat(stop_[j]);
      highest = max(highest, x);
      store(out + j * kStripe, x);
    }
    return highest;
  }

  const double* score_;
  double* gradient_;
  int n_;
  std::ptrdiff_t step_;
  const std::int64_t* first_ = nullptr;  // [lanes], or null: packed rows
  const double *start_ = nullptr, *stop_ = nullptr;
};

}  // namespace crfkit::CRFKIT_ARCH
