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
// Rows that a sequence lacks have g = 0: they are clipped, or make up for the proximal steps that
// they have missed (rules.hpp), when they are met again, and at the end of a pass.
#pragma once

#include "kernels/learn/rules.hpp"
#include "kernels/learn/scored.hpp"
#include "kernels/sweep/sums.hpp"
#include "shared/stochastic.hpp"

namespace crfkit::CRFKIT_ARCH {

class StochasticVisit {
 public:
  StochasticVisit(Stochastic& s, Arena& arena)
      : s_(s), w_(s.weight), L_(w_.labels), step_(w_.step), arena_(arena) {}

  // One step with sequence n; returns its weighted loss before the step, or what is not finite.
  double visit(std::int64_t n, double rate) {
    const std::int64_t first = s_.seq_ptr[n], last = s_.seq_ptr[n + 1];
    const double share = s_.share ? s_.share[n] : 1.0;
    s_.rate = rate;
    if (s_.rule == Rule::decayed) decay();
    if (s_.rule == Rule::adaptive)
      touched(
          first, last, [&](std::int64_t r) { rest_row(r, s_.time); },
          [&](std::int64_t c) { rest_cells(c, s_.time); });

    double* credit = arena_.take<double>(static_cast<std::size_t>(last - first) * step_, 0.0);
    double* small = arena_.take<double>(small_size(), 0.0);
    const double loss = share * sweep(first, last, credit, small);
    if (!std::isfinite(loss)) return loss;

    const double gain = s_.rule == Rule::adaptive ? -share : rate * share / s_.scale;
    for (std::int64_t k = 0; k < (last - first) * step_; k += W)
      store(credit + k, gain * load(credit + k));
    LiveUpdater updater(s_.rule == Rule::adaptive ? s_.gradient : w_, 0.0, last);
    for (std::int64_t p = first; p < last; ++p)
      for (int shard = 0; shard < w_.shards; ++shard)
        updater.position(p * w_.shards + shard, credit + (p - first) * step_);

    if (s_.rule == Rule::adaptive) {
      touched(
          first, last, [&](std::int64_t r) { step_row(r); },
          [&](std::int64_t c) { step_cells(c); });
    } else if (s_.rule == Rule::cumulative) {
      s_.due += rate * s_.l1;
      s_.small_due += rate * s_.small_l1;
      touched(
          first, last, [&](std::int64_t r) { clip_row(r); },
          [&](std::int64_t c) { clip_cells(c); });
    }
    step_small(small, share);
    ++s_.time;
    return loss;
  }

  void settle() {
    if (s_.rule == Rule::decayed) {
      for (std::int64_t k = 0; k < s_.rows * step_; k += W)
        store(w_.table + k, s_.scale * load(w_.table + k));
      for (std::int64_t c = 0; c < s_.cells; ++c) w_.cell[c].weight *= s_.scale;
      s_.scale = 1.0;
    } else if (s_.rule == Rule::cumulative) {
      for (std::int64_t r = 0; r < s_.rows; ++r) clip_row(r);
      for (std::int64_t c = 0; c < s_.cells; ++c) clip_cell(c);
    } else {
      for (std::int64_t r = 0; r < s_.rows; ++r) {
        rest_row(r, s_.time);
        s_.row_time[r] = 0;
      }
      for (std::int64_t c = 0; c < s_.cells; ++c) {
        if (c == 0 || w_.cell[c - 1].last) rest_cells(c, s_.time);
      }
      for (std::int64_t c = 0; c < s_.cells; ++c) s_.cell_time[c] = 0;
    }
    s_.time = 0;
  }

 private:
  std::int64_t small_size() const { return static_cast<std::int64_t>(L_ + 2) * step_; }
  Proximal node_rule() const { return {s_.rate, s_.l1, s_.l2, s_.offset}; }

  void decay() {
    const double left = 1.0 - s_.rate * s_.l2;
    if (s_.scale * left < 1e-30) settle();
    s_.scale *= left;
    // Where the strengths differ, 1 - rate * l2 might be below 0: the proximal form never is.
    const double small = s_.small_l2 == s_.l2 ? left : 1.0 / (1.0 + s_.rate * s_.small_l2);
    for (std::int64_t k = 0; k < small_size(); k += W)
      store(s_.small + k, small * load(s_.small + k));
  }

  // Calls row(r) and cells(c) for the entries of some positions; the same may come up twice.
  template <class OfRow, class OfCells>
  void touched(std::int64_t first, std::int64_t last, OfRow row, OfCells cells) const {
    const std::int64_t end = w_.row_ptr[last * w_.shards];
    for (std::int64_t i = w_.row_ptr[first * w_.shards]; i < end; ++i) {
      fetch_row(w_, i + kAhead, end);
      fetch_row(s_.memory, i + kAhead, end);
      row(w_.row[i]);
    }
    const std::int64_t short_end = w_.short_ptr[last * w_.shards];
    for (std::int64_t i = w_.short_ptr[first * w_.shards]; i < short_end; ++i) cells(w_.first[i]);
  }

  void clip_row(std::int64_t r) const {
    for (std::int64_t k = r * step_; k < (r + 1) * step_; k += W) {
      Vec received = load(s_.memory.table + k);
      store(w_.table + k, clip(load(w_.table + k), received, s_.due));
      store(s_.memory.table + k, received);
    }
  }
  void clip_cell(std::int64_t c) const {
    Vec received = splat(s_.memory.cell[c].weight);
    w_.cell[c].weight = clip(splat(w_.cell[c].weight), received, s_.due)[0];
    s_.memory.cell[c].weight = received[0];
  }
  void clip_cells(std::int64_t c) const {
    do clip_cell(c);
    while (!w_.cell[c++].last);
  }

