// Steps that edge attributes change: the table of one position, and the gradients of its cells.
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

#include "kernels/simd/arena.hpp"
#include "kernels/simd/simd.hpp"
#include "shared/evaluation.hpp"

namespace crfkit::CRFKIT_ARCH {

// Bounds of the scores of attributes [first, last), 0 included, and, where they are wanted, the
// factors of their weights; false when a weight is not finite.
inline bool fill_factors(const EdgeRows& e, std::int64_t first, std::int64_t last) {
  Vec probe = {};  // turns into nan
  for (std::int64_t a = first; a < last; ++a) {
    EdgeRow& row = e.row[a];
    Vec lowest = {}, highest = {};
    for (std::int64_t k = 0; k < row.count; k += W) {
      const int count = row.count - k < W ? static_cast<int>(row.count - k) : W;
      const Vec w = load_part(e.weight + row.first + k, count, 0.0);
      probe += w - w;
      lowest = min(lowest, w);
      highest = max(highest, w);
      if (e.factor) store_part(e.factor + row.first + k, count, exp(min(w, splat(709.0))));
    }
    row.low = min_of(lowest);
    row.high = max_of(highest);
  }
  return sum_of(probe) == 0.0;
}

// How the steps into a position get their probabilities.
enum class Steps : std::uint8_t { shared, mended, own };

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

