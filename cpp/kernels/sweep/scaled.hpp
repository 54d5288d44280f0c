// Sums in scaled probability space.
//
// A cell holds a probability relative to the offset of its row: true log value = log(cell) +
// offset.  Rows are rescaled by powers of two, which is exact.  Scores enter as exp(score - largest
// score of the row or table).  In reverse, `adjoint` is the derivative of log Z by the scaled cell,
// so a marginal is cell * adjoint: Sutton & McCallum (2006) eq. 1.33 with the normalizer folded in.
// One sequence at a time; chains whose steps share tables have packed.hpp and history_sum.hpp.
#pragma once

#include "kernels/sweep/safety.hpp"

namespace crfkit::CRFKIT_ARCH {

class Scaled {
 public:
  template <class Structure>
  Scaled(const Structure& s, const Tables& tables, Arena& arena, double* expected)
      : tables_(tables), arena_(arena), expected_(expected) {
    const Row last = s.row(s.rows() - 1);
    cells_ = static_cast<std::size_t>(last.cell + last.cells());
    cell_ = arena.take<double>(cells_);
    weight_ = arena.take<double>(cells_);
    adjoint_ = arena.take<double>(cells_);
    factor_ = arena.take<double>(s.rows());
    offset_ = arena.take<Offset>(s.rows());
    before_ = arena.take<Offset>(s.rows());
    top_ = arena.take<double>(s.rows());
    for (int h = 0; h < tables.count; ++h) safety_.see_table(tables.table[h].spread);
  }

  double value(const Row& last) const {
    return std::log(cell_[last.cell]) + offset_[last_row_].value();
  }

  bool exact() const { return safety_.exact(tables_.count > 1 ? tables_.count : 1); }

  template <class Structure>
  void pull(const Structure& s, int r) {
    const Row row = s.row(r);
    const int count = s.in_count(r);
    last_row_ = r;
    if (count == 0) {
      begin(row, &offset_[r]);
    } else if (count == 1) {
      message(s, row, s.in(r, 0), cell_ + row.cell, &offset_[r], &top_[r]);
    } else if constexpr (Structure::conjuncts) {
      conjoin(s, row, r, count);
    } else {
      choose(s, row, r, count);
    }
    before_[r] = offset_[r];
    weigh(s, row, r);
    safety_.close_row(Structure::conjuncts ? count : 1);
  }

  template <class Structure>
  void push(const Structure& s, int r) {
    const Row row = s.row(r);
    if (r == last_row_) start_reverse(s, row);
    collect<Structure::conjuncts>(s, row, r);
    for (int e = 0, count = s.in_count(r); e < count; ++e) {
      const InEdge edge = s.in(r, e);
      const double* g = adjoint_ + row.cell;
      double top;  // what the forward pass took off the scores of this edge
      if constexpr (Structure::conjuncts) {
        g = divide_by_message(s, row, edge, g, &top);
      } else {
        top = count == 1 ? top_[r] : before_[r].minus(offset_[edge.source]);
      }
      push_edge(row, s.row(edge.source), edge, g, top);
    }
    if (r == 0) add_pooled_products(s);
  }

  // log(cell) + score of every source of a cell, up to a constant of the cell.
  template <class Structure>
  int candidates(const Structure& s, int r, const InEdge& edge, std::int64_t cell,
                 double* out) const {
    const Row row = s.row(r), source = s.row(edge.source);
    const double* x = cell_ + source.cell;
    const double shift = Structure::conjuncts ? 0.0 : offset_[edge.source].minus(before_[r]);
    int n = 0;
    visit_sources(row, source, edge, cell, [&](std::int64_t from, double score) {
      out[n++] = (x[from] > 0.0 ? std::log(x[from]) : kZero) + score + shift;
    });
    return n;
  }

 private:
  void begin(const Row& row, Offset* offset) {
    double* out = cell_ + row.cell;
    for (std::int64_t c = 0; c < row.cells(); ++c) out[c] = c % row.step < row.n ? 1.0 : 0.0;
    *offset = Offset();
  }

