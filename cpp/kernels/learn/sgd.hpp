// Stochastic gradient steps, one sequence at a time, on live weights.
//
// With g the gradient of weight_n * [log Z(x_n) - score of the gold], eta the rate of the step, and
// l1, l2 the strengths of a step (those of the penalty over the number of sequences):
//
//   decayed     w <- (1 - eta l2) w - eta g.  Stored is w / scale, so that the decay is one product
//               (Shalev-Shwartz et al. 2007 without projection; CRFsuite's l2sgd).
//   cumulative  w <- clip(w - eta g).  With u the sum of eta l1 so far and q what clipping has done
//               to the weight, clip(w) is max(0, w - (u + q)) for w > 0, min(0, w + (u - q)) for
//               w < 0 (Tsuruoka et al. 2009; Wapiti's sgd-l1).
//   adaptive    w <- soft(w - a g, a l1) / (1 + a l2), a = eta / (offset + sqrt(sum of g^2))
//               (Duchi et al. 2011, composite mirror descent with a diagonal matrix).
//
// Rows of attributes take their steps in row_steps.hpp; tables that all places share, here.
#pragma once

#include "kernels/learn/row_steps.hpp"
#include "kernels/learn/scored.hpp"
#include "kernels/sweep/sums.hpp"

namespace crfkit::CRFKIT_ARCH {

class StochasticVisit {
 public:
  StochasticVisit(Stochastic& s, Arena& arena)
      : s_(s),
        node_(s, s.node, s.node_steps, s.attributes),
        edge_(s, s.edge, s.edge_steps, s.others),
        L_(s.node.weight.labels),
        step_(s.node.weight.step),
        arena_(arena) {}

  // One step with sequence n; returns its weighted loss before the step, or what is not finite.
  double visit(std::int64_t n, double rate) {
    const std::int64_t first = s_.seq_ptr[n], last = s_.seq_ptr[n + 1];
    const double share = s_.share ? s_.share[n] : 1.0;
    s_.rate = rate;
    if (s_.rule == Rule::decayed) decay();
    node_.prepare(first, last);
    if (s_.edges) edge_.prepare(first + 1, last);

    double* credit = arena_.take<double>(static_cast<std::size_t>(last - first) * step_, 0.0);
    double* small = arena_.take<double>(small_size(), 0.0);
    double* steps = nullptr;
    if (s_.edges)
      steps = arena_.take<double>(static_cast<std::size_t>(last - first) * L_ * L_ + kPad);
    const double loss = share * sweep(first, last, credit, small, steps);
    if (!std::isfinite(loss)) return loss;

    if (s_.rule == Rule::cumulative) {
      s_.attributes.due += rate * s_.attributes.l1;
      s_.others.due += rate * s_.others.l1;
    }
    const double gain = node_.gain(share);
    for (std::int64_t k = 0; k < (last - first) * step_; k += W)
      store(credit + k, gain * load(credit + k));
    node_.take(first, last, [&](std::int64_t p) { return credit + (p - first) * step_; });
    node_.finish(first, last);
    if (s_.edges) {
      double* row = arena_.take<double>(s_.edge.weight.step, 0.0);
      const double edge_gain = edge_.gain(share);
      edge_.take(first + 1, last, [&](std::int64_t p) {
        const double* found = steps + (p - first) * L_ * L_;
        for (int k = 0; k < L_ * L_; k += W)
          store_part(row + k, L_ * L_ - k, edge_gain * load_part(found + k, L_ * L_ - k, 0.0));
        return row;
      });
      edge_.finish(first + 1, last);
    }
    step_small(small, share);
    ++s_.time;
    return loss;
  }

  void settle() {
    node_.settle();
    if (s_.edges) edge_.settle();
    s_.time = 0;
  }

 private:
  std::int64_t small_size() const { return (s_.tables + 2) * step_; }

  void decay() {
    const double left = 1.0 - s_.rate * s_.attributes.l2;
    node_.decay(left);
    // Where the strengths differ, 1 - rate * l2 might be below 0: the proximal form never is.
    const double small =
        s_.others.l2 == s_.attributes.l2 ? left : 1.0 / (1.0 + s_.rate * s_.others.l2);
    if (s_.edges) edge_.decay(small);
    for (std::int64_t k = 0; k < small_size(); k += W)
      store(s_.small + k, small * load(s_.small + k));
  }

  // The step of transitions, start and stop; credit [small] is observed - expected.
  void step_small(const double* credit, double share) const {
    const Proximal rule{s_.rate, s_.others.l1, s_.others.l2, s_.offset};
    for (std::int64_t k = 0; k < small_size(); k += W) {
      const Vec g = -share * load(credit + k) * load(s_.exists + k), w = load(s_.small + k);
      Vec memory = load(s_.small_memory + k), after;
      if (s_.rule == Rule::adaptive) {
        memory += g * g;
        after = rule.step(w, g, memory);
      } else {
        after = w - s_.rate * g;
        if (s_.rule == Rule::cumulative) after = clip(after, memory, s_.others.due);
      }
      store(s_.small + k, after);
      store(s_.small_memory + k, memory);
    }
  }

