// Scaled sums over the lanes of a group side by side: vectors hold the same label of several
// sequences.
//
// The same sums as PackedSum (packed.hpp), for few labels and for sparse steps (striped_steps.hpp):
// where a vector of labels would be half empty, or would have to be gathered.  Lanes are cut into
// stripes of kStripe; cells are [row][stripe][label][lane].  Rows of scores and gradients at the
// border (striped_rows.hpp) are rows of labels as everywhere.
//
// A vector may hold lanes that do not reach a row (they come after those that do).  Such a lane
// reads the scores of another one and starts at one in every row, which is what a lane that begins
// does; its adjoints are 0.
#pragma once

#include "kernels/sweep/packed_rows.hpp"
#include "kernels/sweep/safety.hpp"
#include "kernels/sweep/striped_products.hpp"
#include "kernels/sweep/striped_rows.hpp"

namespace crfkit::CRFKIT_ARCH {

class StripedSum {
 public:
  // `weight` scales the gradients of each lane; `watched`: some parts are forbidden.
  StripedSum(const Packed& s, const Table& table, int labels, const double* weight, bool watched,
             const StripedRows& rows, const EdgeSums& sums, Arena& arena)
      : table_(table),
        n_(labels),
        stripes_((s.lanes() + kStripe - 1) / kStripe),
        weight_(weight),
        watched_(watched),
        rows_(rows),
        stride_(static_cast<std::ptrdiff_t>(stripes_) * n_ * kStripe),
        offsets_(s.lanes(), arena),
        products_(table, labels, s, stride_, sums, arena) {
    const std::size_t cells = static_cast<std::size_t>(stride_) * s.rows();
    cell_ = arena.take<double>(cells);
    term_ = arena.take<double>(cells);
    total_ = arena.take<double>(static_cast<std::size_t>(stripes_) * kStripe);
    scratch_ = arena.take<double>(table.ahead.scratch());
    safety_.see_table(table.spread);
  }

  bool exact() const { return safety_.exact(); }

  void pull(const Packed& s, int r) {
    for (int t = 0; t < stripes_ && t * kStripe < s.reached(r); ++t) {
      double* cells = at(cell_, r, t);
      const int before = r > 0 ? in_stripe(s.reached(r - 1), t) : 0;
      by_vectors(before, [&]<int V>() { table_.ahead.apply<V>(cells - stride_, cells, scratch_); });
      by_vectors(in_stripe(s.reached(r), t), [&]<int V>() { weigh<V>(s, r, t, before); });
    }
  }

  // log Z of a lane that has `length` positions.
  double value(const Packed&, int lane, std::int64_t length) const {
    const double taken = table_.spread.safe_top(), steps = static_cast<double>(length - 1);
    Offset offset = offsets_.at(lane);
    offset.add(steps * taken);
    offset.add(std::fma(steps, taken, -(steps * taken)));
    return std::log(total_[lane]) + offset.value();
  }

  void push(const Packed& s, int r) {
    const int before = r > 0 ? s.reached(r - 1) : 0;
    for (int t = 0; t < stripes_ && t * kStripe < s.reached(r); ++t) {
      if (r == s.rows() - 1) start_reverse(s, t);
      by_vectors(in_stripe(s.reached(r), t),
                 [&]<int V>() { gradient<V>(s, r, t, in_stripe(before, t)); });
    }
    if (r == 0) return products_.finish();
    products_.see(s, r, cell_);
    for (int t = 0; t < stripes_ && t * kStripe < before; ++t) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(t) * n_ * kStripe;
      by_vectors(in_stripe(before, t), [&]<int V>() {
        table_.back.apply<V>(products_.adjoint(r) + at, products_.adjoint(r - 1) + at, scratch_);
      });
    }
  }

