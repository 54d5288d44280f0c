// Chains of order 1 decoded with live weights, and what the features of two labellings differ in.
#pragma once

#include "kernels/learn/scored.hpp"
#include "kernels/sweep/best.hpp"
#include "kernels/sweep/kbest.hpp"

namespace crfkit::CRFKIT_ARCH {

// A sparse vector over the places of weights: each place has one entry, found by hashing.
class Difference {
 public:
  struct Entry {
    double *weight, *memory;
    double amount;
  };

  Difference(std::int64_t most, Arena& arena) : entries_(arena.take<Entry>(most)) {
    std::int64_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    mask_ = slots - 1;
    slot_ = arena.take<std::int32_t>(slots, -1);
  }

  // Returns the number of the entry.
  std::int32_t add(double* weight, double* memory, double amount) {
    std::int32_t& slot = slot_[place(weight)];
    if (slot < 0) {
      slot = count_;
      entries_[count_++] = {weight, memory, amount};
      __builtin_prefetch(memory, 1);
    } else {
      entries_[slot].amount += amount;
    }
    return slot;
  }
  // The amount at a weight; 0 where there is no entry.
  double at(const double* weight) const {
    const std::int32_t slot = slot_[place(weight)];
    return slot < 0 ? 0.0 : entries_[slot].amount;
  }

  Entry* begin() { return entries_; }
  const Entry* begin() const { return entries_; }
  const Entry* end() const { return entries_ + count_; }

 private:
  // Where the entry of a weight is, or would be.
  std::uint64_t place(const double* weight) const {
    std::uint64_t at = reinterpret_cast<std::uintptr_t>(weight) / sizeof(double);
    at = ((at * 0x9e3779b97f4a7c15ULL) >> 20) & mask_;
    while (slot_[at] >= 0 && entries_[slot_[at]].weight != weight) at = (at + 1) & mask_;
    return at;
  }

  Entry* entries_;
  std::int32_t count_ = 0;
  std::int32_t* slot_;
  std::uint64_t mask_;
};

// Scores and decodes one sequence after the other.
class Decoder {
 public:
  // Finds the k best labellings of a sequence.
  Decoder(const Learned& learned, int k)
      : learned_(learned),
        L_(learned.weight.labels),
        table_(lasting_.take<double>(static_cast<std::size_t>(L_ + 2) * L_ + kPad, 0.0)),
        problem_(chain_of(L_, bounds_, nullptr, table_)),
        task_(decoding(&value_, k)),
        prepared_(problem_, task_) {
    refresh();
  }

  // Takes over what has become of transitions, start and stop.
  void refresh() {
    score_small(learned_, table_);
    prepared_.scores.table[0].fill_scores(table_);
  }
  // The best labels of T positions with scores node[T * L + kPad] into path; their score.
  double best_path(const double* node, std::int64_t T, std::int32_t* path, Arena& arena) {
    best<Chain>(call(node, T, path, arena), 0);
    return value_;
  }
  // The k best into path [k, T], -1 where there are fewer, and their scores into score [k].
  void best_paths(const double* node, std::int64_t T, std::int32_t* path, double* score,
                  Arena& arena) {
    task_.path_score = score;
    kbest<Chain>(call(node, T, path, arena), 0);
  }
  // The score of a labelling.
  double path_score(const double* node, std::int64_t T, const std::int32_t* path) const {
    const double *start = table_ + static_cast<std::int64_t>(L_) * L_, *stop = start + L_;
    double sum = start[path[0]] + stop[path[T - 1]] + node[path[0]];
    for (std::int64_t t = 1; t < T; ++t)
      sum += table_[static_cast<std::int64_t>(path[t - 1]) * L_ + path[t]] + node[t * L_ + path[t]];
    return sum;
  }

