// A batch and a layout compiled into live weights: entries by position and shard, a table of padded
// rows, short rows as cells (live.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "live.hpp"
#include "rows.hpp"
#include "table.hpp"

namespace crfkit {

class Compiled {
 public:
  static constexpr int kShards = 2;

  // `alone`: leave attributes with one occurrence of value 1 to the marginals of their position.
  Compiled(const Occurrences& o, std::int64_t positions, const std::int32_t* label, int labels,
           std::int64_t attributes, const std::int64_t* row_ptr, const std::int32_t* column,
           bool alone)
      : L_(labels),
        step_((labels + 7) / 8 * 8),
        A_(attributes),
        row_ptr_(row_ptr),
        column_(column),
        values_(o.value != nullptr) {
    count_occurrences(o, positions);
    if (alone) choose_alone(o, positions, label);
    place_rows();
    choose_shards();
    write_entries(o, positions);
  }

  Live view() {
    Live live = {};
    live.labels = L_;
    live.step = step_;
    live.shards = kShards;
    live.row_ptr = wide_.ptr.data();
    live.row = wide_.place.data();
    live.row_value = wide_.value.data();
    live.short_ptr = short_.ptr.data();
    live.first = short_.place.data();
    live.short_value = short_.value.data();
    live.values = values_;
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
    visit([&](std::int64_t k, const double& weight) { weights[k] = weight; });
  }
  void write(const double* weights) {
    visit([&](std::int64_t k, const double& weight) { const_cast<double&>(weight) = weights[k]; });
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
        const double* row = table_->data() + (place_[a] >> 1) * step_;
        for (std::int64_t i = 0; i < n; ++i) f(first + i, row[column_[first + i]]);
      }
    }
  }

  bool known(std::int32_t attr) const {
    return static_cast<std::uint32_t>(attr) < static_cast<std::uint64_t>(A_);
  }

  void count_occurrences(const Occurrences& o, std::int64_t positions) {
    count_.assign(A_, 0);
    place_.assign(A_, kNone);
    for (std::int64_t i = 0; i < o.ptr[positions]; ++i)
      if (known(o.attr[i])) ++count_[o.attr[i]];
  }

  void choose_alone(const Occurrences& o, std::int64_t positions, const std::int32_t* label) {
    bool full = true;
    for (std::int64_t a = 0; a < A_ && full; ++a) full = weights(a) == L_;
    alone_full_ = full;
    alone_.assign(positions, 0.0f);
    for (std::int64_t p = 0; p < positions; ++p) {
      for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
        const std::int32_t a = o.attr[i];
        if (!known(a) || count_[a] != 1 || (o.value && o.value[i] != 1.0)) continue;
        if (!full && (weights(a) != 1 || column_[row_ptr_[a]] != label[p])) continue;
        place_[a] = kAlone;
        alone_[p] += 1.0f;
        lone_.push_back({a, p});
      }
    }
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
        cell_[(place_[a] >> 1) + i] = {0.0, column_[first + i], i + 1 == n};
    }
    const std::int64_t rows = static_cast<std::int64_t>(rows_.size());
    table_ = std::make_unique<Table>(rows * step_);
    std::fill_n(table_->data(), rows * step_, partial_ ? kNoWeight : 0.0);
    if (!partial_) return;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = row_ptr_[rows_[r]]; k < row_ptr_[rows_[r] + 1]; ++k)
        table_->data()[r * step_ + column_[k]] = 0.0;
  }

  // Attributes in their order, each to the shard with the least work so far.
  void choose_shards() {
    std::int64_t work[kShards] = {};
    shard_.assign(A_, 0);
    for (std::int64_t a = 0; a < A_; ++a) {
      if (place_[a] < 0) continue;
      const int k = static_cast<int>(std::min_element(work, work + kShards) - work);
      shard_[a] = static_cast<std::uint8_t>(k);
      work[k] += count_[a];
    }
  }

  struct Entries {
    std::vector<std::int64_t> ptr;     // [P * K + 1]
    std::vector<std::uint32_t> place;  // row, or first cell
    std::vector<double> value;

    void add(std::int64_t at, const double* x) {
      place.push_back(static_cast<std::uint32_t>(at));
      if (x) value.push_back(*x);
    }
    void append(Entries& later) {
      place.insert(place.end(), later.place.begin(), later.place.end());
      value.insert(value.end(), later.value.begin(), later.value.end());
      later.place.clear();
      later.value.clear();
    }
    void close() { ptr.push_back(static_cast<std::int64_t>(place.size())); }
  };

  void write_entries(const Occurrences& o, std::int64_t positions) {
    for (Entries* e : {&wide_, &short_}) {
      reserve_large(e->ptr, positions * kShards + 1);
      e->close();
    }
    reserve_large(wide_.place, o.ptr[positions]);
    Entries later[2][kShards];  // of the other shards of one position
    for (std::int64_t p = 0; p < positions; ++p) {
      for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
        const std::int32_t a = o.attr[i];
        if (!known(a) || place_[a] < 0) continue;
        const bool cells = place_[a] & 1;
        Entries& to = shard_[a] ? later[cells][shard_[a]] : cells ? short_ : wide_;
        to.add(place_[a] >> 1, o.value ? o.value + i : nullptr);
      }
      for (int k = 0; k < kShards; ++k) {
        if (k > 0) {
          wide_.append(later[0][k]);
          short_.append(later[1][k]);
        }
        wide_.close();
        short_.close();
      }
    }
  }

  int L_, step_;
  std::int64_t A_;
  const std::int64_t* row_ptr_;
  const std::int32_t* column_;
  bool values_, partial_ = false, alone_full_ = false;
  std::vector<std::int64_t> count_, place_;
  Entries wide_, short_;
  std::vector<std::int32_t> rows_;
  std::vector<Cell> cell_;
  std::vector<float> alone_;
  std::vector<Lone> lone_;
  std::vector<std::uint8_t> shard_;
  std::unique_ptr<Table> table_;
};

}  // namespace crfkit
