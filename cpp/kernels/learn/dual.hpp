// Training in the dual: visits of sequences that raise the dual of L2- (and L1-) penalized
// likelihood.
//
// The dual keeps a distribution over labelings for each sequence n, of which only the marginals
// mu_n and a lower bound h_n of the entropy are stored, and
//     v = sum_n c_n (gold_n - mu_n),  w = soft(v, l1) / l2,  D = sum_n c_n h_n - |soft(v, l1)|^2 /
//     (2 l2).
// The best answer to the present w is p(y | x_n; w) with marginals mu' and entropy H' (one sweep),
// and
//     gap_n = log Z_n - <mu_n, scores> - h_n >= 0.
// Mixture step (stochastic dual coordinate ascent, Shalev-Shwartz & Zhang 2013; for CRFs Le Priol
// et al. 2018): mu_n += gamma (mu' - mu_n).  The entropy of a mixture is at least (1 - gamma) h_n +
// gamma H', and near the optimum its slope is twice that, so that the best step is about
//     gamma = 2 gap / (2 gap + |change of v|^2 / l2).
// |change of v|^2 is foreseen from the marginals, times the ratio found at the last visit; the
// exact change of D comes out of the update itself, and a step that was too long is shortened.
// Exponentiated step (Collins et al. 2008; Gupta 2005 section 2.4.2): log-potentials theta_n move
// to theta_n + rate (scores - theta_n); it is undone where D falls.
//
// What a row of marginals stands for matters to the sweep alone (segment_answer.hpp).  Of the
// tables that all places share only cells with weights are kept: the scores of the others are 0 or
// -inf, so that neither v nor a gap depends on their marginals.
//
// Marginals are stored as floats; changes are taken between stored values, so v agrees with them.
#pragma once

#include <cstring>

#include "kernels/learn/dual_scores.hpp"
#include "kernels/learn/segment_answer.hpp"

namespace crfkit::CRFKIT_ARCH {

inline Vec product_or_zero(Vec share, Vec score) { return share != 0.0 ? share * score : Vec{}; }

class DualVisit : DualScores {
 public:
  DualVisit(const Dual& dual, Arena& arena) : DualScores(dual, arena) {}

  // Answers the present weights for sequences by falling length and takes their steps in the stored
  // marginals; what has to be added to v stays in the visits.  `soon` are sequences to come.
  void answer(const std::int64_t* sequences, int lanes, const std::int64_t* soon, int next,
              Visit* visits) {
    d_.segments ? answer_segments(sequences, lanes, soon, next, visits)
                : answer_chains(sequences, lanes, soon, next, visits);
  }

  // Adds the changes of a visit to v, one shard of the attributes; transitions belong to shard 0.
  void apply(Visit& visit, int shard) const {
    const std::int64_t n = visit.sequence, p0 = d_.seq_ptr[n];
    LiveUpdater updater(w_, d_.l1, d_.seq_ptr[n + 1]);
    for (std::int32_t i = 0; i < visit.actives; ++i) {
      const std::int32_t t = visit.active[i];
      updater.position((p0 + t) * w_.shards + shard,
                       visit.node + static_cast<std::int64_t>(t) * step_);
    }
    double quadratic = updater.total() / d_.l2;
    if (shard == 0) {
      Vec squares = {};
      for (std::int64_t k = 0; k < kept_; k += W)
        squares += add(w_.transition + k, load(visit.edge + k) * load(w_.steps + k));
      const std::int64_t last = last_position(n);
      for (int j = 0; j < step_; j += W) {
        if (w_.start && visit.moved_first) squares += add(w_.start + j, load(visit.node + j));
        if (w_.stop && visit.moved_last)
          squares += add(w_.stop + j, load(visit.node + last * step_ + j));
      }
      quadratic += sum_of(squares) / d_.transition_l2;
    }
    visit.quadratic[shard] = quadratic;
  }

  // After the update: what the step was worth, and by how much it has to be repeated (mostly 0).
  void settle(Visit& visit) const {
    const double c = weight(visit.sequence);
    double change = visit.alone;
    for (int k = 0; k < w_.shards; ++k) change += visit.quadratic[k];
    visit.change = change;
    visit.revise = 0.0;
    if (visit.gamma == 0.0) return;
    if (d_.given) {
      if (d_.theta_node) keep_theta(visit);
      return;
    }
    if (d_.theta_node) {
      double& rate = d_.rate[visit.sequence];
      if (c * (visit.entropy - visit.before) - 0.5 * change < 0.0) {
        visit.revise = -1.0;
        rate *= 0.5;
      } else {
        keep_theta(visit);
        rate = rate * 1.05 < 1.0 ? rate * 1.05 : 1.0;
      }
      return;
    }
    const double g = visit.gamma;
    const double curved = (change - 2.0 * g * c * visit.slope) / (g * g);
    const double ratio = curved / visit.estimate;
    d_.curvature[visit.sequence] = ratio < 0.3 ? 0.3 : ratio > 30.0 ? 30.0 : ratio;
    const double better = best_step(c * visit.gap, curved > 0.0 ? curved : 0.0);
    if (g > 1.5 * better) visit.revise = better / g - 1.0;
  }

