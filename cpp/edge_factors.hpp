// Steps that edge attributes change: the table of one position, and the credits of its cells.
//
//   probability[i, j] = shared[i, j] * product over occurrences of exp(value * weight[cell i, j])
//
// A row of an edge attribute has few cells as a rule, so the shared probabilities are copied and
// only those cells are multiplied; no position has scores of its own in memory.  Factors of rows
// without values are exponentiated once per evaluation and not at each occurrence.  Bounds of the
// rows tell how far a position's scores may lie from the shared ones (see Safety).
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
      : e_(e),
        shared_(shared),
        n_(labels),
        step_(padded(labels)),
        own_(arena.take<double>(static_cast<std::size_t>(labels) * step_)) {}

  bool has(std::int64_t p) const { return e_.ptr[p] < e_.ptr[p + 1]; }

  // How far the scores of the steps into position p may lie apart because of its attributes.
  double range(std::int64_t p) const {
    double range = 0.0;
    each(p, [&](std::int64_t i, double value) {
      const std::int32_t a = e_.attribute[i];
      range += (e_.high[a] - e_.low[a]) * (value < 0.0 ? -value : value);
    });
    return range;
  }

  // out[j] = sum over i of x[i] * probability[i, j] of position p.
  void pull(std::int64_t p, const double* x, double* out) {
    fill(p);
    for (int j = 0; j < step_; j += W) {
      Vec sum = {}, other = {};
      int i = 0;
      for (; i + 1 < n_; i += 2) {
        sum += x[i] * load(row(i) + j);
        other += x[i + 1] * load(row(i + 1) + j);
      }
      if (i < n_) sum += x[i] * load(row(i) + j);
      store(out + j, sum + other);
    }
  }

  // back[i] = sum over j of probability[i, j] * g[j]; the credits x[i] * probability[i, j] * g[j]
  // are added to those of the table [labels, step] and of the weights.
  void push(std::int64_t p, const double* x, const double* g, double* back, double* table) {
    fill(p);
    for (int i = 0; i < n_; ++i) {
      const Vec from = splat(x[i]);
      double* credit = table + static_cast<std::ptrdiff_t>(i) * step_;
      Vec sum = {};
      for (int j = 0; j < step_; j += W) {
        const Vec a = load(row(i) + j) * load(g + j), share = from * a;
        sum += a;
        store(row(i) + j, share);
        store(credit + j, load(credit + j) + share);
      }
      back[i] = sum_of(sum);
    }
    for (int i = n_; i < step_; ++i) back[i] = 0.0;
    add_credits(p);
  }

  // The same for credits [labels, labels] that are known already.
  void add(std::int64_t p, const double* credits, double weight, double* table) {
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) {
        row(i)[j] = weight * credits[i * n_ + j];
        table[i * step_ + j] += row(i)[j];
      }
    add_credits(p);
  }

  // score[i, j] += the scores of position p, [labels, labels].
  void add_scores(std::int64_t p, double* score) const {
    each(p, [&](std::int64_t i, double value) {
      const std::int32_t a = e_.attribute[i];
      for (std::int64_t k = e_.rows.ptr[a]; k < e_.rows.ptr[a + 1]; ++k)
        score[e_.rows.column[k]] += value * e_.rows.weight[k];
    });
  }

 private:
  double* row(int i) const { return own_ + static_cast<std::ptrdiff_t>(i) * step_; }

  // f(occurrence, value) for the attributes of a position.
  template <class F>
  void each(std::int64_t p, F f) const {
    for (std::int64_t i = e_.ptr[p]; i < e_.ptr[p + 1]; ++i) f(i, e_.value ? e_.value[i] : 1.0);
  }

  // exp(value * weight) of the weights [k, k + count), count at most W.
  Vec factors(std::int64_t k, int count, double value) const {
    return e_.factor ? load_part(e_.factor + k, count, 1.0)
                     : exp(min(value * load_part(e_.rows.weight + k, count, 0.0), splat(709.0)));
  }

  void fill(std::int64_t p) {
    for (std::ptrdiff_t c = 0; c < static_cast<std::ptrdiff_t>(n_) * step_; c += W)
      store(own_ + c, load(shared_ + c));
    each(p, [&](std::int64_t o, double value) {
      const std::int32_t a = e_.attribute[o];
      const std::int64_t first = e_.rows.ptr[a], last = e_.rows.ptr[a + 1];
      if (last - first == e_.rows.width) {
        for (int i = 0; i < n_; ++i)
          for (int j = 0; j < n_; j += W)
            store(row(i) + j, load(row(i) + j) * factors(first + i * n_ + j, n_ - j, value));
      } else if (e_.factor) {
        for (std::int64_t k = first; k < last; ++k) own_[e_.cell[k]] *= e_.factor[k];
      } else {
        for (std::int64_t k = first; k < last; k += W) {
          const int count = last - k < W ? static_cast<int>(last - k) : W;
          const Vec f = factors(k, count, value);
          for (int c = 0; c < count; ++c) own_[e_.cell[k + c]] *= f[c];
        }
      }
    });
  }

  void add_credits(std::int64_t p) const {
    each(p, [&](std::int64_t o, double value) {
      const std::int32_t a = e_.attribute[o];
      const std::int64_t first = e_.rows.ptr[a], count = e_.rows.ptr[a + 1] - first;
      double* sum = e_.target[o] < 0 ? e_.gradient + first : e_.partial + e_.target[o];
      if (count == e_.rows.width) {
        for (int i = 0; i < n_; ++i)
          for (int j = 0; j < n_; j += W) {
            double* to = sum + i * n_ + j;
            store_part(to, n_ - j, load_part(to, n_ - j, 0.0) + value * load(row(i) + j));
          }
      } else {
        for (std::int64_t k = 0; k < count; ++k) sum[k] += value * own_[e_.cell[first + k]];
      }
    });
  }

  const EdgeRows& e_;
  const double* shared_;
  int n_, step_;
  double* own_;  // [labels, step] probabilities, then credits
};

}  // namespace crfkit::CRFKIT_ARCH
