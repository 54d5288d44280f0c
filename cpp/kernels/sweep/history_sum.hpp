// Scaled sums over the packed lanes of a group, for chains of order k >= 2.
//
// A cell is a tuple of k labels: its history, the M = L^(k - 1) tuples of all but the last one, and
// the last one.  A row is [history][lane][label], and the step into history (m, j) is a product of
// the lanes' cells of the tuples (a, m, j), a = 0..L - 1, with the matrix [L, L] of that history:
// structure.hpp.  Rows lie in chunks, [chunk][history][row][lane][label], so that the gradients of
// the steps into the rows of a chunk are one sum of outer products for each history.
//
// The first k - 1 positions of a lane have fewer labels before them and tables of their own
// (h < k): rows of the lane alone, after which it joins the others.  A lane shorter than k never
// does.  The rest is as in packed.hpp.
#pragma once

#include "kernels/simd/lanes.hpp"
#include "kernels/sweep/packed_rows.hpp"
#include "kernels/sweep/safety.hpp"
#include "shared/interrupts.hpp"

namespace crfkit::CRFKIT_ARCH {

class HistorySum {
 public:
  // Cells whose outer products are added together: one of each lie in a line of the inner cache.
  static constexpr int kOuterCells = 384, kMostRows = 8;

  // `tables` of all orders; gradients of `sums` lie one table after the other, as in PooledLayout.
  HistorySum(const Packed& s, const Tables& tables, int labels, const double* weight, bool watched,
             double* node, const EdgeSums& sums, Arena& arena)
      : tables_(tables),
        last_(tables.table[tables.count - 1]),
        k_(tables.count),
        n_(labels),
        step_(padded(labels)),
        histories_(last_.blocks),
        older_(histories_ / labels),
        weight_(weight),
        watched_(watched),
        node_(node),
        sums_(sums),
        offsets_(s.lanes(), arena) {
    stride_ = static_cast<std::ptrdiff_t>(s.lanes()) * step_;
    const int rows = kOuterCells / (labels * s.lanes());
    chunk_ = rows < 2 ? 2 : rows < kMostRows ? rows : kMostRows;
    // An odd number of cache lines, so that the histories of a label spread over the whole cache.
    run_ = (chunk_ * stride_ / kPad | 1) * kPad;
    for (int h = 1; h <= k_; ++h) {
      before_[h] = before_[h - 1] + power(n_, h - 1) * step_;
      table_[h] = table_[h - 1] + power(n_, h) * step_;
      safety_.see_table(tables.table[h - 1].spread);
    }
    cell_ =
        arena.take<double>(static_cast<std::size_t>(run_) * histories_ * (s.rows() / chunk_ + 1));
    ring_ = arena.take<double>(static_cast<std::size_t>(run_) * histories_);
    back_ = arena.take<double>(static_cast<std::size_t>(stride_) * step_, 0.0);
    share_ = arena.take<double>(static_cast<std::size_t>(stride_));
    largest_ = arena.take<double>(static_cast<std::size_t>(s.lanes()) * W);
    first_ = arena.take<double>(static_cast<std::size_t>(before_[k_ - 1]) * s.lanes());
    for (double*& a : adjoint_) a = arena.take<double>(static_cast<std::size_t>(widest_first()));
  }

  bool exact() const { return safety_.exact(k_); }

  void pull(const Packed& s, int r) {
    const int lanes = joined(s, r), before = joined(s, r - 1);
    count(before);
    double *cells = cell(r), *node = node_ + s.begin(r) * step_;
    for (int lane = before; lane < lanes; ++lane) {
      begin(s, lane);
      spread(k_ - 1, first(lane, k_ - 2), cells + lane * step_, run_);
    }
    for (int lane = 0; lane < lanes; ++lane) to_factors(node + lane * step_, lane);
    offsets_.add_tops(lanes);
    for (int m = 0; lanes && m < histories_; ++m) {
      if (before)
        product<SumProduct>(sources(r - 1, m), step_, before, n_, last_.matrix(m), n_,
                            cells + m * run_, step_, older_ * run_);
      weigh(node, cells + m * run_, 0, lanes);
    }
    for (int lane = 0; lane < lanes; ++lane)
      rescale(node + lane * step_, cells + lane * step_, histories_, run_, lane);
    clear(cells, lanes, s.lanes());
    for (int lane = lanes; r == s.rows() - 1 && lane < s.lanes(); ++lane) begin(s, lane);
  }