 private:
  Call call(const double* node, std::int64_t T, std::int32_t* path, Arena& arena) {
    bounds_[1] = T;
    problem_.node = node;
    task_.path = path;
    return Call{problem_, task_, prepared_, nullptr, arena};
  }
  static Task decoding(double* value, int k) {
    Task task = {};
    task.query = Query::best;
    task.value = value;
    task.k = k;
    return task;
  }

  const Learned& learned_;
  int L_;
  Arena lasting_;
  double* table_;  // [(L + 2) * L] scores of transitions, start and stop
  std::int64_t bounds_[2] = {0, 0};
  double value_ = 0.0;
  Problem problem_;
  Task task_;
  Prepared prepared_;
};

// Calls add(weight, memory, amount) for the features of the gold labels minus those of others, of T
// positions from `first` on; a weight may come more than once.
template <class Add>
inline void each_difference(const Learned& m, std::int64_t first, std::int64_t T,
                            const std::int32_t* gold, const std::int32_t* found, Add add) {
  const Live& w = m.weight;
  const std::int64_t K = w.shards;
  const auto add_row = [&](std::int64_t at, double amount) {
    if (has_weight(w.table[at])) add(w.table + at, m.memory.table + at, amount);
  };
  const auto add_small = [&](int row, int label, double amount) {
    const std::int64_t at = static_cast<std::int64_t>(row) * w.step + label;
    if (m.exists[at] != 0.0) add(m.small + at, m.small_memory + at, amount);
  };
  const auto add_ends = [&](int row, int right, int wrong) {
    if (right == wrong) return;
    add_small(row, right, 1.0);
    add_small(row, wrong, -1.0);
  };
  for (std::int64_t t = 0; t < T; ++t) {
    if (gold[t] == found[t]) continue;
    const std::int64_t a = (first + t) * K, b = a + K;
    for (std::int64_t i = w.row_ptr[a]; i < w.row_ptr[b]; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(w.row[i]) * w.step;
      const double value = w.values ? w.row_value[i] : 1.0;
      add_row(row + gold[t], value);
      add_row(row + found[t], -value);
    }
    for (std::int64_t i = w.short_ptr[a]; i < w.short_ptr[b]; ++i) {
      const double value = w.values ? w.short_value[i] : 1.0;
      std::int64_t c = w.first[i];
      do {
        const int column = w.cell[c].column;
        if (column == gold[t] || column == found[t])
          add(&w.cell[c].weight, &m.memory.cell[c].weight, column == gold[t] ? value : -value);
      } while (!w.cell[c++].last);
    }
  }
  add_ends(w.labels, gold[0], found[0]);
  add_ends(w.labels + 1, gold[T - 1], found[T - 1]);
  for (std::int64_t t = 1; t < T; ++t) {
    if (gold[t - 1] == found[t - 1] && gold[t] == found[t]) continue;
    add_small(gold[t - 1], gold[t], 1.0);
    add_small(found[t - 1], found[t], -1.0);
  }
}

// The most entries that such a difference can have.
inline std::int64_t difference_room(const Learned& m, std::int64_t first, std::int64_t T,
                                    const std::int32_t* gold, const std::int32_t* found) {
  const Live& w = m.weight;
  std::int64_t most = 2 * (T + 1);
  for (std::int64_t t = 0; t < T; ++t) {
    if (gold[t] == found[t]) continue;
    const std::int64_t a = (first + t) * w.shards, b = a + w.shards;
    most += 2 * (w.row_ptr[b] - w.row_ptr[a] + w.short_ptr[b] - w.short_ptr[a]);
  }
  return most;
}

// The difference as a vector.
inline Difference difference_of(const Learned& m, std::int64_t first, std::int64_t T,
                                const std::int32_t* gold, const std::int32_t* found, Arena& arena) {
  Difference d(difference_room(m, first, T, gold, found), arena);
  each_difference(m, first, T, gold, found, [&](double* weight, double* memory, double amount) {
    d.add(weight, memory, amount);
  });
  return d;
}

}  // namespace crfkit::CRFKIT_ARCH