  // The probabilities of a dense edge: a shared table, or its own scores in scratch memory.
  const Table& table_of(const Row& row, const InEdge& edge) {
    if (edge.table >= 0) return tables_.table[edge.table];
    own_.shape(row.blocks, edge.n_in, row.n);
    own_.packed = packed_.room(own_.blocks * packed_size(edge.n_in, row.n));
    own_.fill_probabilities(edge.score);
    return own_;
  }

  // out = message of one edge, with its offset and what was taken off its scores.
  template <class Structure>
  void message(const Structure& s, const Row& row, const InEdge& edge, double* out, Offset* offset,
               double* top) {
    const Row source = s.row(edge.source);
    const double* x = cell_ + source.cell;
    *offset = offset_[edge.source];
    *top = 0.0;
    if (edge.kind == Kind::total) {
      Vec sum = {};
      for (std::int64_t c = 0; c < source.cells(); c += W) sum += load(x + c);
      for (int c = 1; c < row.step; ++c) out[c] = 0.0;
      out[0] = sum_of(sum);
      return;
    }
    if (edge.kind == Kind::diagonal) {
      Spread spread;
      spread.see(edge.score, row.n);
      safety_.see_diagonal(spread);
      *top = spread.safe_top();
      for (int j = 0; j < row.step; j += W)
        store(out + j, load(x + j) * exp(load_part(edge.score + j, row.n - j, kZero) - *top));
      offset->add(*top);
      return;
    }
    const Table& table = table_of(row, edge);
    if (row.blocks == 1 && source.blocks == 1) {
      product<SumProduct>(x, 0, 1, edge.n_in, table.matrix(0), row.n, out, 0);
    } else {
      double* u = gather_.room(edge.n_in);
      for (int m = 0; m < row.blocks; ++m) {
        for (int a = 0; a < edge.n_in; ++a)
          u[a] = x[source.state(static_cast<std::int64_t>(a) * row.blocks + m)];
        product<SumProduct>(u, 0, 1, edge.n_in, table.matrix(m), row.n,
                            out + static_cast<std::int64_t>(m) * row.step, 0);
      }
    }
    *top = table.spread.safe_top();
    offset->add(*top);
    if (edge.table < 0) safety_.see_conjunct(table.spread);
  }

  // Product of messages, rescaled after each so that many children cannot overflow.
  template <class Structure>
  void conjoin(const Structure& s, const Row& row, int r, int count) {
    double* out = cell_ + row.cell;
    Offset& sum = offset_[r];
    begin(row, &sum);
    double* m = message_.room(row.cells());
    for (int e = 0; e < count; ++e) {
      Offset from;
      double taken;
      message(s, row, s.in(r, e), m, &from, &taken);
      sum.add(from.high);
      sum.add(from.low);
      Vec top = {};
      for (std::int64_t c = 0; c < row.cells(); c += W) {
        const Vec v = load(out + c) * load(m + c);
        store(out + c, v);
        safety_.see_cells(v);
        top = max(top, v);
      }
      rescale(out, row.cells(), max_of(top), &sum);
    }
  }

  // Sum of several diagonal messages, whose sources have offsets of their own.
  template <class Structure>
  void choose(const Structure& s, const Row& row, int r, int count) {
    double* out = cell_ + row.cell;
    const Offset base = offset_[s.in(r, 0).source];
    double reference = kZero;
    for (int e = 0; e < count; ++e) {
      const InEdge edge = s.in(r, e);
      Spread spread;
      spread.see(edge.score, row.n);
      safety_.see_diagonal(spread);
      const double top = spread.top + offset_[edge.source].minus(base);
      reference = top > reference ? top : reference;
    }
    if (reference == kZero) reference = 0.0;
    Offset& result = offset_[r];
    result = base;
    result.add(reference);
    for (int j = 0; j < row.step; j += W) {
      const int part = row.n - j;
      Vec sum = {};
      VecInt alive = {};
      for (int e = 0; e < count; ++e) {
        const InEdge edge = s.in(r, e);
        const Vec x = load(cell_ + s.row(edge.source).cell + j),
                  score = load_part(edge.score + j, part, kZero);
        sum += x * exp(score + offset_[edge.source].minus(result));
        alive |= (x > 0.0) & (score > kZero);
      }
      store(out + j, sum);
      const VecInt lost = alive & (sum < 1e-250);
      for (int i = 0; i < W; ++i) safety_.see_loss(lost[i] != 0);
    }
  }