  // Chooses for a position; `range` becomes what its attributes add at most to the scores of some
  // steps and take from those of others.
  Steps choose(std::int64_t p, double* range) const {
    std::int64_t cells = 0;
    double added = 0.0, taken = 0.0;
    each(p, [&](std::int64_t o, double value, const EdgeRow& row) {
      fetch(o + kAhead, o + kAhead / 2);
      cells += row.count;
      added += value * (value < 0.0 ? row.low : row.high);
      taken -= value * (value < 0.0 ? row.high : row.low);
    });
    *range = added + taken;
    return cells == 0                                        ? Steps::shared
           : cells * kFewCells <= n_ * n_ && taken < kMended ? Steps::mended
                                                             : Steps::own;
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
            sum[u][v] += x[i + u] * load(own(i + u) + column + v * W);
      for (; i < n_; ++i)
        for (int v = 0; v < kVectors; ++v) sum[0][v] += x[i] * load(own(i) + column + v * W);
      for (int v = 0; v < kVectors; ++v)
        store(out + column + v * W, (sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]));
    }
  }

  // back[i] = sum over j of probability[i, j] * g[j]; the gradients x[i] * probability[i, j] * g[j]
  // are added to those of the steps [labels, step] and of the weights.
  template <int V>
  void push(std::int64_t p, const double* x, const double* g, double* back, double* steps) {
    fill(p);
    const int vectors = V ? V : step_ / W;
    for (int i = 0; i < n_; ++i) {
      double* gradient = steps + static_cast<std::ptrdiff_t>(i) * step_;
      Vec sum = {};
      for (int v = 0; v < vectors; ++v) {
        const Vec a = load(own(i) + v * W) * load(g + v * W), share = x[i] * a;
        sum += a;
        store(own(i) + v * W, share);
        store(gradient + v * W, load(gradient + v * W) + share);
      }
      back[i] = sum_of(sum);
    }
    for (int i = n_; i < step_; ++i) back[i] = 0.0;
    add_gradients(p);
  }

  // The same two for messages that the shared table has made: out[j] and back[i] get what the
  // position's own probabilities differ by.
  void mend(std::int64_t p, const double* x, double* out) {
    if (e_.ptr[p + 1] - e_.ptr[p] == 1) {
      each_factor(p, [&](std::int64_t, double, const EdgeCell& c, std::int64_t, double f) {
        out[c.to] += x[c.from] * (shared_[c.at] * f - shared_[c.at]);
      });
      return;
    }
    change(p, changed_);
    each_factor(p, [&](std::int64_t, double, const EdgeCell& c, std::int64_t, double) {
      out[c.to] += x[c.from] * (changed_[c.at] - shared_[c.at]);
      changed_[c.at] = shared_[c.at];  // a cell of two attributes counts once
    });
  }
  void mend_back(std::int64_t p, const double* x, const double* g, double* back, double* steps) {
    each(p, [&](std::int64_t o, double, const EdgeRow&) { fetch(o - kAhead, o - kAhead / 2); });
    const auto add = [&](const EdgeCell& c, double a) {
      back[c.from] += a;
      steps[c.at] += x[c.from] * a;
    };
    if (e_.ptr[p + 1] - e_.ptr[p] == 1) {
      double* sum = sum_of_row(e_.ptr[p]);
      each_factor(p, [&](std::int64_t, double value, const EdgeCell& c, std::int64_t k, double f) {
        const double own = shared_[c.at] * f;
        sum[k] += value * (x[c.from] * g[c.to] * own);
        add(c, g[c.to] * (own - shared_[c.at]));
      });
      return;
    }
    change(p, changed_);
    each_factor(p, [&](std::int64_t o, double value, const EdgeCell& c, std::int64_t k, double) {
      sum_of_row(o)[k] += value * (x[c.from] * g[c.to] * changed_[c.at]);
    });
    each_factor(p, [&](std::int64_t, double, const EdgeCell& c, std::int64_t, double) {
      add(c, g[c.to] * (changed_[c.at] - shared_[c.at]));
      changed_[c.at] = shared_[c.at];
    });
  }

  // Gradients [labels, labels] that are known already.
  void add(std::int64_t p, const double* gradients, double weight, double* steps) {
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) {
        own(i)[j] = weight * gradients[i * n_ + j];
        steps[i * step_ + j] += own(i)[j];
      }
    add_gradients(p);
  }

  // score[i, j] += the scores of position p, [labels, labels].
  void add_scores(std::int64_t p, double* score) const {
    each(p, [&](std::int64_t, double value, const EdgeRow& row) {
      for (std::int64_t k = row.first; k < row.first + row.count; ++k)
        score[e_.cell[k].from * n_ + e_.cell[k].to] += value * e_.weight[k];
    });
  }

 private:
  // A message that is mended loses the digits that the shared table had too much, exp(taken): two.
  static constexpr double kMended = 5.0;
  static constexpr std::int64_t kFewCells = 4;  // a table is cheaper from a quarter of the cells on

  double* own(int i) const { return table_ + static_cast<std::ptrdiff_t>(i) * step_; }

  // f(occurrence, value, row) for the attributes of a position.
  template <class F>
  void each(std::int64_t p, F f) const {
    for (std::int64_t o = e_.ptr[p]; o < e_.ptr[p + 1]; ++o)
      f(o, e_.value ? e_.value[o] : 1.0, e_.row[e_.attribute[o]]);
  }
  // f(occurrence, value, cell, weight within the row, factor) for all their weights.
  template <class F>
  void each_factor(std::int64_t p, F f) const {
    each(p, [&](std::int64_t o, double value, const EdgeRow& row) {
      const EdgeCell* cell = e_.cell + row.first;
      if (e_.factor) {
        const double* factor = e_.factor + row.first;
        for (std::int64_t k = 0; k < row.count; ++k) f(o, value, cell[k], k, factor[k]);
        return;
      }
      for (std::int64_t k = 0; k < row.count; k += W) {
        const int count = row.count - k < W ? static_cast<int>(row.count - k) : W;
        double some[W];
        store(some, factors(row.first + k, count, value));
        for (int c = 0; c < count; ++c) f(o, value, cell[k + c], k + c, some[c]);
      }
    });
  }

  // Fetches the row of one occurrence, and the cells of another whose row has come.
  void fetch(std::int64_t far, std::int64_t near) const {
    __builtin_prefetch(e_.row + e_.attribute[far]);
    const std::int64_t first = e_.row[e_.attribute[near]].first;
    __builtin_prefetch(e_.cell + first);
    if (e_.factor) __builtin_prefetch(e_.factor + first);
  }

  // Where the gradients of an occurrence are added up, weight by weight.
  double* sum_of_row(std::int64_t o) const {
    return e_.target[o] < 0 ? e_.gradient + e_.row[e_.attribute[o]].first
                            : e_.partial + e_.target[o];
  }

  // exp(value * weight) of the weights [k, k + count), count at most W.
  Vec factors(std::int64_t k, int count, double value) const {
    return e_.factor ? load_part(e_.factor + k, count, 1.0)
                     : exp(min(value * load_part(e_.weight + k, count, 0.0), splat(709.0)));
  }

  void change(std::int64_t p, double* table) const {
    each_factor(p, [&](std::int64_t, double, const EdgeCell& c, std::int64_t, double f) {
      table[c.at] *= f;
    });
  }

  bool full(const EdgeRow& row) const { return row.count == static_cast<std::int64_t>(n_) * n_; }

  void fill(std::int64_t p) {
    bool all_full = true;
    each(p, [&](std::int64_t, double, const EdgeRow& row) { all_full &= full(row); });
    if (!all_full) {
      for (int c = 0; c < n_ * step_; c += W) store(table_ + c, load(shared_ + c));
      return change(p, table_);
    }
    const double* from = shared_;
    each(p, [&](std::int64_t, double value, const EdgeRow& row) {
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j < step_; j += W)
          store(own(i) + j,
                load(from + i * step_ + j) * factors(row.first + i * n_ + j, n_ - j, value));
      from = table_;
    });
  }

  void add_gradients(std::int64_t p) const {
    each(p, [&](std::int64_t o, double value, const EdgeRow& row) {
      double* sum = sum_of_row(o);
      if (full(row)) {
        for (int i = 0; i < n_; ++i)
          for (int j = 0; j < n_; j += W) {
            double* to = sum + i * n_ + j;
            store_part(to, n_ - j, load_part(to, n_ - j, 0.0) + value * load(own(i) + j));
          }
      } else {
        const EdgeCell* cell = e_.cell + row.first;
        for (std::int64_t k = 0; k < row.count; ++k) sum[k] += value * table_[cell[k].at];
      }
    });
  }

  const EdgeRows& e_;
  const double* shared_;
  int n_, step_;
  double* table_ = nullptr;    // [labels, step] probabilities of a position, then gradients
  double* changed_ = nullptr;  // [labels, step] the shared ones, but while a position is mended
};

}  // namespace crfkit::CRFKIT_ARCH