  // Repeats the change of a visit `revise` times, in the stored marginals and in the visit.
  void revise(Visit& visit) const {
    const std::int64_t n = visit.sequence, p0 = d_.seq_ptr[n];
    const double f = visit.revise, c = weight(n);
    visit.alone = 0.0;
    for (std::int32_t i = 0; i < visit.actives; ++i) {
      const std::int64_t t = visit.active[i];
      float* stored = d_.node + (p0 + t) * step_;
      double* change = visit.node + t * step_;
      for (int j = 0; j < step_; j += W) {
        const Vec before = load(stored + j);
        const Vec after = rounded(before - f / c * load(change + j));
        store(stored + j, after);
        store(change + j, c * (before - after));
      }
      visit.alone += alone_change(p0 + t, change, c);
    }
    for (std::int64_t k = 0; k < kept_; k += W) {
      float* stored = d_.edge + n * kept_ + k;
      const Vec before = load(stored);
      const Vec after = rounded(before - f / c * load(visit.edge + k));
      store(stored, after);
      store(visit.edge + k, c * (before - after));
    }
    const double gamma = visit.gamma * (1.0 + f);
    visit.entropy = visit.before + (visit.entropy - visit.before) * (1.0 + f);
    d_.entropy[n] = visit.entropy;
    visit.gamma = gamma;
  }

 private:
  void answer_chains(const std::int64_t* sequences, int lanes, const std::int64_t* soon, int next,
                     Visit* visits) {
    std::int32_t* length = arena_.take<std::int32_t>(lanes);
    for (int b = 0; b < lanes; ++b) length[b] = rows_in(sequences[b]);
    const Packed rows(Group{0, 0, lanes, length[0]}, length, arena_);
    const std::size_t cells = static_cast<std::size_t>(rows.positions()) * step_;
    double* score = arena_.take<double>(cells);
    score_rows(sequences, lanes, soon, next,
               [&](int b, int t) { return score + rows.position(b, t) * step_; });

    double* kept = kept_scores();
    if (moves_theta()) approach(sequences[0], score, kept);
    const Chains chains = {sequences, lanes, rows, score, kept};
    if (!d_.pairs || !answer_by_pairs(chains, visits)) answer_by_tables(chains, visits);
  }

  // Sequences whose rows are packed, with the scores [positions, step] of rows and [K] of cells.
  struct Chains {
    const std::int64_t* sequences;
    int lanes;
    const Packed& rows;
    const double *score, *kept;
  };

  // Sums by the pairs that differ; false, with nothing done, where they have to be made in logs.
  bool answer_by_pairs(const Chains& c, Visit* visits) {
    const std::size_t cells = static_cast<std::size_t>(c.rows.positions()) * step_;
    const std::int64_t count = d_.pairs->count;
    Problem p = {};
    p.labels = L_;
    p.order = 1;
    const Tables probabilities(L_, *d_.pairs, pair_scores(c.kept)), none(p, false, false);
    const GroupSum sum(p, probabilities, none, c.rows, arena_);
    double *found = arena_.take<double>(cells), *log_z = arena_.take<double>(c.lanes);
    std::memcpy(found, c.score, cells * sizeof(double));
    const EdgeSums sums = {nullptr, arena_.take<double>(count * c.lanes, 0.0), count, nullptr};
    const double* one = arena_.take<double>(c.lanes, 1.0);
    if (!sum.attempt(found, one, w_.forbidden != nullptr, sums, log_z, false)) return false;
    const double* probability = probabilities.table[0].pairs.probability;
    double* edge = arena_.take<double>(kept_, 0.0);
    for (int b = 0; b < c.lanes; ++b) {
      const double* products = sums.products + b * count;
      for (std::int64_t k = 0; k < d_.cells; ++k)
        edge[k] = products[d_.pair[k]] * probability[d_.pair[k]];
      take({c.sequences[b], c.rows, b, c.score, found, c.kept, edge, log_z[b]}, visits[b]);
    }
    return true;
  }

