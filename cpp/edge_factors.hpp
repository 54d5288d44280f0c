// Steps that edge attributes change: the table of one position, and the credits of its cells.
//
//   probability[i, j] = shared[i, j] * product over occurrences of exp(value * weight[cell i, j])
//
// A row of an edge attribute has few cells as a rule: the messages of the shared table are then
// mended by what these cells differ.  Where they are many, or where a weight takes so much from a
// step that the difference would lose digits, the position gets a table, made anew on the way back:
// no position keeps scores of its own.  Factors of rows without values are exponentiated once per
// evaluation and not at each occurrence.  Bounds of the rows tell how far a position's scores may
// lie from the shared ones (see Safety).
#pragma once

#include "arena.hpp"
#include "evaluation.hpp"
#include "simd.hpp"

namespace crfkit::CRFKIT_ARCH {

// Bounds of the scores of attributes [first, last), 0 included, and, where they are wanted, the
// factors of their weights; false when a weight is not finite.
inline bool fill_factors(const EdgeRows& e, std::int64_t first, std::int64_t last) {
  Vec probe = {};  // turns into nan
  for (std::int64_t a = first; a < last; ++a) {
    Vec lowest = {}, highest = {};
    for (std::int64_t k = e.rows.ptr[a]; k < e.rows.ptr[a + 1]; k += W) {
      const std::int64_t rest = e.rows.ptr[a + 1] - k;
      const int count = rest < W ? static_cast<int>(rest) : W;
      const Vec w = load_part(e.rows.weight + k, count, 0.0);
      probe += w - w;
      lowest = min(lowest, w);
      highest = max(highest, w);
      if (e.factor) store_part(e.factor + k, count, exp(min(w, splat(709.0))));
    }
    e.low[a] = min_of(lowest);
    e.high[a] = max_of(highest);
  }
  return sum_of(probe) == 0.0;
}

class EdgeFactors {
 public:
  // `shared`: probabilities of the steps [labels, step], row by row.
  EdgeFactors(const EdgeRows& e, const double* shared, int labels, Arena& arena)
      : e_(e), shared_(shared), n_(labels), step_(padded(labels)) {
    if (!e.ptr) return;
    const std::size_t cells = static_cast<std::size_t>(labels) * step_;
    table_ = arena.take<double>(cells);
    changed_ = arena.take<double>(cells);
    for (std::size_t c = 0; c < cells; c += W) store(changed_ + c, load(shared + c));
  }

  bool has(std::int64_t p) const { return e_.ptr[p] < e_.ptr[p + 1]; }

  // What the attributes of a position may at most add to the score of a step, and take from it.
  struct Reach {
    double added = 0.0, taken = 0.0;
  };
  Reach reach(std::int64_t p) const {
    Reach reach;
    each(p, [&](std::int64_t o, double value) {
      const std::int32_t a = e_.attribute[o];
      reach.added += value * (value < 0.0 ? e_.low[a] : e_.high[a]);
      reach.taken -= value * (value < 0.0 ? e_.high[a] : e_.low[a]);
    });
    return reach;
  }

  // Whether a position gets a table of its own; else the messages of the shared table are mended.
  bool wants_table(std::int64_t p) const {
    std::int64_t cells = 0;
    double taken = 0.0;
    each(p, [&](std::int64_t o, double value) {
      const std::int32_t a = e_.attribute[o];
      cells += e_.rows.ptr[a + 1] - e_.rows.ptr[a];
      taken -= value * (value < 0.0 ? e_.high[a] : e_.low[a]);
    });
    return cells * kFewCells > e_.rows.width || !(taken < kMended);
  }

  // out[j] = sum over i of x[i] * probability[i, j] of position p.
  template <int V>
  void pull(std::int64_t p, const double* x, double* out) {
    fill(p);
    constexpr int kVectors = V ? V : 1, kSums = 4;
    for (int column = 0; column < step_; column += kVectors * W) {
      Vec sum[kSums][kVectors] = {};
      int i = 0;
      for (; i + kSums <= n_; i += kSums)
        for (int u = 0; u < kSums; ++u)
          for (int v = 0; v < kVectors; ++v)
            sum[u][v] += x[i + u] * load(row(i + u) + column + v * W);
      for (; i < n_; ++i)
        for (int v = 0; v < kVectors; ++v) sum[0][v] += x[i] * load(row(i) + column + v * W);
      for (int v = 0; v < kVectors; ++v)
        store(out + column + v * W, (sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]));
    }
  }

  // back[i] = sum over j of probability[i, j] * g[j]; the credits x[i] * probability[i, j] * g[j]
  // are added to those of the steps [labels, step] and of the weights.
  template <int V>
  void push(std::int64_t p, const double* x, const double* g, double* back, double* steps) {
    fill(p);
    const int vectors = V ? V : step_ / W;
    for (int i = 0; i < n_; ++i) {
      double* credit = steps + static_cast<std::ptrdiff_t>(i) * step_;
      Vec sum = {};
      for (int v = 0; v < vectors; ++v) {
        const Vec a = load(row(i) + v * W) * load(g + v * W), share = x[i] * a;
        sum += a;
        store(row(i) + v * W, share);
        store(credit + v * W, load(credit + v * W) + share);
      }
      back[i] = sum_of(sum);
    }
    for (int i = n_; i < step_; ++i) back[i] = 0.0;
    add_credits(p);
  }

