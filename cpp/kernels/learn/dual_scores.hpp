// Scores of sequences by the present weights of dual training (dual.hpp has the formulas).
#pragma once

#include "kernels/learn/ngrams.hpp"
#include "kernels/linear/live_rows.hpp"
#include "kernels/sweep/group_sum.hpp"

namespace crfkit::CRFKIT_ARCH {

class DualScores {
 protected:
  DualScores(const Dual& dual, Arena& arena)
      : d_(dual),
        w_(dual.live),
        L_(dual.live.labels),
        step_(dual.live.step),
        table_(static_cast<std::int64_t>(dual.tables) * step_),
        kept_(dual.kept),
        arena_(arena) {}

  std::int32_t rows_in(std::int64_t n) const {
    return static_cast<std::int32_t>(d_.seq_ptr[n + 1] - d_.seq_ptr[n]);
  }
  // The row of the last position of a sequence; that of the first is 0.
  int last_position(std::int64_t n) const {
    return static_cast<int>(d_.segments ? d_.segments->positions(n) : rows_in(n)) - 1;
  }
  double weight(std::int64_t n) const { return d_.weight ? d_.weight[n] : 1.0; }
  bool moves_theta() const { return d_.theta_node && !d_.given; }

  Vec gold_minus(std::int64_t p, int j, Vec marginal) const {
    Vec v = -marginal;
    const int gold = d_.label[p] - j;
    if (gold >= 0 && gold < W) v[gold] += 1.0;
    return v;
  }

  // Scores of the rows of sequences, with start and stop in those of the first and the last
  // position, into at(sequence, row)[step].
  template <class At>
  void score_rows(const std::int64_t* sequences, int count, const std::int64_t* soon, int next,
                  At at) {
    const double *start = ends(w_.start, 0), *stop = ends(w_.stop, 1);
    fetch_weights(sequences[0]);
    for (int b = 0; b < count; ++b) {
      if (b + 1 < count) fetch_weights(sequences[b + 1]);
      for (int t = 0; t < rows_in(sequences[b]); ++t) score_position(sequences[b], t, at(b, t));
      if (b < next) fetch(soon[b]);
      if (start) add_to(at(b, 0), start);
      if (stop) add_to(at(b, last_position(sequences[b])), stop);
    }
  }

  // Scores [K] of the cells of the tables that are kept.
  double* kept_scores() {
    double* out = arena_.take<double>(kept_, 0.0);
    const double scale = 1.0 / d_.transition_l2;
    if (d_.given) {
      each_cell([&](std::int64_t k, int i, int j) { out[k] = d_.given_edge[i * L_ + j]; });
    } else if (w_.forbidden) {
      each_cell([&](std::int64_t k, int i, int j) {
        out[k] = scale * soft(w_.transition[k], d_.transition_l1) + w_.forbidden[i * step_ + j];
      });
    } else {
      const Vec l1 = splat(d_.transition_l1);
      for (std::int64_t k = 0; k < kept_; k += W)
        store(out + k, scale * soft(load(w_.transition + k), l1));
    }
    return out;
  }

  // A problem without sequences whose tables have the kept scores: those of transitions [L, L],
  // longer n-grams or lengths [D, L].
  Problem problem(Shape shape, const double* kept) {
    double* table = arena_.take<double>(static_cast<std::size_t>(d_.tables) * L_ + kPad, 0.0);
    each_cell([&](std::int64_t k, int i, int j) { table[i * L_ + j] = kept[k]; });
    for (int i = 0; w_.forbidden && i < d_.tables; ++i)
      for (int j = 0; j < L_; ++j) table[i * L_ + j] += w_.forbidden[i * step_ + j];
    Problem p = {};
    p.shape = shape;
    p.labels = L_;
    p.order = d_.order;
    p.edge[0] = table;
    if (d_.order > 1) {  // longer n-grams get the scores of the shorter ones
      add_up_scores(table, L_, d_.order);
      point_at(table, p);
    }
    return p;
  }

  // Scores of all pairs [count + 1], the common one last; a pair that is not kept is forbidden.
  const double* pair_scores(const double* kept) {
    double* out = arena_.take<double>(d_.pairs->count + 1, kZero);
    for (std::int64_t k = 0; k < d_.cells; ++k) out[d_.pair[k]] = kept[k];
    out[d_.pairs->count] = 0.0;
    return out;
  }

  // Calls f(number, row, label) for the cells of the tables that are kept.
  template <class F>
  void each_cell(F f) const {
    for (std::int64_t k = 0; d_.cell && k < d_.cells; ++k)
      f(k, d_.cell[k] / step_, d_.cell[k] % step_);
    for (int i = 0; !d_.cell && i < d_.tables; ++i)
      for (int j = 0; j < L_; ++j) f(static_cast<std::int64_t>(i) * step_ + j, i, j);
  }