  // Brings the maximum of `n` cells back into [1, 2) once it has left [2^-40, 2^40]; returns the
  // power of two.
  double rescale(double* cells, std::int64_t n, double top, Offset* offset) {
    if (top > 0x1p-40 && top < 0x1p40) return 1.0;
    if (!(top > 1e-300 && top < 1e300)) {
      safety_.see_loss(top != 0.0);
      return 1.0;
    }
    std::int64_t bits;
    __builtin_memcpy(&bits, &top, sizeof bits);
    const std::int64_t exponent = (bits >> 52) - 1023;
    const std::int64_t inverse = (1023 - exponent) << 52;
    double factor;
    __builtin_memcpy(&factor, &inverse, sizeof factor);
    for (std::int64_t c = 0; c < n; c += W) store(cells + c, load(cells + c) * factor);
    offset->add(static_cast<double>(exponent) * 0.69314718055994530942);
    return factor;
  }

  template <class Structure>
  void weigh(const Structure& s, const Row& row, int r) {
    double* cells = cell_ + row.cell;
    const Terms terms = s.terms(r);
    const std::int64_t n_cells = row.cells();
    Offset& offset = offset_[r];
    Vec largest = {};
    if (terms.count) {
      double* weight = weight_ + row.cell;
      const double top = add_terms(terms, row, weight);
      const double* sum = terms.count == 1 ? terms.score[0] : weight;
      for (int j = 0; j < row.step; j += W) {
        const Vec d = load_part(sum + j, row.n - j, top) - top;  // the padding meets empty cells
        const Vec w = exp(d);
        safety_.see_terms(d);
        store(weight + j, w);
        for (std::int64_t c = j; c < n_cells; c += row.step) {
          const Vec v = load(cells + c) * w;
          store(cells + c, v);
          safety_.see_cells(v);
          largest = max(largest, v);
        }
      }
      offset.add(top);
    } else {
      for (std::int64_t c = 0; c < n_cells; c += W) {
        safety_.see_cells(load(cells + c));
        largest = max(largest, load(cells + c));
      }
    }
    factor_[r] = rescale(cells, n_cells, max_of(largest), &offset);
  }

  // Adds up several terms into weight[j]; returns the largest sum, 0 when all are -inf.
  static double add_terms(const Terms& terms, const Row& row, double* weight) {
    Vec top = splat(kZero);
    for (int j = 0; j < row.step; j += W) {
      Vec v = load_part(terms.score[0] + j, row.n - j, kZero);
      __builtin_prefetch(terms.score[0] + 2 * row.n + j);  // the row after the next one
      if (terms.count > 1) {
        for (int i = 1; i < terms.count; ++i) v += load_part(terms.score[i] + j, row.n - j, kZero);
        store(weight + j, v);
      }
      top = max(top, v);
    }
    const double highest = max_of(top);
    return highest == kZero ? 0.0 : highest;
  }

  template <class Structure>
  void start_reverse(const Structure& s, const Row& last) {
    if constexpr (Structure::has_diagonals) {  // adjoints are added to
      for (std::size_t c = 0; c < cells_; ++c) adjoint_[c] = 0.0;
    }
    const double cell = cell_[last.cell];
    for (int c = 0; c < last.step; ++c) adjoint_[last.cell + c] = 0.0;
    adjoint_[last.cell] = cell > 0.0 ? s.weight() / cell : 0.0;
  }

