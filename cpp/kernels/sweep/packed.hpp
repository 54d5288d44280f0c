// Scaled sums over the packed lanes of a group: the semiring of training.
//
// The same sums as in scaled.hpp for a chain of order 1, cut down to what an evaluation needs: one
// term per row, which is read as scores, replaced by probabilities on the way forward and by
// gradients on the way back; cells of all rows, but adjoints of the last few only, since the outer
// products of the edge gradients are added every few rows.  Steps share one table, but for what
// edge attributes change (edge_factors.hpp).  Row r of lane b is position begin(r) + b.
#pragma once

#include "kernels/sweep/packed_rows.hpp"
#include "kernels/sweep/safety.hpp"

namespace crfkit::CRFKIT_ARCH {

// V vectors to a row, or 0 when their number is known only now.
template <int V>
class PackedSum {
 public:
  static constexpr int kOuterPositions = 64;  // whose outer products are added together

  // `weight` scales the gradients of each lane; `watched`: some parts are forbidden.
  PackedSum(const Packed& s, const Table& table, int labels, const double* weight, bool watched,
            double* node, const EdgeSums& sums, Arena& arena)
      : table_(table),
        n_(labels),
        step_(padded(labels)),
        weight_(weight),
        watched_(watched),
        node_(node),
        sums_(sums),
        offsets_(s.lanes(), arena) {
    stride_ = static_cast<std::ptrdiff_t>(s.lanes()) * step_;
    ring_rows_ = kOuterPositions / s.lanes() > 2 ? kOuterPositions / s.lanes() : 2;
    cell_ = arena.take<double>(static_cast<std::size_t>(stride_) * s.rows());
    ring_ = arena.take<double>(static_cast<std::size_t>(stride_) * ring_rows_);
    if (sums.factors) {
      back_ = arena.take<double>(static_cast<std::size_t>(stride_));
      steps_ = arena.take<Steps>(static_cast<std::size_t>(s.positions()));
    }
    safety_.see_table(table.spread);
  }

  bool exact() const { return safety_.exact(); }

  void pull(const Packed& s, int r) {
    const int lanes = s.reached(r), before = r > 0 ? s.reached(r - 1) : 0;
    double* cells = cell_ + r * stride_;
    if (before)
      product<SumProduct>(cells - stride_, step_, before, n_, table_.matrix(0), n_, cells, step_);
    if (sums_.factors) pull_edges(s, r, before, cells);
    for (int lane = before; lane < lanes; ++lane) fill_ones(cells + lane * step_);
    for (std::ptrdiff_t c = lanes * step_; c < stride_; c += W) store(cells + c, Vec{});
    double* node = node_ + s.begin(r) * step_;
    for (int lane = 0; lane < lanes; ++lane) weigh(node + lane * step_, cells + lane * step_, lane);
    offsets_.add_tops(lanes);
  }

  // log Z of a lane that has `length` positions.
  double value(const Packed& s, int lane, std::int64_t length) const {
    const double taken = table_.spread.safe_top(), steps = static_cast<double>(length - 1);
    Offset offset = offsets_.at(lane);
    offset.add(steps * taken);
    offset.add(std::fma(steps, taken, -(steps * taken)));
    return std::log(total(s, lane)) + offset.value();
  }

  void push(const Packed& s, int r) {
    const int lanes = s.reached(r), before = r > 0 ? s.reached(r - 1) : 0;
    double* adjoint = ring_ + r % ring_rows_ * stride_;
    if (r == s.rows() - 1) start_reverse(s, adjoint);
    const double* cells = cell_ + r * stride_;
    double* node = node_ + s.begin(r) * step_;
    for (std::ptrdiff_t c = 0; c < lanes * step_; c += W) {
      const Vec x = load(cells + c), a = load(adjoint + c), w = load(node + c);
      const VecInt alive = x > 0.0;
      store(node + c, alive ? x * a : Vec{});
      store(adjoint + c, alive ? a * w : Vec{});
    }
    if (r == 0) return;
    for (std::ptrdiff_t c = lanes * step_; c < stride_; c += W) store(adjoint + c, Vec{});
    if (sums_.factors) push_tables(s, r, before, adjoint);
    if (sums_.products && (r % ring_rows_ == 0 || r == 1)) add_products(s, r);
    double* earlier = ring_ + (r - 1) % ring_rows_ * stride_;
    product<SumProduct>(adjoint, step_, before, n_, table_.matrix_transposed(0), n_, earlier,
                        step_);
    if (sums_.factors) mend_back(s, r, before, adjoint, earlier);
  }

 private:
  void pull_edges(const Packed& s, int r, int lanes, double* cells) {
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t p = s.first() + s.begin(r) + lane;
      double range;
      const Steps chosen = steps_[s.begin(r) + lane] = sums_.factors->choose(p, &range);
      if (chosen == Steps::shared) continue;
      safety_.see_table_range(table_.spread.range() + range);
      const double* x = cells - stride_ + lane * step_;
      double* out = cells + lane * step_;
      chosen == Steps::own ? sums_.factors->template pull<V>(p, x, out)
                           : sums_.factors->mend(p, x, out);
    }
  }

