// The perceptron and its kin: the best labels of a sequence, and an update where they are wrong.
//
// With d = features of the gold labels - features of the best labels, m wrong labels of T, and the
// score difference s = -d.w >= 0:
//
//   perceptron  w += d; the loss is m / T (Collins 2002).
//   passive     w += tau d, tau = min(most, cost / (d.d + slack)), cost = s + m, s + sqrt(m) or s +
//   1
//               (Crammer et al. 2006).
//               With k best labellings: the smallest change of w that gives each of them its
//               cost s + m, steps of at most `most` each, by Hildreth's procedure (MIRA: Crammer &
//               Singer 2003; McDonald, Crammer & Pereira 2005).
//   confidence  w += cost / (gamma + d.V.d) V d, then 1/V += d^2 / gamma; cost = s + m
//               (AROW with a diagonal V: Mejer & Crammer 2010).
//   bounded     w += tau d, tau = (m - s) / d.d, the sum of a sequence's steps at most `most`: the
//               MIRA of CRF++, in which a larger s makes the step shorter, not longer.
//
// The average of the weights after each of c sequences is w - u / c, where u adds up c times each
// update: a sequence without a mistake costs no more than its decoding.
#pragma once

#include "kernels/learn/hildreth.hpp"
#include "kernels/learn/scored.hpp"
#include "kernels/sweep/best.hpp"
#include "kernels/sweep/kbest.hpp"
#include "shared/mistakes.hpp"

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
    std::uint64_t at = reinterpret_cast<std::uintptr_t>(weight) / sizeof(double);
    at = (at * 0x9e3779b97f4a7c15ULL) >> 20;
    for (;; ++at) {
      std::int32_t& slot = slot_[at & mask_];
      if (slot < 0) {
        slot = count_;
        entries_[count_++] = {weight, memory, amount};
        __builtin_prefetch(memory, 1);
        return slot;
      }
      if (entries_[slot].weight == weight) {
        entries_[slot].amount += amount;
        return slot;
      }
    }
  }

  Entry* begin() { return entries_; }
  const Entry* begin() const { return entries_; }
  const Entry* end() const { return entries_ + count_; }

 private:
  Entry* entries_;
  std::int32_t count_ = 0;
  std::int32_t* slot_;
  std::uint64_t mask_;
};

// One of k differences over the same entries: amounts [entries * k].
struct Column {
  Difference& entries;
  double* amount;
  int k, number;

  void add(double* weight, double* memory, double value) {
    const std::int64_t at = entries.add(weight, memory, 0.0);
    amount[at * k + number] += value;
  }
};

class MistakePass {
 public:
  MistakePass(Mistakes& m, Arena& arena)
      : m_(m),
        w_(m.weight),
        L_(w_.labels),
        arena_(arena),
        table_(lasting_.take<double>(static_cast<std::size_t>(L_ + 2) * L_ + kPad, 0.0)),
        problem_(chain_of(L_, bounds_, nullptr, table_)),
        task_(decoding(&value_, m.kbest)),
        prepared_(problem_, task_) {
    refresh();
  }

  // Decodes sequence n and learns from its mistakes; returns its loss, or what is not finite.
  double visit(std::int64_t n) {
    const std::int64_t first = m_.seq_ptr[n], T = m_.seq_ptr[n + 1] - first, only = 0;
    arena_.reset();
    double* node = arena_.take<double>(static_cast<std::size_t>(T) * L_ + kPad);
    score_positions(w_, 1.0, first, first + T, node);
    bounds_[1] = T;
    problem_.node = node;
    task_.path = arena_.take<std::int32_t>(T * m_.kbest);
    if (m_.kbest > 1) return separate(first, T);
    best<Chain>(Call{problem_, task_, prepared_, nullptr, arena_}, only);
    if (!std::isfinite(value_)) return value_;
    const std::int32_t *gold = m_.label + first, *found = task_.path;
    std::int64_t wrong = 0;
    for (std::int64_t t = 0; t < T; ++t) wrong += gold[t] != found[t];
    double loss = 0.0;
    if (wrong) {
      Difference d(room(first, T, gold, found), arena_);
      add_difference(d, first, T, gold, found);
      loss = m_.remedy == Remedy::bounded ? spend(d, wrong, n) : learn(d, wrong, T);
      refresh();
    }
    if (m_.remedy == Remedy::bounded) m_.right[n] = wrong ? 0.0 : m_.right[n] + 1.0;
    ++m_.seen;
    return loss;
  }