  // Brings a row up to `time`, without gradients.
  void rest_row(std::int64_t r, std::int64_t time) const {
    const Proximal rule = node_rule();
    const double missed = static_cast<double>(time - s_.row_time[r]);
    s_.row_time[r] = time;
    if (missed == 0.0 || rule.still()) return;
    for (std::int64_t k = r * step_; k < (r + 1) * step_; k += W)
      store(w_.table + k, rule.rest(load(w_.table + k), load(s_.memory.table + k), missed));
  }
  void rest_cells(std::int64_t c, std::int64_t time) const {
    const Proximal rule = node_rule();
    const double missed = static_cast<double>(time - s_.cell_time[c]);
    s_.cell_time[c] = time;
    if (missed == 0.0 || rule.still()) return;
    do {
      double& w = w_.cell[c].weight;
      w = rule.rest(splat(w), splat(s_.memory.cell[c].weight), missed)[0];
    } while (!w_.cell[c++].last);
  }

  // The step of a row that is up to date and has a gradient; a second call does nothing.
  void step_row(std::int64_t r) const {
    if (s_.row_time[r] > s_.time) return;
    s_.row_time[r] = s_.time + 1;
    const Proximal rule = node_rule();
    for (std::int64_t k = r * step_; k < (r + 1) * step_; k += W) {
      const Vec g = load(s_.gradient.table + k), squares = load(s_.memory.table + k) + g * g;
      store(w_.table + k, rule.step(load(w_.table + k), g, squares));
      store(s_.memory.table + k, squares);
      store(s_.gradient.table + k, has_weight(g) ? Vec{} : splat(kNoWeight));
    }
  }
  void step_cells(std::int64_t c) const {
    if (s_.cell_time[c] > s_.time) return;
    s_.cell_time[c] = s_.time + 1;
    const Proximal rule = node_rule();
    do {
      double &w = w_.cell[c].weight, &g = s_.gradient.cell[c].weight;
      double& squares = s_.memory.cell[c].weight;
      squares += g * g;
      w = rule.step(splat(w), splat(g), splat(squares))[0];
      g = 0.0;
    } while (!w_.cell[c++].last);
  }

  // The step of transitions, start and stop; credit [small] is observed - expected.
  void step_small(const double* credit, double share) const {
    const Proximal rule{s_.rate, s_.small_l1, s_.small_l2, s_.offset};
    for (std::int64_t k = 0; k < small_size(); k += W) {
      const Vec g = -share * load(credit + k) * load(s_.exists + k), w = load(s_.small + k);
      Vec memory = load(s_.small_memory + k), after;
      if (s_.rule == Rule::adaptive) {
        memory += g * g;
        after = rule.step(w, g, memory);
      } else {
        after = w - s_.rate * g;
        if (s_.rule == Rule::cumulative) after = clip(after, memory, s_.small_due);
      }
      store(s_.small + k, after);
      store(s_.small_memory + k, memory);
    }
  }

  // Returns the loss of one sequence; credits are gold - marginals: [T, step] and [(L + 2) * step].
  double sweep(std::int64_t first, std::int64_t last, double* credit, double* small) {
    const std::int64_t T = last - first, seq_ptr[2] = {0, T}, order = 0;
    double* node = arena_.take<double>(static_cast<std::size_t>(T) * L_ + kPad);
    double* found = arena_.take<double>(static_cast<std::size_t>(T) * L_ + kPad);
    double* table = arena_.take<double>(static_cast<std::size_t>(L_ + 2) * L_ + kPad);
    score_positions(w_, s_.scale, first, last, node);
    score_small(s_, table);
    const double trouble = finite(node, T * L_) + finite(s_.small, small_size());
    if (trouble != 0.0) return trouble;

    double log_z;
    const Problem p = chain_of(L_, seq_ptr, node, table);
    Task task = {};
    task.query = Query::sum;
    task.value = &log_z;
    task.credits.node = found;
    const PooledLayout layout(p);
    double* pooled = arena_.take<double>(layout.size, 0.0);
    const Prepared prepared(p, task);
    sum<Chain>(Call{p, task, prepared, pooled, arena_}, order);
    finish_products(p, prepared.probabilities, pooled);

    const std::int32_t* gold = s_.label + first;
    double *start = small + static_cast<std::int64_t>(L_) * step_, *stop = start + step_;
    for (std::int64_t t = 0; t < T; ++t)
      for (int j = 0; j < L_; ++j) credit[t * step_ + j] = (gold[t] == j) - found[t * L_ + j];
    for (int j = 0; j < L_; ++j) {
      start[j] = credit[j];
      stop[j] = credit[(T - 1) * step_ + j];
      for (int i = 0; i < L_; ++i) small[i * step_ + j] = -pooled[layout.table[0] + i * step_ + j];
    }
    double score = p.start[gold[0]] + p.stop[gold[T - 1]];
    for (std::int64_t t = 0; t < T; ++t) {
      score += node[t * L_ + gold[t]];
      if (t == 0) continue;
      score += table[gold[t - 1] * L_ + gold[t]];
      small[gold[t - 1] * step_ + gold[t]] += 1.0;
    }
    return log_z - score;
  }

  Stochastic& s_;
  const Live& w_;
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
