// Chains decoded with live weights, and what the features of two labelings differ in.
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

// Fetches the lists of a sequence; its first weights.
inline void fetch_lists_of(const Learned& m, std::int64_t n) {
  fetch_lists(m.node.weight, m.seq_ptr[n], m.seq_ptr[n + 1]);
  if (m.edges) fetch_lists(m.edge.weight, m.seq_ptr[n], m.seq_ptr[n + 1]);
}
inline void fetch_first_of(const Learned& m, std::int64_t n) {
  fetch_first(m.node.weight, m.seq_ptr[n], m.seq_ptr[n + 1]);
  if (m.edges) fetch_first(m.edge.weight, m.seq_ptr[n], m.seq_ptr[n + 1]);
}

// Scores and decodes one sequence after the other.
class Decoder {
 public:
  // Finds the k best labelings of a sequence.
  Decoder(const Learned& learned, int k)
      : learned_(learned),
        L_(learned.node.weight.labels),
        table_(
            lasting_.take<double>(static_cast<std::size_t>(learned.tables + 2) * L_ + kPad, 0.0)),
        problem_(chain_of(learned, bounds_, nullptr, table_, nullptr)),
        task_(decoding(&value_, k)),
        prepared_(problem_, task_) {
    refresh();
  }

  // Takes over what has become of transitions, start and stop.
  void refresh() {
    score_small(learned_, table_);
    for (int h = 0; h < prepared_.scores.count; ++h)
      prepared_.scores.table[h].fill_scores(problem_.edge[h]);
  }
  // Scores positions [first, first + T), which the next calls are about; the scores [T, L] of their
  // labels may be changed before.
  double* score(std::int64_t first, std::int64_t T, Arena& arena) {
    bounds_[1] = T;
    double* node = arena.take<double>(static_cast<std::size_t>(T) * L_ + kPad);
    score_positions(learned_.node.weight, 1.0, first, first + T, node);
    problem_.node = node;
    if (learned_.edges) {
      double* steps = arena.take<double>(static_cast<std::size_t>(T) * L_ * L_ + kPad);
      score_steps(learned_.edge.weight, 1.0, first, first + T, table_, steps);
      problem_.edge[0] = steps;
    }
    return node;
  }
  // The best labels into path; their score.
  double best_path(std::int32_t* path, Arena& arena) {
    task_.path = path;
    best<Chain>(Call{problem_, task_, prepared_, nullptr, arena}, 0);
    return value_;
  }
  // The k best into path [k, T], -1 where there are fewer, and their scores into score [k].
  void best_paths(std::int32_t* path, double* score, Arena& arena) {
    task_.path = path;
    task_.path_score = score;
    kbest<Chain>(Call{problem_, task_, prepared_, nullptr, arena}, 0);
  }
  // The score of a labeling.
  double path_score(const std::int32_t* path) const {
    const std::int64_t T = bounds_[1];
    double sum = problem_.start[path[0]] + problem_.stop[path[T - 1]];
    for (std::int64_t t = 0; t < T; ++t) sum += problem_.node[t * L_ + path[t]];
    for (std::int64_t t = 1; t < T; ++t) sum += step_score(path, t);
    return sum;
  }