  void fetch_soon(std::int64_t n) const { fetch_lists(w_, m_.seq_ptr[n], m_.seq_ptr[n + 1]); }
  void fetch_next(std::int64_t n) const { fetch_first(w_, m_.seq_ptr[n], m_.seq_ptr[n + 1]); }

 private:
  static Task decoding(double* value, int k) {
    Task task = {};
    task.query = Query::best;
    task.value = value;
    task.k = k;
    return task;
  }

  // Takes over what has become of transitions, start and stop.
  void refresh() {
    score_small(m_, table_);
    prepared_.scores.table[0].fill_scores(table_);
  }

  // The most entries that a difference can have.
  std::int64_t room(std::int64_t first, std::int64_t T, const std::int32_t* gold,
                    const std::int32_t* found) const {
    const std::int64_t K = w_.shards;
    std::int64_t most = 2 * (T + 1);
    for (std::int64_t t = 0; t < T; ++t) {
      if (gold[t] == found[t]) continue;
      const std::int64_t a = (first + t) * K, b = a + K;
      most += 2 * (w_.row_ptr[b] - w_.row_ptr[a] + w_.short_ptr[b] - w_.short_ptr[a]);
    }
    return most;
  }

  template <class Sparse>
  void add_difference(Sparse& d, std::int64_t first, std::int64_t T, const std::int32_t* gold,
                      const std::int32_t* found) const {
    const std::int64_t K = w_.shards;
    for (std::int64_t t = 0; t < T; ++t) {
      if (gold[t] == found[t]) continue;
      const std::int64_t a = (first + t) * K, b = a + K;
      for (std::int64_t i = w_.row_ptr[a]; i < w_.row_ptr[b]; ++i) {
        const std::int64_t row = static_cast<std::int64_t>(w_.row[i]) * w_.step;
        const double value = w_.values ? w_.row_value[i] : 1.0;
        add_row(d, row + gold[t], value);
        add_row(d, row + found[t], -value);
      }
      for (std::int64_t i = w_.short_ptr[a]; i < w_.short_ptr[b]; ++i)
        add_cells(d, w_.first[i], gold[t], found[t], w_.values ? w_.short_value[i] : 1.0);
    }
    add_ends(d, L_, gold[0], found[0]);
    add_ends(d, L_ + 1, gold[T - 1], found[T - 1]);
    for (std::int64_t t = 1; t < T; ++t) {
      if (gold[t - 1] == found[t - 1] && gold[t] == found[t]) continue;
      add_small(d, gold[t - 1], gold[t], 1.0);
      add_small(d, found[t - 1], found[t], -1.0);
    }
  }

  template <class Sparse>
  void add_row(Sparse& d, std::int64_t at, double amount) const {
    if (has_weight(w_.table[at])) d.add(w_.table + at, m_.memory.table + at, amount);
  }
  template <class Sparse>
  void add_cells(Sparse& d, std::int64_t c, int gold, int found, double value) const {
    do {
      const int column = w_.cell[c].column;
      if (column == gold || column == found)
        d.add(&w_.cell[c].weight, &m_.memory.cell[c].weight, column == gold ? value : -value);
    } while (!w_.cell[c++].last);
  }
  template <class Sparse>
  void add_ends(Sparse& d, int row, int gold, int found) const {
    if (gold == found) return;
    add_small(d, row, gold, 1.0);
    add_small(d, row, found, -1.0);
  }
  template <class Sparse>
  void add_small(Sparse& d, int row, int label, double amount) const {
    const std::int64_t at = static_cast<std::int64_t>(row) * w_.step + label;
    if (m_.exists[at] != 0.0) d.add(m_.small + at, m_.small_memory + at, amount);
  }