  void answer_by_tables(const Chains& c, Visit* visits) {
    const std::size_t cells = static_cast<std::size_t>(c.rows.positions()) * step_;
    const Problem p = problem(Shape::chain, c.kept);
    const Tables probabilities(p, true, true), scores(p, true, false);
    const GroupSum sum(p, probabilities, scores, c.rows, arena_);
    const double* one = arena_.take<double>(c.lanes, 1.0);
    double *found = arena_.take<double>(cells), *log_z = arena_.take<double>(c.lanes);
    const EdgeSums sums = {arena_.take<double>(table_ * c.lanes, 0.0),
                           arena_.take<double>(table_ * c.lanes, 0.0), table_, nullptr};
    const auto copy = [&] { std::memcpy(found, c.score, cells * sizeof(double)); };
    copy();
    sum.run(found, one, w_.forbidden != nullptr, sums, log_z, copy);
    for (int b = 0; b < c.lanes; ++b) {
      double* edge = sums.edge + b * table_;
      const PooledLayout layout(p);
      for (int h = 0; h < d_.order; ++h)
        for (int m = 0; m < probabilities.table[h].blocks; ++m) {
          const std::int64_t at = layout.table[h] - layout.table[0];
          add_gradients(probabilities.table[h], m, sums.products + b * table_ + at, edge + at);
        }
      hand_back_gradients(edge, L_, step_, d_.order);
      take({c.sequences[b], c.rows, b, c.score, found, c.kept, listed(edge), log_z[b]}, visits[b]);
    }
  }

  // One sequence after the other: the tables alone are shared.
  void answer_segments(const std::int64_t* sequences, int count, const std::int64_t* soon, int next,
                       Visit* visits) {
    double** score = arena_.take<double*>(count);
    for (int b = 0; b < count; ++b)
      score[b] = arena_.take<double>(static_cast<std::size_t>(rows_in(sequences[b])) * step_);
    score_rows(sequences, count, soon, next,
               [&](int b, int t) { return score[b] + static_cast<std::ptrdiff_t>(t) * step_; });
    double* kept = kept_scores();
    if (moves_theta()) approach(sequences[0], score[0], kept);
    const Problem p = problem(Shape::segments, kept);
    const SegmentAnswer sum(*d_.segments, p, w_.forbidden_at != nullptr, arena_);
    for (int b = 0; b < count; ++b) {
      const std::int64_t n = sequences[b];
      const std::int32_t length = rows_in(n);
      const Packed rows(Group{0, 0, 1, length}, &length, arena_);
      double* found = arena_.take<double>(static_cast<std::size_t>(length) * step_);
      double* edge = arena_.take<double>(table_, 0.0);
      const double log_z = sum.run(n, d_.seq_ptr, score[b], found, edge);
      take({n, rows, 0, score[b], found, kept, listed(edge), log_z}, visits[b]);
    }
  }

  double best_step(double gap, double curved) const {
    const double step = d_.relax * 2.0 * gap / (2.0 * gap + curved);
    return step < 1e-3 ? 1e-3 : step < 1.0 ? step : 1.0;
  }
  Vec add(double* v, Vec change) const {
    const Vec before = load(v), after = before + change, l1 = splat(d_.transition_l1);
    store(v, after);
    const Vec a = soft(after, l1), b = soft(before, l1);
    return a * a - b * b;
  }

  // Attributes of position p, with a row or without.
  double rows_of(std::int64_t p) const {
    const std::int64_t a = p * w_.shards, b = a + w_.shards;
    return static_cast<double>(w_.row_ptr[b] - w_.row_ptr[a] + w_.short_ptr[b] - w_.short_ptr[a]) +
           (w_.alone ? w_.alone[p] : 0.0f);
  }

  // Change of |soft(v)|^2 / l2 of the attributes that only position p has, which are not stored:
  // their weights for all labels or for the gold one only.  `change` [step] is that of
  // weight * (gold - marginals), up to the marginals of now.
  double alone_change(std::int64_t p, const double* change, double c) const {
    if (!w_.alone || w_.alone[p] == 0.0f) return 0.0;
    const double each = w_.alone[p] / d_.l2;
    const float* marginal = d_.node + p * step_;
    if (!w_.alone_full) {
      const int y = d_.label[p];
      const double v = c * (1.0 - marginal[y]);
      const double a = soft(v, d_.l1), b = soft(v - change[y], d_.l1);
      return each * (a * a - b * b);
    }
    Vec squares = {};
    for (int j = 0; j < step_; j += W) {
      const Vec v = c * gold_minus(p, j, load(marginal + j));
      const Vec a = soft(v, splat(d_.l1)), b = soft(v - load(change + j), splat(d_.l1));
      squares += a * a - b * b;
    }
    return each * sum_of(squares);
  }