 private:
  double* at(double* cells, int r, int t) const {
    return cells + r * stride_ + static_cast<std::ptrdiff_t>(t) * n_ * kStripe;
  }
  static int in_stripe(int lanes, int t) {
    const int rest = lanes - t * kStripe;
    return rest < 0 ? 0 : rest < kStripe ? rest : kStripe;
  }
  // Scores become probabilities relative to the largest of their position, and meet the cells.
  template <int V>
  void weigh(const Packed& s, int r, int t, int before) {
    double *cells = at(cell_, r, t), *terms = at(term_, r, t);
    const int reached = in_stripe(s.reached(r), t);
    Vec top[V], largest[V] = {};
    for (int v = 0; v < V; ++v) {
      const StripedRows::Lanes lanes = rows_.lanes(s, r, t * kStripe + v * W);
      top[v] = rows_.take(s, r, lanes, before - v * W, reached - v * W, terms + v * W);
      offsets_.add(t * kStripe + v * W, first_places(reached - v * W) ? top[v] : Vec{});
      if (before >= (v + 1) * W) continue;
      const VecInt old = first_places(before - v * W);
      for (int j = 0; j < n_; ++j) {
        double* x = cells + j * kStripe + v * W;
        store(x, old ? load(x) : splat(1.0));
      }
    }
    for (int j = 0; j < n_; ++j) {
      for (int v = 0; v < V; ++v) {
        double *term = terms + j * kStripe + v * W, *cell = cells + j * kStripe + v * W;
        const Vec d = load(term) - top[v], w = exp(d), x = load(cell) * w;
        if (watched_) {
          safety_.see_terms(d);
          safety_.see_cells(x);
        } else {
          safety_.see_finite_terms(d);
        }
        store(term, w);
        store(cell, x);
        largest[v] = max(largest[v], x);
      }
    }
    for (int v = 0; v < V; ++v) {
      const VecInt apart = ~(largest[v] > 0x1p-40) | (largest[v] > 0x1p40);
      if (any_of(apart)) [[unlikely]]
        rescale(t * kStripe, v * W, reached, apart, largest[v], terms, cells);
    }
    if (r == s.rows() - 1) add_totals<V>(cells, total_ + t * kStripe);
  }

  // Brings the largest cells back into [1, 2); the powers of two become part of the probabilities.
  void rescale(int first, int lane, int reached, VecInt apart, Vec largest, double* terms,
               double* cells) {
    Vec factor = splat(1.0);
    for (int i = 0; i < W && lane + i < reached; ++i) {
      if (!apart[i]) continue;
      if (!(largest[i] > 1e-300 && largest[i] < 1e300))
        safety_.see_loss(largest[i] != 0.0);
      else
        factor[i] = offsets_.rescaled(first + lane + i, largest[i]);
    }
    for (int j = lane; j < n_ * kStripe; j += kStripe) {
      store(terms + j, load(terms + j) * factor);
      store(cells + j, load(cells + j) * factor);
    }
  }

  template <int V>
  void add_totals(const double* cells, double* out) const {
    Vec sum[V] = {};
    for (int j = 0; j < n_; ++j)
      for (int v = 0; v < V; ++v) sum[v] += load(cells + j * kStripe + v * W);
    for (int v = 0; v < V; ++v) store(out + v * W, sum[v]);
  }

  void start_reverse(const Packed& s, int t) {
    double* adjoint = products_.adjoint(s.rows() - 1) + t * n_ * kStripe;
    double share[kStripe] = {};
    for (int i = 0; i < in_stripe(s.lanes(), t); ++i) {
      const double z = total_[t * kStripe + i];
      share[i] = z > 0.0 ? weight_[t * kStripe + i] / z : 0.0;
    }
    for (int c = 0; c < n_ * kStripe; c += W) store(adjoint + c, load(share + c % kStripe));
  }

  // Adjoints of row r become gradients of its scores, and adjoints of the steps into it.
  template <int V>
  void gradient(const Packed& s, int r, int t, int before) {
    const double *cells = at(cell_, r, t), *terms = at(term_, r, t);
    double* adjoint = products_.adjoint(r) + t * n_ * kStripe;
    const int reached = in_stripe(s.reached(r), t);
    for (int v = 0; v < V; ++v) {
      const StripedRows::Lanes rows = rows_.lanes(s, r, t * kStripe + v * W);
      const VecInt goes_on = first_places(before - v * W);
      const int lanes = reached - v * W < W ? reached - v * W : W;
      const auto gradient_of = [&](int j) __attribute__((always_inline)) {
        const std::ptrdiff_t c = j * kStripe + v * W;
        const Vec cell = load(cells + c), a = load(adjoint + c);
        const VecInt alive = cell > 0.0;
        store(adjoint + c, (alive & goes_on) ? a * load(terms + c) : Vec{});
        return alive ? cell * a : Vec{};
      };
      int j = 0;
      for (; j + W <= n_; j += W) {
        Vec x[W];
        for (int k = 0; k < W; ++k) x[k] = gradient_of(j + k);
        lanes == W ? rows_.give(rows, j, W, x) : rows_.give(rows, j, lanes, x);
      }
      Vec x[W] = {};
      for (int k = 0; j + k < n_; ++k) x[k] = gradient_of(j + k);
      rows_.give_last(rows, j, lanes, x);
    }
  }

  Safety safety_;
  const Table& table_;
  int n_, stripes_;
  const double* weight_;  // [lanes]
  bool watched_;
  StripedRows rows_;
  std::ptrdiff_t stride_;  // cells of a row
  LaneOffsets offsets_;
  StripedProducts products_;
  double *cell_, *term_;  // [rows, stripes, labels, kStripe]
  double* total_;         // [stripes, kStripe] of the last row
  double* scratch_;       // of steps
};

}  // namespace crfkit::CRFKIT_ARCH