 private:
  double step_score(const std::int32_t* path, std::int64_t t) const {
    if (learned_.edges) return problem_.edge[0][(t * L_ + path[t - 1]) * L_ + path[t]];
    std::int64_t longest = 0;
    each_ngram(learned_, path, t, [&](int, std::int64_t row) { longest = row; });
    return table_[longest * L_ + path[t]];
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
  double* table_;  // [(tables + 2) * L] scores of transitions, start and stop
  std::int64_t bounds_[2] = {0, 0};
  double value_ = 0.0;
  Problem problem_;
  Task task_;
  Prepared prepared_;
};

// Calls add(weight, memory, amount) for the weights that the attributes of a position have for one
// cell, and minus the amount for those of another.
template <class Add>
inline void each_of_two(const LearnedRows& rows, std::int64_t position, int right, int wrong,
                        Add add) {
  const Live &w = rows.weight, &memory = rows.memory;
  const std::int64_t a = position * w.shards, b = a + w.shards;
  const auto add_row = [&](std::int64_t at, double amount) {
    if (has_weight(w.table[at])) add(w.table + at, memory.table + at, amount);
  };
  for (std::int64_t i = w.row_ptr[a]; i < w.row_ptr[b]; ++i) {
    const std::int64_t row = static_cast<std::int64_t>(w.row[i]) * w.step;
    const double value = w.values ? w.row_value[i] : 1.0;
    add_row(row + right, value);
    add_row(row + wrong, -value);
  }
  for (std::int64_t i = w.short_ptr[a]; i < w.short_ptr[b]; ++i) {
    const double value = w.values ? w.short_value[i] : 1.0;
    std::int64_t c = w.first[i];
    do {
      const int column = w.cell[c].column;
      if (column == right || column == wrong)
        add(&w.cell[c].weight, &memory.cell[c].weight, column == right ? value : -value);
    } while (!w.cell[c++].last);
  }
}

// Calls add(weight, memory, amount) for the features of the gold labels minus those of others, of T
// positions from `first` on; a weight may come more than once.
template <class Add>
inline void each_difference(const Learned& m, std::int64_t first, std::int64_t T,
                            const std::int32_t* gold, const std::int32_t* found, Add add) {
  const int L = m.node.weight.labels;
  const auto add_small = [&](std::int64_t row, int label, double amount) {
    const std::int64_t at = row * m.node.weight.step + label;
    if (m.exists[at] != 0.0) add(m.small + at, m.small_memory + at, amount);
  };
  const auto add_ends = [&](std::int64_t row, int right, int wrong) {
    if (right == wrong) return;
    add_small(row, right, 1.0);
    add_small(row, wrong, -1.0);
  };
  for (std::int64_t t = 0; t < T; ++t)
    if (gold[t] != found[t]) each_of_two(m.node, first + t, gold[t], found[t], add);
  for (std::int64_t t = 1; m.edges && t < T; ++t) {
    const int right = gold[t - 1] * L + gold[t], wrong = found[t - 1] * L + found[t];
    if (right != wrong) each_of_two(m.edge, first + t, right, wrong, add);
  }
  add_ends(m.tables, gold[0], found[0]);
  add_ends(m.tables + 1, gold[T - 1], found[T - 1]);
  std::int64_t same = gold[0] == found[0];  // labels up to t that are the same
  for (std::int64_t t = 1; t < T; ++t) {
    same = gold[t] == found[t] ? same + 1 : 0;
    if (same > m.order) continue;
    each_ngram(m, gold, t, [&](int h, std::int64_t row) {
      if (same <= h) add_small(row, gold[t], 1.0);
    });
    each_ngram(m, found, t, [&](int h, std::int64_t row) {
      if (same <= h) add_small(row, found[t], -1.0);
    });
  }
}

// The most entries that such a difference can have.
inline std::int64_t difference_room(const Learned& m, std::int64_t first, std::int64_t T,
                                    const std::int32_t* gold, const std::int32_t* found) {
  const auto entries = [&](const Live& w, std::int64_t t) {
    const std::int64_t a = (first + t) * w.shards, b = a + w.shards;
    return w.row_ptr[b] - w.row_ptr[a] + w.short_ptr[b] - w.short_ptr[a];
  };
  std::int64_t most = 2 * (m.order * T + 1);
  for (std::int64_t t = 0; t < T; ++t) {
    if (gold[t] != found[t]) most += 2 * entries(m.node.weight, t);
    if (m.edges && t > 0 && (gold[t] != found[t] || gold[t - 1] != found[t - 1]))
      most += 2 * entries(m.edge.weight, t);
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
