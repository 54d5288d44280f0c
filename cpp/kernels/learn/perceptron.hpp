// The perceptron and its kin: the best labels of a sequence, and an update where they are wrong.
//
// With d = features of the gold labels - features of the best labels, m wrong labels of T, and the
// score difference s = -d.w >= 0:
//
//   perceptron  w += d; the loss is m / T (Collins 2002).
//   passive     w += tau d, tau = min(most, cost / (d.d + slack)), cost = s + m, s + sqrt(m) or s +
//   1
//               (Crammer et al. 2006).
//               With k best labelings: the smallest change of w that gives each of them its
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

#include "kernels/learn/decoded.hpp"
#include "kernels/learn/hildreth.hpp"
#include "shared/learned.hpp"

namespace crfkit::CRFKIT_ARCH {

class MistakePass {
 public:
  MistakePass(Mistakes& m, Arena& arena) : m_(m), arena_(arena), decoder_(m, m.kbest) {}

  // Decodes sequence n and learns from its mistakes; returns its loss, or what is not finite.
  double visit(std::int64_t n) {
    const std::int64_t first = m_.seq_ptr[n], T = m_.seq_ptr[n + 1] - first;
    arena_.reset();
    decoder_.score(first, T, arena_);
    if (m_.kbest > 1) return separate(first, T);
    std::int32_t* found = arena_.take<std::int32_t>(T);
    const double value = decoder_.best_path(found, arena_);
    if (!std::isfinite(value)) return value;
    const std::int32_t* gold = m_.label + first;
    std::int64_t wrong = 0;
    for (std::int64_t t = 0; t < T; ++t) wrong += gold[t] != found[t];
    double loss = 0.0;
    if (wrong) {
      const Difference d = difference_of(m_, first, T, gold, found, arena_);
      loss = m_.remedy == Remedy::bounded ? spend(d, wrong, n) : learn(d, wrong, T);
      decoder_.refresh();
    }
    if (m_.remedy == Remedy::bounded) m_.right[n] = wrong ? 0.0 : m_.right[n] + 1.0;
    ++m_.seen;
    return loss;
  }

  void fetch_soon(std::int64_t n) const { fetch_lists_of(m_, n); }
  void fetch_next(std::int64_t n) const { fetch_first_of(m_, n); }

 private:
  // Learns from the k best labelings of a sequence; returns the largest cost of one.
  double separate(std::int64_t first, std::int64_t T) {
    const int k = m_.kbest;
    std::int32_t* path = arena_.take<std::int32_t>(T * k);
    double* score = arena_.take<double>(k);
    decoder_.best_paths(path, score, arena_);
    if (!std::isfinite(score[0])) return score[0];
    const std::int32_t* gold = m_.label + first;
    double* cost = arena_.take<double>(k, 0.0);
    std::int64_t most = 0;
    for (int j = 0; j < k; ++j) {
      const std::int32_t* found = path + j * T;
      if (found[0] < 0) continue;  // there are fewer labelings
      for (std::int64_t t = 0; t < T; ++t) cost[j] += gold[t] != found[t];
      most += difference_room(m_, first, T, gold, found);
    }
    Difference all(most, arena_);
    double* amount = arena_.take<double>(static_cast<std::size_t>(most) * k, 0.0);
    for (int j = 0; j < k; ++j) {
      if (cost[j] == 0.0) continue;
      each_difference(m_, first, T, gold, path + j * T,
                      [&](double* weight, double* memory, double value) {
                        amount[all.add(weight, memory, 0.0) * k + j] += value;
                      });
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
      decoder_.refresh();
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
  Arena& arena_;
  Decoder decoder_;
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
