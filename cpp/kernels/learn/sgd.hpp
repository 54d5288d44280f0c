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

#include <cstring>

#include "kernels/learn/live_edges.hpp"
#include "kernels/learn/row_steps.hpp"
#include "kernels/learn/scored.hpp"
#include "kernels/sweep/group_sum.hpp"

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

    double* gradient = arena_.take<double>(static_cast<std::size_t>(last - first) * step_);
    double* small = arena_.take<double>(small_size(), 0.0);
    const Live none = {};
    const LiveEdges edges(s_.edges ? s_.edge.weight : none, edge_.moved(), edge_.scale(), first,
                          s_.edges ? last : first, L_, arena_);
    const double loss = share * sweep(first, last, gradient, small, edges);
    if (!std::isfinite(loss)) return loss;

    if (s_.rule == Rule::cumulative) {
      s_.attributes.due += rate * s_.attributes.l1;
      s_.others.due += rate * s_.others.l1;
    }
    const double gain = node_.gain(share);
    for (std::int64_t k = 0; k < (last - first) * step_; k += W)
      store(gradient + k, gain * load(gradient + k));
    node_.take(first, last, [&](std::int64_t p) { return gradient + (p - first) * step_; });
    node_.finish(first, last);
    if (s_.edges) {
      edges.add_changes(s_.label + first, L_, edge_.gain(share));
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

  // The step of transitions, start and stop; gradient [small] is observed - expected.
  void step_small(const double* gradient, double share) const {
    const Proximal rule{s_.rate, s_.others.l1, s_.others.l2, s_.offset};
    for (std::int64_t k = 0; k < small_size(); k += W) {
      const Vec g = -share * load(gradient + k) * load(s_.exists + k), w = load(s_.small + k);
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

  // Returns the loss of one sequence; gradients are gold - marginals: [T, step], and of the tables
  // [tables + 2, step].  Those of edge attributes stay with them.
  double sweep(std::int64_t first, std::int64_t last, double* gradient, double* small,
               const LiveEdges& edges) {
    const std::int32_t T = static_cast<std::int32_t>(last - first);
    const std::size_t cells = static_cast<std::size_t>(T) * step_;
    double* node = arena_.take<double>(cells);
    double* table = arena_.take<double>(static_cast<std::size_t>(s_.tables + 2) * L_ + kPad);
    const LiveScorer scorer(s_.node.weight, 0.0, node_.scale(), last);
    double trouble = finite(s_.small, small_size()) + (edges.finite() ? 0.0 : kNaN);
    for (std::int32_t t = 0; t < T; ++t) {
      scorer.position(first + t, node + t * step_);
      trouble += finite(node + t * step_, L_);
    }
    if (trouble != 0.0) return trouble;
    score_small(s_, table);
    for (int j = 0; j < L_; ++j) {
      node[j] += table[s_.tables * L_ + j];
      node[(T - 1) * step_ + j] += table[(s_.tables + 1) * L_ + j];
    }

    Problem p = {};
    p.shape = Shape::chain;
    p.labels = L_;
    p.order = s_.order;
    point_at(table, p);
    const Tables probabilities(p, true, true), scores(p, true, false);
    const Packed rows(Group{0, 0, 1, T}, &T, arena_);
    EdgeFactors factors(edges.rows(), shared_of(probabilities.table[0]), L_, arena_);
    const std::size_t shared = static_cast<std::size_t>(s_.tables) * step_;
    const EdgeSums sums = {arena_.take<double>(shared, 0.0), arena_.take<double>(shared, 0.0), 0,
                           s_.edges ? &factors : nullptr};
    const auto copy = [&] { std::memcpy(gradient, node, cells * sizeof(double)); };
    const double one = 1.0;
    double log_z;
    copy();
    if (!GroupSum(p, probabilities, scores, rows, arena_)
             .run(gradient, &one, s_.forbidden != nullptr, sums, &log_z, copy))
      return kNaN;
    const PooledLayout layout(p);
    for (int h = 0; h < s_.order; ++h)
      for (int m = 0; m < probabilities.table[h].blocks; ++m) {
        const std::int64_t at = layout.table[h] - layout.table[0];
        add_gradients(probabilities.table[h], m, sums.products + at, sums.edge + at);
      }
    hand_back_gradients(sums.edge, L_, step_, s_.order);
    for (std::size_t k = 0; k < shared; k += W) store(small + k, -load(sums.edge + k));

    const std::int32_t* gold = s_.label + first;
    double score = s_.edges ? edges.score(gold, step_) : 0.0;
    for (std::int32_t t = 0; t < T; ++t) {
      score += node[t * step_ + gold[t]];
      std::int64_t longest = -1;
      each_ngram(s_, gold, t, [&](int, std::int64_t row) {
        small[row * step_ + gold[t]] += 1.0;
        longest = row;
      });
      if (t > 0) score += table[longest * L_ + gold[t]];
      for (int j = 0; j < step_; j += W)
        store(gradient + t * step_ + j, -load(gradient + t * step_ + j));
      gradient[t * step_ + gold[t]] += 1.0;
    }
    double *start = small + s_.tables * step_, *stop = start + step_;
    std::memcpy(start, gradient, step_ * sizeof(double));
    std::memcpy(stop, gradient + (T - 1) * step_, step_ * sizeof(double));
    return log_z - score;
  }

  // The probabilities of the steps, row by row, where edge attributes change them: [L, step].
  const double* shared_of(const Table& table) {
    if (!s_.edges) return nullptr;
    double* shared = arena_.take<double>(static_cast<std::size_t>(L_) * step_);
    for (int i = 0; i < L_; ++i)
      for (int j = 0; j < step_; j += W)
        store(shared + i * step_ + j, load(table.matrix(0) + packed_index(L_, L_, i, j)));
    return shared;
  }

  static constexpr double kNaN = __builtin_nan("");

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