  // Returns the loss of one sequence; credits are gold - marginals: [T, step], of the tables
  // [tables + 2, step], and of steps [T, L * L] where there are edge attributes.
  double sweep(std::int64_t first, std::int64_t last, double* credit, double* small,
               double* steps) {
    const std::int64_t T = last - first, seq_ptr[2] = {0, T}, cells = L_ * L_;
    double* node = arena_.take<double>(static_cast<std::size_t>(T) * L_ + kPad);
    double* found = arena_.take<double>(static_cast<std::size_t>(T) * L_ + kPad);
    double* table = arena_.take<double>(static_cast<std::size_t>(s_.tables + 2) * L_ + kPad);
    double* scored = nullptr;
    score_positions(s_.node.weight, node_.scale(), first, last, node);
    score_small(s_, table);
    double trouble = finite(node, T * L_) + finite(s_.small, small_size());
    if (s_.edges) {
      scored = arena_.take<double>(static_cast<std::size_t>(T) * cells + kPad);
      score_steps(s_.edge.weight, edge_.scale(), first, last, table, scored);
      trouble += finite_or_forbidden(scored, T * cells);
    }
    if (trouble != 0.0) return trouble;

    double log_z;
    const Problem p = chain_of(s_, seq_ptr, node, table, scored);
    Task task = {};
    task.query = Query::sum;
    task.value = &log_z;
    task.credits.node = found;
    task.credits.edge = steps;
    task.credits.edge_step = p.edge_step;
    const PooledLayout layout(p);
    double* pooled = arena_.take<double>(layout.size, 0.0);
    const Prepared prepared(p, task);
    sum<Chain>(Call{p, task, prepared, pooled, arena_}, 0);
    finish_products(p, prepared.probabilities, pooled);

    const std::int32_t* gold = s_.label + first;
    double *start = small + s_.tables * step_, *stop = start + step_;
    for (std::int64_t t = 0; t < T; ++t)
      for (int j = 0; j < L_; ++j) credit[t * step_ + j] = (gold[t] == j) - found[t * L_ + j];
    for (int j = 0; j < L_; ++j) {
      start[j] = credit[j];
      stop[j] = credit[(T - 1) * step_ + j];
    }
    double score = p.start[gold[0]] + p.stop[gold[T - 1]];
    for (std::int64_t t = 0; t < T; ++t) {
      score += node[t * L_ + gold[t]];
      std::int64_t longest = -1;
      each_ngram(s_, gold, t, [&](int, std::int64_t row) {
        small[row * step_ + gold[t]] += 1.0;
        longest = row;
      });
      if (t == 0) continue;
      const std::int64_t at = t * cells + longest * L_ + gold[t];
      score += s_.edges ? scored[at] : table[longest * L_ + gold[t]];
      if (s_.edges) take_steps(steps + t * cells, at - t * cells, small);
    }
    if (!s_.edges) take_tables(pooled + layout.table[0], small);
    return log_z - score;
  }

  // Takes the marginals of the tables [tables, step] from the credits.
  void take_tables(double* found, double* small) const {
    hand_back_credits(found, L_, step_, s_.order);
    for (std::int64_t k = 0; k < s_.tables * step_; k += W)
      store(small + k, load(small + k) - load(found + k));
  }

  // Takes the marginals of the steps into a position from the credits of all steps, and makes them
  // credits of the position itself: [L * L].
  void take_steps(double* steps, std::int64_t gold, double* small) const {
    for (int i = 0; i < L_; ++i)
      for (int j = 0; j < L_; j += W) {
        double *sum = small + static_cast<std::int64_t>(i) * step_ + j, *own = steps + i * L_ + j;
        const Vec found = load_part(own, L_ - j, 0.0);
        store(sum, load(sum) - found);
        store_part(own, L_ - j, -found);
      }
    steps[gold] += 1.0;
  }

  // 0, or nan when some of n scores are neither finite nor -inf.
  static double finite_or_forbidden(const double* x, std::int64_t n) {
    Vec sum = {};
    for (std::int64_t k = 0; k < n; k += W) {
      const Vec v = load_part(x + k, n - k < W ? static_cast<int>(n - k) : W, 0.0);
      sum += v == kZero ? Vec{} : 0.0 * v;
    }
    return sum_of(sum);
  }

  Stochastic& s_;
  RowVisit node_, edge_;
  int L_, step_;
  Arena& arena_;
};

// Visits sequences in the given order; the sum of their losses, or the first that is not finite.
inline double stochastic_visits(Stochastic& s, const std::int64_t* order, const double* rate,
                                std::int64_t count, void* scratch) {
  Arena& arena = *static_cast<Arena*>(scratch);
  double total = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    arena.reset();
    const double loss = StochasticVisit(s, arena).visit(order[i], rate[i]);
    if (!std::isfinite(loss)) return loss;
    total += loss;
  }
  return total;
}

// Ends a pass: every weight gets what is due to it.
inline void stochastic_settle(Stochastic& s, void* scratch) {
  StochasticVisit(s, *static_cast<Arena*>(scratch)).settle();
}

}  // namespace crfkit::CRFKIT_ARCH
