// A batch and a layout compiled into live weights: entries by position and shard, a table of padded
// rows, short rows as cells (live.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/sequential/entries.hpp"
#include "engine/threads/parallel.hpp"
#include "shared/padded.hpp"

namespace crfkit {

template <class Real>
class CompiledOf {
 public:
  // `alone`: leave attributes with one occurrence of value 1 to the marginals of their position.
  CompiledOf(const Occurrences& o, std::int64_t positions, const std::int32_t* label, int labels,
             std::int64_t attributes, const std::int64_t* row_ptr, const std::int32_t* column,
             bool alone, int threads = 1)
      : L_(labels),
        step_(padded(labels)),
        A_(attributes),
        row_ptr_(row_ptr),
        column_(column),
        place_(attributes, kNone) {
    const std::vector<std::int64_t> count = count_occurrences(o, positions, A_);
    if (alone) choose_alone(o, positions, label, count, threads);
    place_rows();
    entries_ = Entries(o, positions, place_, count, threads);
  }

  LiveOf<Real> view() {
    LiveOf<Real> live = {};
    live.labels = L_;
    live.step = step_;
    entries_.show(live);
    live.table = table_ ? table_->data() : nullptr;
    live.partial = partial_;
    live.cell = cell_.data();
    live.alone = alone_.empty() ? nullptr : alone_.data();
    live.alone_full = alone_full_;
    return live;
  }

  // The weights in the order of the layout, and back.  Weights of attributes without a row are left
  // as they are.
  void read(double* weights) const {
    visit([&](std::int64_t k, const Real& weight) { weights[k] = weight; });
  }
  void write(const double* weights) {
    visit([&](std::int64_t k, const Real& weight) {
      const_cast<Real&>(weight) = static_cast<Real>(weights[k]);
    });
  }

  // Other sequences as entries of the same weights, none of which may be left to marginals.
  Entries entries(const Occurrences& o, std::int64_t positions) const {
    return {o, positions, place_, count_occurrences(o, positions, A_)};
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t cells() const { return static_cast<std::int64_t>(cell_.size()) - 1; }

  struct Lone {
    std::int32_t attribute;
    std::int64_t position;
  };
  // The attributes without a row, by position.
  const std::vector<Lone>& lone() const { return lone_; }

 private:
  static constexpr std::int64_t kNone = -1, kAlone = -2;

  std::int64_t weights(std::int64_t a) const { return row_ptr_[a + 1] - row_ptr_[a]; }
  bool wide(std::int64_t n) const { return n == L_ || (L_ <= 64 ? n > 1 : n > L_ / 4); }

  template <class F>
  void visit(F f) const {
    for (std::int64_t a = 0; a < A_; ++a) {
      const std::int64_t first = row_ptr_[a], n = weights(a);
      if (place_[a] < 0) continue;
      if (place_[a] & 1) {
        for (std::int64_t i = 0; i < n; ++i) f(first + i, cell_[(place_[a] >> 1) + i].weight);
      } else {
        const Real* row = table_->data() + (place_[a] >> 1) * step_;
        for (std::int64_t i = 0; i < n; ++i) f(first + i, row[column_[first + i]]);
      }
    }
  }

  bool known(std::int32_t attr) const {
    return static_cast<std::uint32_t>(attr) < static_cast<std::uint64_t>(A_);
  }

  void choose_alone(const Occurrences& o, std::int64_t positions, const std::int32_t* label,
                    const std::vector<std::int64_t>& count, int threads) {
    bool full = true;
    for (std::int64_t a = 0; a < A_ && full; ++a) full = weights(a) == L_;
    alone_full_ = full;
    alone_.assign(positions, 0.0f);
    std::vector<std::vector<Lone>> found(std::max(threads, 1));
    const std::int64_t pieces = static_cast<std::int64_t>(found.size());
    parallel_for(pieces, threads, [&](std::int64_t k) {
      for (std::int64_t p = positions * k / pieces; p < positions * (k + 1) / pieces; ++p) {
        for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
          const std::int32_t a = o.attr[i];
          if (!known(a) || count[a] != 1 || (o.value && o.value[i] != 1.0)) continue;
          if (!full && (weights(a) != 1 || column_[row_ptr_[a]] != label[p])) continue;
          place_[a] = kAlone;
          alone_[p] += 1.0f;
          found[k].push_back({a, p});
        }
      }
    });
    for (const std::vector<Lone>& some : found) lone_.insert(lone_.end(), some.begin(), some.end());
  }

  void place_rows() {
    std::int64_t cells = 0;
    for (std::int64_t a = 0; a < A_; ++a) {
      const std::int64_t n = weights(a);
      if (place_[a] == kAlone || n == 0) continue;
      if (wide(n)) {
        place_[a] = 2 * static_cast<std::int64_t>(rows_.size());
        rows_.push_back(static_cast<std::int32_t>(a));
        partial_ |= n < L_;
      } else {
        place_[a] = 2 * cells + 1;
        cells += n;
      }
    }
    cell_.resize(cells + 1);
    for (std::int64_t a = 0; a < A_; ++a) {
      if (place_[a] < 0 || !(place_[a] & 1)) continue;
      const std::int64_t first = row_ptr_[a], n = weights(a);
      for (std::int64_t i = 0; i < n; ++i)
        cell_[(place_[a] >> 1) + i] = {Real{0}, column_[first + i], i + 1 == n};
    }
    const std::int64_t rows = static_cast<std::int64_t>(rows_.size());
    table_ = std::make_unique<AlignedBuffer<Real>>(rows * step_);
    std::fill_n(table_->data(), rows * step_, static_cast<Real>(partial_ ? kNoWeight : 0.0));
    if (!partial_) return;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = row_ptr_[rows_[r]]; k < row_ptr_[rows_[r] + 1]; ++k)
        table_->data()[r * step_ + column_[k]] = Real{0};
  }

  int L_, step_;
  std::int64_t A_;
  const std::int64_t* row_ptr_;
  const std::int32_t* column_;
  bool partial_ = false, alone_full_ = false;
  std::vector<std::int64_t> place_;  // [A] as entries take it
  Entries entries_;
  std::vector<std::int32_t> rows_;
  std::vector<CellOf<Real>> cell_;
  std::vector<float> alone_;
  std::vector<Lone> lone_;
  std::unique_ptr<AlignedBuffer<Real>> table_;
};

using Compiled = CompiledOf<double>;

}  // namespace crfkit