  // The cells of the tables that are kept, [K], of tables [tables, step].
  const double* listed(const double* table) {
    if (!d_.cell) return table;
    double* out = arena_.take<double>(kept_, 0.0);
    for (std::int64_t k = 0; k < d_.cells; ++k) out[k] = table[d_.cell[k]];
    return out;
  }

  // Exponentiated step: scores become theta + rate (scores - theta), as they will be stored.
  // Start and stop are part of the first and last rows.
  void approach(std::int64_t n, double* score, double* kept) const {
    const double rate = d_.rate[n];
    const std::int64_t first = d_.seq_ptr[n], last = d_.seq_ptr[n + 1];
    const auto nearer = [rate](double& to, double theta) {
      if (to > kZero) to = static_cast<float>(theta + rate * (to - theta));
    };
    for (std::int64_t p = first; p < last; ++p)
      for (int j = 0; j < L_; ++j)
        nearer(score[(p - first) * step_ + j], d_.theta_node[p * step_ + j]);
    each_cell([&](std::int64_t k, int, int) { nearer(kept[k], d_.theta_edge[n * kept_ + k]); });
  }
  void keep_theta(const Visit& visit) const {
    const std::int64_t n = visit.sequence, first = d_.seq_ptr[n], last = d_.seq_ptr[n + 1];
    const auto keep = [](float& theta, double score) {
      if (score > kZero) theta = static_cast<float>(score);
    };
    for (std::int64_t p = first; p < last; ++p)
      for (int j = 0; j < L_; ++j)
        keep(d_.theta_node[p * step_ + j], visit.scores[(p - first) * step_ + j]);
    each_cell([&](std::int64_t k, int, int) {
      keep(d_.theta_edge[n * kept_ + k], visit.edge_scores[k]);
    });
  }

  const Dual& d_;
  const LiveOf<float>& w_;
  int L_, step_;
  std::int64_t table_, kept_;  // cells of the tables that all places share; those that are kept
  Arena& arena_;

 private:
  // Brings what belongs to a sequence nearer, for a visit to come.
  void fetch(std::int64_t n) const {
    const std::int64_t first = d_.seq_ptr[n], last = d_.seq_ptr[n + 1];
    for (const float* p = d_.node + first * step_; p < d_.node + last * step_; p += 16)
      __builtin_prefetch(p, 0, 2);
    const float* edge = d_.edge + n * kept_;
    for (const float* p = edge; p < edge + kept_ && kept_ <= 4096; p += 16)
      __builtin_prefetch(p, 0, 2);
    fetch_lists(w_, first, last);
  }
  void fetch_weights(std::int64_t n) const {
    if (!d_.given) fetch_first(w_, d_.seq_ptr[n], d_.seq_ptr[n + 1]);
  }

  // Scores of position t of a sequence into out[step].
  void score_position(std::int64_t n, int t, double* out) const {
    const std::int64_t p = d_.seq_ptr[n] + t;
    if (d_.given) {
      for (int j = 0; j < L_; ++j) out[j] = d_.given[p * L_ + j];
      return;
    }
    LiveScorer(w_, d_.l1, 1.0 / d_.l2, d_.seq_ptr[n + 1]).position(p, out);
    if (!w_.alone || w_.alone[p] == 0.0f) return;
    const double c = weight(n), each = w_.alone[p] / d_.l2;
    if (!w_.alone_full) {
      const int y = d_.label[p];
      out[y] += each * soft(c * (1.0 - d_.node[p * step_ + y]), d_.l1);
      return;
    }
    for (int j = 0; j < step_; j += W) {
      const Vec v = c * gold_minus(p, j, load(d_.node + p * step_ + j));
      store(out + j, load(out + j) + each * soft(v, splat(d_.l1)));
    }
  }
  void add_to(double* out, const double* from) const {
    for (int j = 0; j < L_; ++j) out[j] += from[j];
  }

  const double* ends(const double* v, int which) {
    if (d_.given) return d_.given_ends ? d_.given_ends + which * L_ : nullptr;
    if (!v && !w_.forbidden_at) return nullptr;
    double* out = arena_.take<double>(step_, 0.0);
    for (int j = 0; j < L_; ++j)
      out[j] = (v ? soft(v[j], d_.transition_l1) / d_.transition_l2 : 0.0) +
               (w_.forbidden_at ? w_.forbidden_at[which * step_ + j] : 0.0);
    return out;
  }
};

}  // namespace crfkit::CRFKIT_ARCH