  // log Z of a lane that has `length` positions.
  double value(const Packed& s, int lane, std::int64_t length) const {
    Offset offset = offsets_.at(lane);
    for (int h = 1; h <= k_; ++h) {
      const std::int64_t times = h < k_ ? length > h : length - k_;
      const double taken = tables_.table[h - 1].spread.safe_top(),
                   steps = static_cast<double>(times > 0 ? times : 0);
      offset.add(steps * taken);
      offset.add(std::fma(steps, taken, -(steps * taken)));
    }
    return std::log(total(s, lane)) + offset.value();
  }

  void push(const Packed& s, int r) {
    const int lanes = joined(s, r), before = joined(s, r - 1);
    count(before);
    if (r == s.rows() - 1) start_reverse(s, lanes);
    for (int lane = before; lane < lanes; ++lane) {
      draw_in(k_ - 1, lane, first(lane, k_ - 2), ring(r) + lane * step_, run_, adjoint_[0]);
      end(s, lane, k_ - 2);
    }
    if (!before) return;
    if (sums_.products && (r % chunk_ == 0 || r == k_)) add_products(s, r);
    double* node = node_ + s.begin(r - 1) * step_;
    for (std::ptrdiff_t c = 0; c < before * step_; c += W) store(share_ + c, Vec{});
    for (int m = 0; m < older_; ++m) {
      for (int j = 0; j < n_; ++j)
        product<SumProduct>(ring(r) + (m * n_ + j) * run_, step_, before, n_,
                            last_.matrix_transposed(m * n_ + j), n_, back_ + j * stride_, step_);
      watched_ ? collect_back<true>(r - 1, m, before, node)
               : collect_back<false>(r - 1, m, before, node);
    }
    clear(ring(r - 1), before, s.lanes());
    for (std::ptrdiff_t c = 0; c < before * step_; c += W) store(node + c, load(share_ + c));
  }

 private:
  // The work of a row: a product takes eight cells at once.
  void count(int lanes) const {
    worked_if_many(static_cast<std::int64_t>(lanes) * histories_ * n_ * n_ / 8);
  }
  // Lanes that have k labels in row r.
  int joined(const Packed& s, int r) const { return r < k_ - 1 ? 0 : s.reached(r - (k_ - 1)); }
  double* cell(int r) const {
    return cell_ + (r + 1) / chunk_ * (histories_ * run_) + (r + 1) % chunk_ * stride_;
  }
  double* ring(int r) const { return ring_ + r % chunk_ * stride_; }
  // The cells of row r from which history m is reached, one for each oldest label.
  const double* sources(int r, int m) const { return cell(r) + m / n_ * run_ + m % n_; }
  // Row t < k - 1 of a lane alone, [L^t, step].
  double* first(int lane, int t) const { return first_ + lane * before_[k_ - 1] + before_[t]; }
  std::ptrdiff_t widest_first() const { return before_[k_ - 1] - before_[k_ - 2]; }
  // The cell of a tuple in such a row.
  std::ptrdiff_t at(int tuple) const { return tuple / n_ * step_ + tuple % n_; }

  void clear(double* row, int from, int lanes) const {
    for (int m = 0; from < lanes && m < histories_; ++m)
      for (std::ptrdiff_t c = from * step_; c < lanes * step_; c += W)
        store(row + m * run_ + c, Vec{});
  }

  // The rows of a lane alone.
  void begin(const Packed& s, int lane) {
    for (int t = 0; t < k_ - 1 && t < s.length(lane); ++t) {
      double* cells = first(lane, t);
      for (int j = 0; t == 0 && j < step_; ++j) cells[j] = j < n_ ? 1.0 : 0.0;
      if (t > 0) spread(t, first(lane, t - 1), cells, step_);
      double* node = node_ + s.position(lane, t) * step_;
      to_factors(node, lane);
      offsets_.add_tops(lane + 1);
      for (int m = 0; m < tuples(t); ++m) weigh(node, cells + m * step_, lane, lane + 1);
      rescale(node, cells, tuples(t), step_, lane);
    }
  }
  // Gradients of these rows, from row t on; its adjoints are in adjoint_[0].
  void end(const Packed& s, int lane, int t) {
    for (;; --t) {
      collect(node_ + s.position(lane, t) * step_, first(lane, t), adjoint_[0], tuples(t), step_);
      if (t == 0) return;
      draw_in(t, lane, first(lane, t - 1), adjoint_[0], step_, adjoint_[1]);
      double* done = adjoint_[0];
      adjoint_[0] = adjoint_[1], adjoint_[1] = done;
    }
  }
  int tuples(int t) const { return static_cast<int>(power(n_, t)); }