  // Adjoints of tables of their own must not meet the shared one: they are put by, and zeros left.
  void push_tables(const Packed& s, int r, int lanes, double* adjoint) const {
    for (int lane = 0; lane < lanes; ++lane) {
      if (steps_[s.begin(r) + lane] != Steps::own) continue;
      double* own = adjoint + lane * step_;
      sums_.factors->template push<V>(s.first() + s.begin(r) + lane,
                                      cell_ + (r - 1) * stride_ + lane * step_, own,
                                      back_ + lane * step_, sums_.edge);
      for (int j = 0; j < step_; j += W) store(own + j, Vec{});
    }
  }
  // What the shared table has handed on, from `adjoint` to `earlier`, is mended or replaced.
  void mend_back(const Packed& s, int r, int lanes, const double* adjoint, double* earlier) const {
    for (int lane = 0; lane < lanes; ++lane) {
      const Steps chosen = steps_[s.begin(r) + lane];
      const std::ptrdiff_t at = lane * step_;
      if (chosen == Steps::own) {
        for (int j = 0; j < step_; j += W) store(earlier + at + j, load(back_ + at + j));
      } else if (chosen == Steps::mended) {
        sums_.factors->mend_back(s.first() + s.begin(r) + lane, cell_ + (r - 1) * stride_ + at,
                                 adjoint + at, earlier + at, sums_.edge);
      }
    }
  }

  int vectors() const { return V ? V : step_ / W; }

  void fill_ones(double* cells) const {
    for (int v = 0; v < vectors(); ++v) store(cells + v * W, load_part(kOnes, n_ - v * W, 0.0));
  }

  void weigh(double* node, double* cells, int lane) {
    Vec highest = load_part(node, n_, kZero);
    for (int v = 1; v < vectors(); ++v)
      highest = max(highest, load_part(node + v * W, n_ - v * W, kZero));
    const double found = max_of(highest), top = found == kZero ? 0.0 : found;
    offsets_.see_top(lane, top);
    Vec largest = {};
    for (int v = 0; v < vectors(); ++v) {
      const Vec d =
          load_part(node + v * W, n_ - v * W, top) - top;  // the padding meets empty cells
      const Vec w = exp(d), x = load(cells + v * W) * w;
      if (watched_) {
        safety_.see_terms(d);
        safety_.see_cells(x);
      } else {
        safety_.see_finite_terms(d);
      }
      store(node + v * W, w);
      store(cells + v * W, x);
      largest = max(largest, x);
    }
    if (any_above(largest, 0x1p-40) && !any_above(largest, 0x1p40)) [[likely]]
      return;
    rescale(node, cells, lane, max_of(largest));
  }

  // Brings the largest cell back into [1, 2); the power of two becomes part of the probabilities.
  void rescale(double* node, double* cells, int lane, double largest) {
    if (!(largest > 1e-300 && largest < 1e300)) return safety_.see_loss(largest != 0.0);
    const double factor = offsets_.rescaled(lane, largest);
    for (int v = 0; v < vectors(); ++v) {
      store(node + v * W, load(node + v * W) * factor);
      store(cells + v * W, load(cells + v * W) * factor);
    }
  }

  double total(const Packed& s, int lane) const {
    const double* cells = cell_ + (s.rows() - 1) * stride_ + lane * step_;
    Vec sum = {};
    for (int v = 0; v < vectors(); ++v) sum += load(cells + v * W);
    return sum_of(sum);
  }

  void start_reverse(const Packed& s, double* adjoint) const {
    for (int lane = 0; lane < s.lanes(); ++lane) {
      const double z = total(s, lane);
      const Vec share = splat(z > 0.0 ? weight_[lane] / z : 0.0);
      for (int v = 0; v < vectors(); ++v) store(adjoint + lane * step_ + v * W, share);
    }
  }

  // Outer products of the rows from r on whose adjoints are in the ring.
  void add_products(const Packed& s, int r) const {
    const int left = ring_rows_ - r % ring_rows_, rest = s.rows() - r;
    const int rows = left < rest ? left : rest;
    const double *cells = cell_ + (r - 1) * stride_, *adjoints = ring_ + r % ring_rows_ * stride_;
    if (sums_.lane_step == 0)
      return add_outer_products(cells, step_, adjoints, step_,
                                static_cast<std::ptrdiff_t>(rows) * s.lanes(), n_, n_,
                                sums_.products, step_);
    for (int lane = 0; lane < s.lanes(); ++lane) {
      const int begun = s.rows() - s.length(lane) + 1 - r, skip = begun > 0 ? begun : 0;
      const std::ptrdiff_t from = skip * stride_ + lane * step_;
      if (skip < rows)
        add_outer_products(cells + from, stride_, adjoints + from, stride_, rows - skip, n_, n_,
                           sums_.products + lane * sums_.lane_step, step_);
    }
  }

  static constexpr double kOnes[8] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};

  Safety safety_;
  const Table& table_;
  int n_, step_, ring_rows_;
  std::ptrdiff_t stride_;  // cells of a row
  const double* weight_;   // [lanes]
  bool watched_;
  double* node_;  // [positions, step]
  EdgeSums sums_;
  LaneOffsets offsets_;
  double* back_ = nullptr;  // [lanes, step] adjoints that passed through tables of their own
  Steps* steps_ = nullptr;  // [positions]
  double* cell_;            // [rows, lanes, step]
  double* ring_;            // [ring rows, lanes, step] adjoints
};

}  // namespace crfkit::CRFKIT_ARCH