  // Gradients of the terms; then the adjoint before the terms (alternatives) or the share itself
  // (conjuncts).
  template <bool Shares, class Structure>
  void collect(const Structure& s, const Row& row, int r) {
    const double* cells = cell_ + row.cell;
    double* adjoint = adjoint_ + row.cell;
    const double* weight = weight_ + row.cell;
    const Terms terms = s.terms(r);
    const double factor = factor_[r];
    for (int j = 0; j < row.step; j += W) {
      const Vec w = terms.count ? load(weight + j) * factor : splat(factor);
      Vec share = {};
      for (std::int64_t c = j; c < row.cells(); c += row.step) {
        const Vec x = load(cells + c), a = load(adjoint + c);
        share += x > 0.0 ? x * a : Vec{};
        store(adjoint + c, x > 0.0 ? (Shares ? x * a : a * w) : Vec{});
      }
      const int part = row.n - j;
      for (int i = 0; i < terms.count; ++i) {
        if (terms.gradient[i]) {
          double* gradient = terms.gradient[i] + j;
          if (i == 0 && terms.own) {
            __builtin_prefetch(gradient - 2 * row.n, 1);  // the row before the next one
            store_part(gradient, part, share);
          } else {
            store_part(gradient, part, load_part(gradient, part, 0.0) + share);
          }
        }
        if (expected_) *expected_ += expectation(share, load_part(terms.score[i] + j, part, 0.0));
      }
    }
  }

  static double expectation(Vec share, Vec score) {
    return sum_of(share > 0.0 ? share * score : Vec{});
  }

  template <class Structure>
  double* divide_by_message(const Structure& s, const Row& row, const InEdge& edge,
                            const double* share, double* top) {
    double* m = message_.room(row.cells());
    Offset from;
    message(s, row, edge, m, &from, top);
    for (std::int64_t c = 0; c < row.cells(); c += W) {
      const Vec v = load(m + c);
      store(m + c, v > 0.0 ? load(share + c) / v : Vec{});
    }
    return m;
  }

  void push_edge(const Row& row, const Row& source, const InEdge& edge, const double* g,
                 double top) {
    double* adjoint = adjoint_ + source.cell;
    const double* x = cell_ + source.cell;
    if (edge.kind == Kind::total) {
      for (std::int64_t c = 0; c < source.cells(); ++c)
        adjoint[c] = c % source.step < source.n ? g[0] : 0.0;
      return;
    }
    if (edge.kind == Kind::diagonal) {
      for (int j = 0; j < row.step; j += W) {
        const int part = row.n - j;
        const Vec score = load_part(edge.score + j, part, kZero);
        const Vec a = load(g + j) * exp(score - top), share = load(x + j) * a;
        store(adjoint + j, load(adjoint + j) + a);
        if (edge.gradient) store_part(edge.gradient + j, part, share);
        if (expected_) *expected_ += expectation(share, score);
      }
      return;
    }
    if (edge.table < 0 || edge.gradient) {
      push_rows(row, source, edge, g, x, adjoint, top);
    } else if (edge.deferred) {  // gradients follow in add_pooled_products
      product<SumProduct>(g, 0, 1, row.n, tables_.table[edge.table].matrix_transposed(0), edge.n_in,
                          adjoint, 0);
    } else if (expected_) {
      push_rows(row, source, edge, g, x, adjoint, top);
    } else {
      push_blocks(row, source, edge, g, x, adjoint);
    }
  }