  // out[m, j] = x[m] * probability[m, j] by table h: every tuple m has one source, itself.
  void spread(int h, const double* x, double* out, std::ptrdiff_t run) const {
    const Table& table = tables_.table[h - 1];
    for (int m = 0; m < table.blocks; ++m)
      for (int j = 0; j < step_; j += W)
        store(out + m * run + j, x[at(m)] * load(table.matrix(m) + j));
  }
  // The reverse of it: adjoints of x, and gradients of the table.
  void draw_in(int h, int lane, const double* x, const double* g, std::ptrdiff_t run,
               double* out) const {
    const Table& table = tables_.table[h - 1];
    double* products =
        sums_.products ? sums_.products + lane * sums_.lane_step + table_[h - 1] : nullptr;
    for (int c = 0; c < table.blocks / n_ * step_; c += W) store(out + c, Vec{});
    for (int m = 0; m < table.blocks; ++m) {
      Vec sum = {};
      for (int j = 0; j < step_; j += W) {
        const Vec a = load(g + m * run + j);
        sum += a * load(table.matrix(m) + j);
        double* to = products + m * step_ + j;
        if (products) store(to, load(to) + x[at(m)] * a);
      }
      out[at(m)] = sum_of(sum);
    }
  }

  // Scores of a position become the factors of its cells.
  void to_factors(double* node, int lane) {
    Vec highest = splat(kZero);
    for (int j = 0; j < step_; j += W) highest = max(highest, load_part(node + j, n_ - j, kZero));
    const double found = max_of(highest), top = found == kZero ? 0.0 : found;
    offsets_.see_top(lane, top);
    for (int j = 0; j < step_; j += W) {
      const Vec d = load_part(node + j, n_ - j, top) - top;  // the padding meets empty cells
      watched_ ? safety_.see_terms(d) : safety_.see_finite_terms(d);
      store(node + j, exp(d));
    }
    store(largest_ + lane * W, Vec{});
  }
  // Multiplies the cells of one history.
  void weigh(const double* node, double* cells, int lane, int end) {
    for (; lane < end; ++lane, node += step_, cells += step_) {
      Vec largest = load(largest_ + lane * W);
      for (int j = 0; j < step_; j += W) {
        const Vec x = load(cells + j) * load(node + j);
        store(cells + j, x);
        if (watched_) safety_.see_cells(x);
        largest = max(largest, x);
      }
      store(largest_ + lane * W, largest);
    }
  }
  // Brings the largest cell back into [1, 2) once it has left [2^-40, 2^40]; the power of two
  // becomes part of the factors.
  void rescale(double* node, double* cells, int blocks, std::ptrdiff_t run, int lane) {
    const double largest = max_of(load(largest_ + lane * W));
    if (largest > 0x1p-40 && largest < 0x1p40) [[likely]]
      return;
    if (!(largest > 1e-300 && largest < 1e300)) return safety_.see_loss(largest != 0.0);
    const double factor = offsets_.rescaled(lane, largest);
    for (int j = 0; j < step_; j += W) {
      store(node + j, load(node + j) * factor);
      for (int m = 0; m < blocks; ++m)
        store(cells + m * run + j, load(cells + m * run + j) * factor);
    }
  }

  // f(first cell of a sub-row): the last row of a lane.
  template <class F>
  void each_last(const Packed& s, int lane, F f) const {
    const bool alone = s.length(lane) < k_;
    const double* cells =
        alone ? first(lane, s.length(lane) - 1) : cell(s.rows() - 1) + lane * step_;
    const int blocks = alone ? tuples(s.length(lane) - 1) : histories_;
    for (int m = 0; m < blocks; ++m) f(cells + m * (alone ? step_ : run_));
  }
  double total(const Packed& s, int lane) const {
    Vec sum = {};
    each_last(s, lane, [&](const double* cells) {
      for (int j = 0; j < step_; j += W) sum += load(cells + j);
    });
    return sum_of(sum);
  }

  void start_reverse(const Packed& s, int lanes) {
    const int r = s.rows() - 1;
    for (int lane = 0; lane < s.lanes(); ++lane) {
      const double z = total(s, lane);
      const Vec share = splat(z > 0.0 ? weight_[lane] / z : 0.0);
      double* adjoint = lane < lanes ? ring(r) + lane * step_ : adjoint_[0];
      const int t = s.length(lane) - 1, blocks = lane < lanes ? histories_ : tuples(t);
      const std::ptrdiff_t run = lane < lanes ? run_ : step_;
      for (int m = 0; m < blocks; ++m)
        for (int j = 0; j < step_; j += W) store(adjoint + m * run + j, share);
      if (lane < lanes) {
        collect(node_ + (s.begin(r) + lane) * step_, cell(r) + lane * step_, adjoint, blocks, run);
      } else {
        end(s, lane, t);
      }
    }
    clear(ring(r), lanes, s.lanes());
  }

