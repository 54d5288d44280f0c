// The steps of a chain of order 1 as best labelings read them, made once from a shared table.
//
// Where all but a few steps have one common score c, only these few are listed, and what reaches
// label j is
//     best[j] = max(c + best x[i] whose step to j is not below c, max over listed i of x[i] + e[i,
//     j]):
// a step above c is counted twice, which changes no maximum.  The first part is c + the largest
// x[i] for all labels but those that its step is too low for, where the next largest are tried.  It
// bounds what is reached from below: listed steps, the highest of a source first, need be looked at
// only as long as they are above the lowest of these bounds.
#pragma once

#include "kernels/sweep/listed_steps.hpp"

namespace crfkit::CRFKIT_ARCH {

class BestSteps {
 public:
  BestSteps(const Problem& p, bool wanted, const ListedSteps& listed)
      : L_(p.labels), step_(padded(p.labels)) {
    if (!wanted || !ListedSteps::covers(p)) return;
    score_ = p.edge[0];
    listed.made() ? take(listed) : fill_into();
  }

  bool sparse() const { return source_ptr_ != nullptr; }
  // Scores of the steps into a label, [step] with -inf in the padding; the steps into label L are a
  // row of zeros.  Dense only.
  const double* into(int label) const { return into_ + static_cast<std::ptrdiff_t>(label) * step_; }

  // out[j] = max over i of x[i] + e[i, j]; sparse only.  Rows of `step` cells, -inf in the padding
  // of x; that of `out` is not to be read.
  void pull(const double* x, double* out) const {
    const Tops tops(x, step_);
    const double base = common_ + tops.value[0];
    for (int j = 0; j < step_; j += W) store(out + j, splat(base));
    double bound = base;
    for (std::int32_t p = lowered_[tops.label[0]]; p < source_ptr_[tops.label[0] + 1]; ++p) {
      const double next = common_ + largest_allowed(x, tops, target_[p]);
      out[target_[p]] = next;
      bound = next < bound ? next : bound;
    }
    const Vec lowest = splat(bound);
    for (int i = 0; i < step_; i += W) {
      unsigned above = bits_of(load(x + i) + load(highest_ + i) > lowest);
      for (; above; above &= above - 1) raise(i + __builtin_ctz(above), x, bound, out);
    }
  }

  // candidate[i] = x[i] + e[i, label]; sparse only.
  void candidates(const double* x, int label, double* candidate) const {
    const Vec common = splat(common_);
    for (int i = 0; i < step_; i += W) store(candidate + i, load(x + i) + common);
    for (std::int32_t p = target_ptr_[label]; p < target_ptr_[label + 1]; ++p)
      candidate[source_[p]] = x[source_[p]] + into_[p];
  }

 private:
  // The largest cells of a row, in falling order.
  struct Tops {
    static constexpr int kCount = 6;
    double value[kCount];
    std::int32_t label[kCount];

    Tops(const double* x, int step) {
      for (int k = 0; k < kCount; ++k) value[k] = kZero, label[k] = 0;
      for (int i = 0; i < step; i += W) {
        unsigned above = bits_of(load(x + i) > splat(value[kCount - 1]));
        for (; above; above &= above - 1) see(x, i + __builtin_ctz(above));
      }
    }
    void see(const double* x, int i) {
      if (x[i] <= value[kCount - 1]) return;
      int k = kCount - 1;
      for (; k > 0 && value[k - 1] < x[i]; --k) value[k] = value[k - 1], label[k] = label[k - 1];
      value[k] = x[i], label[k] = i;
    }
  };

  // The largest cell whose step to a label is not below the common score; not the largest of all.
  double largest_allowed(const double* x, const Tops& tops, int label) const {
    for (int k = 1; k < Tops::kCount; ++k)
      if (tops.value[k] == kZero || score(tops.label[k], label) >= common_) return tops.value[k];
    double largest = kZero;
    for (int i = 0; i < L_; ++i)
      if (x[i] > largest && score(i, label) >= common_) largest = x[i];
    return largest;
  }

  void raise(int i, const double* x, double bound, double* out) const {
    for (std::int32_t p = source_ptr_[i]; p < source_ptr_[i + 1]; ++p) {
      const double v = x[i] + outof_[p];
      if (!(v > bound)) return;
      double& reached = out[target_[p]];
      reached = v > reached ? v : reached;
    }
  }

  double score(int i, int j) const { return score_[static_cast<std::ptrdiff_t>(i) * L_ + j]; }

  // By target, sources rising; by source, falling scores.
  void take(const ListedSteps& listed) {
    const std::int64_t count = listed.pairs().count;
    common_ = listed.common();
    target_ptr_ = listed.pairs().ptr;
    source_ = listed.pairs().from;
    into_ = arena_.take<double>(count);
    for (int j = 0; j < L_; ++j)
      for (std::int32_t p = target_ptr_[j]; p < target_ptr_[j + 1]; ++p)
        into_[p] = score(source_[p], j);
    source_ptr_ = arena_.take<std::int32_t>(L_ + 1);
    target_ = arena_.take<std::int32_t>(count);
    outof_ = arena_.take<double>(count);
    lowered_ = arena_.take<std::int32_t>(L_);
    highest_ = arena_.take<double>(step_, kZero);
    std::int32_t n = 0;
    for (int i = 0; i < L_; ++i) {
      source_ptr_[i] = n;
      for (int j = 0; j < L_; ++j)
        if (score(i, j) != common_) target_[n] = j, outof_[n++] = score(i, j);
      source_ptr_[i + 1] = n;
      sort_source(i);
    }
  }

  // Steps out of a source in falling order of their scores (Shell's sort), and where those below
  // the common score begin.
  void sort_source(int i) {
    const int n = source_ptr_[i + 1] - source_ptr_[i];
    std::int32_t* target = target_ + source_ptr_[i];
    double* score = outof_ + source_ptr_[i];
    static constexpr int kGaps[] = {132, 57, 23, 10, 4, 1};
    for (const int gap : kGaps) {
      for (int k = gap; k < n; ++k) {
        const double s = score[k];
        const std::int32_t j = target[k];
        int at = k;
        for (; at >= gap && score[at - gap] < s; at -= gap)
          score[at] = score[at - gap], target[at] = target[at - gap];
        score[at] = s, target[at] = j;
      }
    }
    int lowered = 0;
    while (lowered < n && score[lowered] > common_) ++lowered;
    lowered_[i] = source_ptr_[i] + lowered;
    if (n) highest_[i] = score[0];
  }

  void fill_into() {
    into_ = arena_.take<double>(static_cast<std::size_t>(L_ + 1) * step_);
    for (int j = 0; j <= L_; ++j)
      for (int i = 0; i < step_; ++i)
        into_[j * step_ + i] = i >= L_ ? kZero : j < L_ ? score(i, j) : 0.0;
  }

  Arena arena_;
  int L_, step_;
  const double* score_ = nullptr;  // [L, L]
  double common_ = kZero;
  double* into_ = nullptr;                    // dense: [L + 1, step]; sparse: by target, [count]
  const std::int32_t* target_ptr_ = nullptr;  // [L + 1]
  const std::int32_t* source_ = nullptr;      // by target, [count] rising
  std::int32_t* source_ptr_ = nullptr;        // [L + 1]
  std::int32_t* target_ = nullptr;            // by source, [count]
  double* outof_ = nullptr;                   // by source, [count] falling
  std::int32_t* lowered_ = nullptr;  // [L] the first listed step of a source below the common one
  double* highest_ = nullptr;        // [step] the highest listed step of a source
};

}  // namespace crfkit::CRFKIT_ARCH