  // Learns from the k best labellings of a sequence; returns the largest cost of one.
  double separate(std::int64_t first, std::int64_t T) {
    const int k = m_.kbest;
    task_.path_score = arena_.take<double>(k);
    kbest<Chain>(Call{problem_, task_, prepared_, nullptr, arena_}, 0);
    if (!std::isfinite(task_.path_score[0])) return task_.path_score[0];
    const std::int32_t* gold = m_.label + first;
    double* cost = arena_.take<double>(k, 0.0);
    std::int64_t most = 0;
    for (int j = 0; j < k; ++j) {
      const std::int32_t* found = task_.path + j * T;
      if (found[0] < 0) continue;  // there are fewer labellings
      for (std::int64_t t = 0; t < T; ++t) cost[j] += gold[t] != found[t];
      most += room(first, T, gold, found);
    }
    Difference all(most, arena_);
    double* amount = arena_.take<double>(static_cast<std::size_t>(most) * k, 0.0);
    for (int j = 0; j < k; ++j) {
      Column d{all, amount, k, j};
      if (cost[j] > 0.0) add_difference(d, first, T, gold, task_.path + j * T);
    }
    double* product = arena_.take<double>(static_cast<std::size_t>(k) * k, 0.0);
    const double* row = amount;
    for (const Difference::Entry& e : all) {
      for (int i = 0; i < k; ++i) {
        cost[i] -= row[i] * *e.weight;
        for (int j = 0; j < k; ++j) product[i * k + j] += row[i] * row[j];
      }
      row += k;
    }
    double loss = 0.0;
    for (int j = 0; j < k; ++j) loss = cost[j] > loss ? cost[j] : loss;
    if (loss <= kSatisfied * static_cast<double>(T)) {
      loss = 0.0;
    } else {
      double* step = arena_.take<double>(k, 0.0);
      hildreth(product, cost, k, m_.most, step);
      row = amount;
      for (Difference::Entry& e : all) {
        for (int j = 0; j < k; ++j) e.amount += step[j] * row[j];
        row += k;
      }
      move(all, 1.0);
      refresh();
    }
    ++m_.seen;
    return loss;
  }

  // A step by the rule of CRF++; returns the cost while the sequence has steps left.
  double spend(const Difference& d, std::int64_t wrong, std::int64_t n) const {
    double cost = static_cast<double>(wrong), squares = 0.0;
    for (const Difference::Entry& e : d) {
      cost += e.amount * *e.weight;
      squares += e.amount * e.amount;
    }
    if (!(cost > 0.0 && squares > 0.0)) return 0.0;
    const double left = m_.most - m_.spent[n], step = cost / squares;
    move(d, step > left ? left : step);
    m_.spent[n] = step > left ? m_.most : m_.spent[n] + step;
    return step > left ? 0.0 : cost;
  }

  double learn(const Difference& d, std::int64_t wrong, std::int64_t T) const {
    const double errors = static_cast<double>(wrong);
    if (m_.remedy == Remedy::perceptron) {
      move(d, 1.0);
      return errors / static_cast<double>(T);
    }
    double margin = 0.0, squares = 0.0;
    for (const Difference::Entry& e : d) {
      const double square = e.amount * e.amount;
      margin -= e.amount * *e.weight;
      squares += m_.remedy == Remedy::confidence ? *e.memory * square : square;
    }
    if (m_.remedy == Remedy::confidence) {
      const double cost = margin + errors, rate = cost / (m_.gamma + squares);
      for (const Difference::Entry& e : d) {
        if (e.amount == 0.0) continue;
        *e.weight += rate * *e.memory * e.amount;
        *e.memory = 1.0 / (1.0 / *e.memory + e.amount * e.amount / m_.gamma);
      }
      return cost;
    }
    const double due = m_.margin == Margin::errors ? errors : std::sqrt(errors);
    const double cost = margin + (m_.margin == Margin::one ? 1.0 : due);
    const double square = squares + m_.slack, tau = cost / square;
    if (square > 0.0) move(d, tau < m_.most ? tau : m_.most);
    return cost;
  }

  void move(const Difference& d, double length) const {
    const double late = m_.averaged ? static_cast<double>(m_.seen) : 0.0;
    for (const Difference::Entry& e : d) {
      const double change = length * e.amount;
      *e.weight += change;
      if (m_.averaged) *e.memory += late * change;
    }
  }

  Mistakes& m_;
  const Live& w_;
  int L_;
  Arena& arena_;
  Arena lasting_;
  double* table_;  // [(L + 2) * L] scores of transitions, start and stop
  std::int64_t bounds_[2] = {0, 0};
  double value_ = 0.0;
  Problem problem_;
  Task task_;
  Prepared prepared_;
};

// Visits sequences in the given order; the sum of their losses, or the first that is not finite.
inline double mistake_pass(Mistakes& m, const std::int64_t* order, std::int64_t count,
                           void* scratch) {
  MistakePass pass(m, *static_cast<Arena*>(scratch));
  double total = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + 2 < count) pass.fetch_soon(order[i + 2]);
    if (i + 1 < count) pass.fetch_next(order[i + 1]);
    const double loss = pass.visit(order[i]);
    if (!std::isfinite(loss)) return loss;
    total += loss;
  }
  return total;
}

}  // namespace crfkit::CRFKIT_ARCH