  // Probabilities become gradients; adjoints of cells become those of what they were before they
  // were weighed.
  void collect(double* node, const double* cells, double* adjoint, int blocks,
               std::ptrdiff_t run) const {
    for (int j = 0; j < step_; j += W) {
      const Vec w = load(node + j);
      Vec share = {};
      for (int m = 0; m < blocks; ++m) {
        const Vec x = load(cells + m * run + j), a = load(adjoint + m * run + j);
        const VecInt alive = x > 0.0;
        share += alive ? x * a : Vec{};
        store(adjoint + m * run + j, alive ? a * w : Vec{});
      }
      store(node + j, share);
    }
  }
  // The same for the tuples (a, m, j) of row r, whose adjoints are in `back_` [j, lane, a]. Without
  // forbidden parts only the padding is empty, and its adjoints are 0.
  template <bool Holes>
  void collect_back(int r, int m, int lanes, const double* node) const {
    const double* cells = cell(r) + m * run_;
    double* adjoints = ring(r) + m * run_;
    for (std::ptrdiff_t c = 0; c < lanes * step_; c += W) {  // of a lane and W labels j
      const Vec w = load(node + c);
      Vec share = load(share_ + c);
      const double* from = back_ + c % step_ * stride_ + c / step_ * step_;
      for (int a = 0; a < n_; a += W) {
        Vec square[W];
        for (int i = 0; i < W; ++i) square[i] = load(from + i * stride_ + a);
        transpose(square);
        for (int i = 0; i < W && a + i < n_; ++i) {
          const std::ptrdiff_t to = (a + i) * older_ * run_ + c;
          const Vec x = load(cells + to);
          if constexpr (Holes) square[i] = x > 0.0 ? square[i] : Vec{};
          share += x * square[i];
          store(adjoints + to, square[i] * w);
        }
      }
      store(share_ + c, share);
    }
  }

  // Outer products of the rows from r on whose adjoints are in the ring.
  void add_products(const Packed& s, int r) const {
    const int left = chunk_ - r % chunk_, rest = s.rows() - r;
    const std::ptrdiff_t rows = left < rest ? left : rest, apart = older_ * run_;
    for (int m = 0; m < histories_; ++m) {
      const double *cells = sources(r - 1, m), *adjoints = ring(r) + m * run_;
      double* sum = sums_.products + table_[k_ - 1] + m * step_;
      const std::ptrdiff_t sum_step = histories_ * step_;
      if (sums_.lane_step == 0) {
        add_outer_products(cells, step_, adjoints, step_, rows * s.lanes(), n_, n_, sum, sum_step,
                           apart);
        continue;
      }
      for (int lane = 0; lane < joined(s, r + static_cast<int>(rows) - 2); ++lane)
        add_outer_products(cells + lane * step_, stride_, adjoints + lane * step_, stride_, rows,
                           n_, n_, sum + lane * sums_.lane_step, sum_step, apart);
    }
  }

  Safety safety_;
  const Tables& tables_;
  const Table& last_;  // that of order k
  int k_, n_, step_, chunk_;
  std::ptrdiff_t histories_, older_;  // L^(k - 1), L^(k - 2)
  std::ptrdiff_t stride_, run_;       // cells of the lanes of a row; of a history in a chunk
  std::ptrdiff_t before_[kMaxOrder + 1] = {}, table_[kMaxOrder + 1] = {};
  const double* weight_;  // [lanes]
  bool watched_;
  double* node_;  // [positions, step]
  EdgeSums sums_;
  LaneOffsets offsets_;
  double* cell_;     // [chunks, histories, rows of a chunk, lanes, step]
  double* ring_;     // [histories, rows of a chunk, lanes, step] adjoints
  double* back_;     // [step, lanes, step] adjoints of older rows, by their last label
  double* share_;    // [lanes, step] gradients
  double* largest_;  // [lanes, W] of the cells of a row
  double* first_;    // [lanes, L^0 + ... + L^(k - 2), step] the rows of lanes alone
  double* adjoint_[2];
};

}  // namespace crfkit::CRFKIT_ARCH