  // What one sequence answers: scores and marginals [rows, step] among those of its group, the
  // scores of the tables [K] and the sums of their marginals [K].
  struct Answer {
    std::int64_t sequence;
    const Packed& rows;
    int lane;
    const double *score, *found, *edge_score, *edge_found;
    double log_z;
  };

  // The step of one sequence, from its scores and the marginals found.
  void take(const Answer& answer, Visit& visit) {
    const std::int64_t n = answer.sequence, p0 = d_.seq_ptr[n];
    const std::int32_t T = answer.rows.length(answer.lane);
    visit.sequence = n;
    visit.scores = answer.score;
    visit.edge_scores = answer.edge_score;
    visit.node = arena_.take<double>(static_cast<std::size_t>(T) * step_);
    visit.edge = arena_.take<double>(kept_);
    visit.active = arena_.take<std::int32_t>(T);
    visit.before = d_.entropy[n];
    Vec scored_old = {}, scored_new = {}, squares = {}, edge_squares = {};
    for (std::int32_t t = 0; t < T; ++t) {
      const std::int64_t at = answer.rows.position(answer.lane, t) * step_;
      const double rows = rows_of(p0 + t);
      for (int j = 0; j < step_; j += W) {
        const Vec old = load(d_.node + (p0 + t) * step_ + j), now = load(answer.found + at + j);
        const Vec s = load(answer.score + at + j), change = old - now;
        scored_old += product_or_zero(old, s);
        scored_new += product_or_zero(now, s);
        squares += rows * (change * change);
        store(visit.node + static_cast<std::int64_t>(t) * step_ + j, change);
      }
    }
    for (std::int64_t k = 0; k < kept_; k += W) {
      const Vec old = load(d_.edge + n * kept_ + k), now = load(answer.edge_found + k);
      const Vec s = load(answer.edge_score + k), change = old - now;
      scored_old += product_or_zero(old, s);
      scored_new += product_or_zero(now, s);
      edge_squares += change * change * load(w_.steps + k);
      store(visit.edge + k, change);
    }
    const double c = weight(n), h = visit.before;
    const double entropy = answer.log_z - sum_of(scored_new);
    visit.gap = answer.log_z - sum_of(scored_old) - h;
    visit.slope = entropy - h - visit.gap;
    visit.estimate = c * c * (sum_of(squares) / d_.l2 + sum_of(edge_squares) / d_.transition_l2);
    visit.alone = 0.0;
    visit.actives = 0;
    visit.gamma = 0.0;
    visit.entropy = h;
    visit.moved_first = visit.moved_last = false;
    if (d_.given) {
      visit.gamma = 1.0;
    } else if (d_.theta_node) {
      visit.gap /= d_.rate[n] * d_.rate[n];
      visit.gamma = 1.0;
    } else if (visit.gap > 1e-12 && visit.estimate > 0.0 && c > 0.0) {
      visit.gamma = best_step(c * visit.gap, d_.curvature[n] * visit.estimate);
    }
    if (visit.gamma == 0.0 || c == 0.0) return still(visit);
    visit.entropy = h + visit.gamma * (entropy - h);
    d_.entropy[n] = visit.entropy;
    const std::int32_t last = last_position(n);
    for (std::int32_t t = 0; t < T; ++t) move(visit, t, last, c);
    for (std::int64_t k = 0; k < kept_; k += W) {
      float* stored = d_.edge + n * kept_ + k;
      const Vec old = load(stored);
      const Vec now = rounded(old - visit.gamma * load(visit.edge + k));
      store(stored, now);
      store(visit.edge + k, c * (old - now));
    }
  }

  // Moves the stored marginals of one row; changes below the threshold wait for a later visit.
  void move(Visit& visit, std::int32_t t, std::int32_t last, double c) const {
    const std::int64_t p = d_.seq_ptr[visit.sequence] + t;
    double* change = visit.node + static_cast<std::int64_t>(t) * step_;
    Vec largest = {};
    for (int j = 0; j < step_; j += W) largest = max(largest, absolute(load(change + j)));
    if (visit.gamma * max_of(largest) <= d_.threshold) return;
    for (int j = 0; j < step_; j += W) {
      float* stored = d_.node + p * step_ + j;
      const Vec old = load(stored);
      const Vec now = rounded(old - visit.gamma * load(change + j));
      store(stored, now);
      store(change + j, c * (old - now));
    }
    visit.alone += alone_change(p, change, c);
    visit.moved_first |= t == 0;
    visit.moved_last |= t == last;
    visit.active[visit.actives++] = t;
  }
  void still(Visit& visit) const {
    visit.gamma = 0.0;
    for (std::int64_t k = 0; k < kept_; k += W) store(visit.edge + k, Vec{});
  }
};

}  // namespace crfkit::CRFKIT_ARCH