  // The same two for messages that the shared table has made: out[j] and back[i] get what the
  // position's own probabilities differ by.
  void mend(std::int64_t p, const double* x, double* out) {
    change(p);
    each_cell(p, [&](double, std::int64_t k) {
      const EdgeCell c = e_.cell[k];
      out[c.to] += x[c.from] * (changed_[c.at] - shared_[c.at]);
      changed_[c.at] = shared_[c.at];  // a cell of two attributes counts once
    });
  }
  void mend_back(std::int64_t p, const double* x, const double* g, double* back, double* steps) {
    change(p);
    each(p, [&](std::int64_t o, double value) {
      const EdgeCell* cell = e_.cell + first_weight(o);
      double* sum = sum_of_row(o);
      for (std::int64_t k = 0, count = weights_of(o); k < count; ++k)
        sum[k] += value * (x[cell[k].from] * g[cell[k].to] * changed_[cell[k].at]);
    });
    each_cell(p, [&](double, std::int64_t k) {
      const EdgeCell c = e_.cell[k];
      const double a = g[c.to] * (changed_[c.at] - shared_[c.at]);
      back[c.from] += a;
      steps[c.at] += x[c.from] * a;
      changed_[c.at] = shared_[c.at];
    });
  }

  // Credits [labels, labels] that are known already.
  void add(std::int64_t p, const double* credits, double weight, double* steps) {
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) {
        row(i)[j] = weight * credits[i * n_ + j];
        steps[i * step_ + j] += row(i)[j];
      }
    add_credits(p);
  }

  // score[i, j] += the scores of position p, [labels, labels].
  void add_scores(std::int64_t p, double* score) const {
    each_cell(p, [&](double value, std::int64_t k) {
      score[e_.rows.column[k]] += value * e_.rows.weight[k];
    });
  }

 private:
  // A message that is mended loses the digits that the shared table had too much, exp(taken): two.
  static constexpr double kMended = 5.0;
  static constexpr std::int64_t kFewCells = 4;  // a table is cheaper from a quarter of the cells on

  double* row(int i) const { return table_ + static_cast<std::ptrdiff_t>(i) * step_; }

  // f(occurrence, value) for the attributes of a position.
  template <class F>
  void each(std::int64_t p, F f) const {
    for (std::int64_t o = e_.ptr[p]; o < e_.ptr[p + 1]; ++o) f(o, e_.value ? e_.value[o] : 1.0);
  }
  // f(value, weight) for all their weights.
  template <class F>
  void each_cell(std::int64_t p, F f) const {
    each(p, [&](std::int64_t o, double value) {
      const std::int64_t first = first_weight(o), last = first + weights_of(o);
      for (std::int64_t k = first; k < last; ++k) f(value, k);
    });
  }
  std::int64_t first_weight(std::int64_t o) const { return e_.rows.ptr[e_.attribute[o]]; }
  std::int64_t weights_of(std::int64_t o) const {
    return e_.rows.ptr[e_.attribute[o] + 1] - first_weight(o);
  }
  bool full(std::int64_t o) const { return weights_of(o) == e_.rows.width; }

  // Where the credits of an occurrence are added up, weight by weight.
  double* sum_of_row(std::int64_t o) const {
    return e_.target[o] < 0 ? e_.gradient + first_weight(o) : e_.partial + e_.target[o];
  }

  // exp(value * weight) of the weights [k, k + count), count at most W.
  Vec factors(std::int64_t k, int count, double value) const {
    return e_.factor ? load_part(e_.factor + k, count, 1.0)
                     : exp(min(value * load_part(e_.rows.weight + k, count, 0.0), splat(709.0)));
  }

  void multiply(std::int64_t o, double value, double* table) const {
    for (std::int64_t k = first_weight(o), last = k + weights_of(o); k < last; k += W) {
      const int count = last - k < W ? static_cast<int>(last - k) : W;
      double f[W];
      store(f, factors(k, count, value));
      for (int c = 0; c < count; ++c) table[e_.cell[k + c].at] *= f[c];
    }
  }

  void change(std::int64_t p) {
    each(p, [&](std::int64_t o, double value) { multiply(o, value, changed_); });
  }

  void fill(std::int64_t p) {
    const double* from = shared_;
    each(p, [&](std::int64_t o, double value) {
      if (full(o)) {
        const std::int64_t first = first_weight(o);
        for (int i = 0; i < n_; ++i)
          for (int j = 0; j < step_; j += W)
            store(row(i) + j,
                  load(from + i * step_ + j) * factors(first + i * n_ + j, n_ - j, value));
      } else {
        if (from == shared_)
          for (int c = 0; c < n_ * step_; c += W) store(table_ + c, load(shared_ + c));
        multiply(o, value, table_);
      }
      from = table_;
    });
  }

  void add_credits(std::int64_t p) const {
    each(p, [&](std::int64_t o, double value) {
      double* sum = sum_of_row(o);
      if (full(o)) {
        for (int i = 0; i < n_; ++i)
          for (int j = 0; j < n_; j += W) {
            double* to = sum + i * n_ + j;
            store_part(to, n_ - j, load_part(to, n_ - j, 0.0) + value * load(row(i) + j));
          }
      } else {
        const EdgeCell* cell = e_.cell + first_weight(o);
        for (std::int64_t k = 0, count = weights_of(o); k < count; ++k)
          sum[k] += value * table_[cell[k].at];
      }
    });
  }

  const EdgeRows& e_;
  const double* shared_;
  int n_, step_;
  double* table_ = nullptr;    // [labels, step] probabilities of a position, then credits
  double* changed_ = nullptr;  // [labels, step] the shared ones, but while a position is mended
};

}  // namespace crfkit::CRFKIT_ARCH