  // Shared table over label tuples: one small matrix per history.
  void push_blocks(const Row& row, const Row& source, const InEdge& edge, const double* g,
                   const double* x, double* adjoint) {
    const Table& table = tables_.table[edge.table];
    for (std::int64_t c = 0; c < source.cells(); ++c) adjoint[c] = 0.0;
    double* u = gather_.room(2 * padded(edge.n_in));
    double* back = u + padded(edge.n_in);
    for (int m = 0; m < row.blocks; ++m) {
      const double* g_block = g + static_cast<std::int64_t>(m) * row.step;
      product<SumProduct>(g_block, 0, 1, row.n, table.matrix_transposed(m), edge.n_in, back, 0);
      for (int a = 0; a < edge.n_in; ++a) {
        const std::int64_t from = source.state(static_cast<std::int64_t>(a) * row.blocks + m);
        u[a] = x[from];
        adjoint[from] = back[a];
      }
      if (edge.products)
        add_outer_products(u, 0, g_block, 0, 1, edge.n_in, row.n,
                           edge.products + static_cast<std::int64_t>(m) * row.step,
                           static_cast<std::ptrdiff_t>(row.blocks) * row.step);
    }
  }

  // Dense edge, one row of its matrix at a time: gradient and adjoint in one pass.
  void push_rows(const Row& row, const Row& source, const InEdge& edge, const double* g,
                 const double* x, double* adjoint, double top) {
    for (std::int64_t c = 0; c < source.cells(); ++c) adjoint[c] = 0.0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(edge.n_in) * row.blocks; ++i) {
      const std::int64_t from = source.state(i);
      const double* score = edge.score + i * row.n;
      const double* g_block = g + i % row.blocks * row.step;
      Vec sum = {};
      for (int j = 0; j < row.step; j += W) {
        const int part = row.n - j;
        const Vec raw = load_part(score + j, part, kZero);
        const Vec a = exp(raw - top) * load(g_block + j), share = x[from] * a;
        sum += a;
        if (edge.gradient) store_part(edge.gradient + i * row.n + j, part, share);
        if (edge.pooled)
          store(edge.pooled + i * row.step + j, load(edge.pooled + i * row.step + j) + share);
        if (expected_) *expected_ += expectation(share, raw);
      }
      adjoint[from] = x[from] > 0.0 ? sum_of(sum) : 0.0;
    }
  }

  // Gradients of a shared table: exp(score - top) times the sum over positions of cell (x) adjoint.
  template <class Structure>
  void add_pooled_products(const Structure& s) {
    const PooledRows rows = s.pooled_rows();
    if (rows.count == 0) return;
    const Row source = s.row(rows.source), target = s.row(rows.target);
    const Table& table = tables_.table[0];
    const int step = padded(table.n_out);
    const std::size_t size = static_cast<std::size_t>(table.n_in) * step;
    double* products = s.in(rows.target, 0).products;
    double* sum = products;
    if (expected_) sum = arena_.take<double>(size, 0.0);
    add_outer_products(cell_ + source.cell, rows.step * source.step, adjoint_ + target.cell,
                       rows.step * target.step, rows.count, table.n_in, table.n_out, sum, step);
    if (!expected_) return;
    const InEdge edge = s.in(rows.target, 0);
    for (int i = 0; i < table.n_in; ++i) {
      for (int j = 0; j < step; j += W) {
        const Vec c = load(sum + static_cast<std::size_t>(i) * step + j);
        const Vec share = c * load(table.packed + packed_index(table.n_in, table.n_out, i, j));
        const int part = table.n_out - j;
        *expected_ += expectation(
            share,
            load_part(edge.score + static_cast<std::ptrdiff_t>(i) * table.n_out + j, part, 0.0));
        double* pooled = products + static_cast<std::size_t>(i) * step + j;
        store(pooled, load(pooled) + c);
      }
    }
  }

  Safety safety_;
  const Tables& tables_;
  Arena& arena_;
  int last_row_ = 0;
  std::size_t cells_;
  double *cell_, *weight_, *adjoint_;
  double* factor_;    // [rows] power of two of each
  Offset* offset_;    // [rows]
  Offset* before_;    // [rows] offset of the combined messages, before the terms
  double* top_;       // [rows] what was taken off the scores of the only edge of a row
  double* expected_;  // expected score, where it is wanted

  Table own_ = {};  // of an edge that shares no table
  Scratch packed_{arena_}, gather_{arena_}, message_{arena_};
};

}  // namespace crfkit::CRFKIT_ARCH
