// Sums and maxima in log space.
//
// A cell holds a logarithm relative to the offset of its row, whose largest cell is 0: true value =
// cell + offset, so long sequences lose no digits.  Max: Sutton & McCallum (2006) eq. 1.35.  Sum:
// log of eq. 1.29, exp(x - max) per cell.  In reverse the sum hands on shares, share[i] = sum over
// j of share[j] * exp(x[i] + score[i, j] - message[j]): the share of out[j] that came from i.
#pragma once

#include "kernels/sweep/tables.hpp"

namespace crfkit::CRFKIT_ARCH {

template <bool Sum>
class Logs {
 public:
  template <class Structure>
  Logs(const Structure& s, const Tables& tables, Arena& arena, double* expected)
      : tables_(tables), arena_(arena), expected_(expected) {
    const Row last = s.row(s.rows() - 1);
    cells_ = static_cast<std::size_t>(last.cell + last.cells());
    cell_ = arena.take<double>(cells_);
    before_ = arena.take<double>(cells_);
    share_ = Sum ? arena.take<double>(cells_) : nullptr;
    offset_ = arena.take<Offset>(s.rows());
  }

  double value(const Row& last) const { return cell_[last.cell] + offset_[last_row_].value(); }

  template <class Structure>
  void pull(const Structure& s, int r) {
    const Row row = s.row(r);
    const int count = s.in_count(r);
    double* before = before_ + row.cell;
    last_row_ = r;
    if (count == 0) {
      fill_ones(row, before);
      offset_[r] = Offset();
    } else if (count == 1) {
      message(s, row, s.in(r, 0), before);
      offset_[r] = offset_[s.in(r, 0).source];
    } else if constexpr (Structure::conjuncts) {
      fill_ones(row, before);
      double* m = message_.room(row.cells());
      offset_[r] = Offset();
      for (int e = 0; e < count; ++e) {
        message(s, row, s.in(r, e), m);
        offset_[r].add(offset_[s.in(r, e).source].high);
        offset_[r].add(offset_[s.in(r, e).source].low);
        for (std::int64_t c = 0; c < row.cells(); c += W)
          store(before + c, load(before + c) + load(m + c));
      }
    } else {
      choose(s, row, r, count, before);
      offset_[r] = offset_[s.in(r, 0).source];
    }
    weigh(s.terms(r), row, before, cell_ + row.cell, &offset_[r]);
  }

  template <class Structure>
  void push(const Structure& s, int r) {
    const Row row = s.row(r);
    double* share = share_ + row.cell;
    if (r == last_row_) {
      for (std::size_t c = 0; c < cells_; ++c) share_[c] = 0.0;
      *share = cell_[row.cell] > kZero ? s.weight() : 0.0;
    }
    collect(s.terms(r), row, share);
    for (int e = 0, count = s.in_count(r); e < count; ++e) {
      const InEdge edge = s.in(r, e);
      const double* before = before_ + row.cell;
      double shift = 0.0;
      if constexpr (Structure::conjuncts) {
        double* m = message_.room(row.cells());
        message(s, row, edge, m);
        before = m;
      } else {
        shift = offset_[edge.source].minus(offset_[s.in(r, 0).source]);
      }
      push_edge(row, s.row(edge.source), edge, share, before, shift);
    }
  }

  // cell + score of every source of a cell, up to a constant of the cell.
  template <class Structure>
  int candidates(const Structure& s, int r, const InEdge& edge, std::int64_t cell,
                 double* out) const {
    const Row source = s.row(edge.source);
    const double* x = cell_ + source.cell;
    const double shift =
        Structure::conjuncts ? 0.0 : offset_[edge.source].minus(offset_[s.in(r, 0).source]);
    int n = 0;
    visit_sources(s.row(r), source, edge, cell,
                  [&](std::int64_t from, double score) { out[n++] = x[from] + score + shift; });
    return n;
  }

 private:
  static void fill_ones(const Row& row, double* out) {
    for (std::int64_t c = 0; c < row.cells(); ++c) out[c] = c % row.step < row.n ? 0.0 : kZero;
  }

  // log(sum of exp) of values whose largest is `top`: f(i) visits them.
  template <class F>
  static Vec log_sum(Vec top, int count, F f) {
    const Vec anchor = top > kZero ? top : Vec{};
    Vec sum = {};
    for (int i = 0; i < count; ++i) sum += exp(f(i) - anchor);
    return anchor + log(sum);
  }

  template <class Structure>
  void message(const Structure& s, const Row& row, const InEdge& edge, double* out) {
    const Row source = s.row(edge.source);
    const double* x = cell_ + source.cell;
    if (edge.kind == Kind::total) {
      Vec top = splat(kZero);
      for (std::int64_t c = 0; c < source.cells(); c += W) top = max(top, load(x + c));
      for (int c = 1; c < row.step; ++c) out[c] = kZero;
      out[0] = max_of(top);
      if constexpr (Sum) {
        const Vec anchor = splat(out[0] > kZero ? out[0] : 0.0);
        Vec sum = {};
        for (std::int64_t c = 0; c < source.cells(); c += W) sum += exp(load(x + c) - anchor);
        out[0] = anchor[0] + std::log(sum_of(sum));
      }
      return;
    }
    if (edge.kind == Kind::diagonal) {
      for (int j = 0; j < row.step; j += W)
        store(out + j, load(x + j) + load_part(edge.score + j, row.n - j, kZero));
      return;
    }
    const Table& table = table_of(row, edge);
    double* gathered = gather_.room(edge.n_in);
    for (int m = 0; m < row.blocks; ++m) {
      const double* u = x;
      if (row.blocks > 1 || source.blocks > 1) {
        for (int a = 0; a < edge.n_in; ++a)
          gathered[a] = x[source.state(static_cast<std::int64_t>(a) * row.blocks + m)];
        u = gathered;
      }
      double* to = out + static_cast<std::int64_t>(m) * row.step;
      const double* matrix = table.matrix(m);
      product<MaxPlus>(u, 0, 1, edge.n_in, matrix, row.n, to, 0);
      if constexpr (Sum) {
        for (int j = 0; j < row.step; j += W) {
          store(to + j, log_sum(load(to + j), edge.n_in, [&](int a) {
                  return u[a] + load(matrix + packed_index(edge.n_in, row.n, a, j));
                }));
        }
      }
    }
  }

  // Several diagonal messages; cells are relative to the offset of the first source.
  template <class Structure>
  void choose(const Structure& s, const Row& row, int r, int count, double* out) {
    const Offset& base = offset_[s.in(r, 0).source];
    for (int j = 0; j < row.step; j += W) {
      const auto candidate = [&](int e) {
        const InEdge edge = s.in(r, e);
        return load(cell_ + s.row(edge.source).cell + j) +
               load_part(edge.score + j, row.n - j, kZero) + offset_[edge.source].minus(base);
      };
      Vec top = splat(kZero);
      for (int e = 0; e < count; ++e) top = max(top, candidate(e));
      store(out + j, Sum ? log_sum(top, count, candidate) : top);
    }
  }

  const Table& table_of(const Row& row, const InEdge& edge) {
    if (edge.table >= 0) return tables_.table[edge.table];
    own_.shape(row.blocks, edge.n_in, row.n);
    own_.packed = packed_.room(own_.blocks * packed_size(edge.n_in, row.n));
    own_.fill_scores(edge.score);
    return own_;
  }

  static void weigh(const Terms& terms, const Row& row, const double* before, double* cells,
                    Offset* offset) {
    Vec top = splat(kZero);
    for (std::int64_t c = 0; c < row.cells(); c += W) {
      const int j = static_cast<int>(c % row.step), part = row.n - j;
      Vec v = load(before + c);
      for (int i = 0; i < terms.count; ++i) v += load_part(terms.score[i] + j, part, 0.0);
      store(cells + c, v);
      top = max(top, v);
    }
    const double highest = max_of(top);
    if (highest == kZero) return;
    for (std::int64_t c = 0; c < row.cells(); c += W) store(cells + c, load(cells + c) - highest);
    offset->add(highest);
  }

  void collect(const Terms& terms, const Row& row, const double* share) {
    for (int i = 0; i < terms.count; ++i) {
      for (int j = 0; j < row.n; j += W) {
        Vec sum = {};
        for (std::int64_t c = j; c < row.cells(); c += row.step) sum += load(share + c);
        const int part = row.n - j;
        if (terms.gradient[i]) {
          double* gradient = terms.gradient[i] + j;
          const Vec old = i == 0 && terms.own ? Vec{} : load_part(gradient, part, 0.0);
          store_part(gradient, part, old + sum);
        }
        expect(sum, load_part(terms.score[i] + j, part, 0.0));
      }
    }
  }

  void expect(Vec share, Vec score) {
    if (expected_) *expected_ += sum_of(share > 0.0 ? share * score : Vec{});
  }

  void push_edge(const Row& row, const Row& source, const InEdge& edge, const double* share,
                 const double* before, double shift) {
    const double* x = cell_ + source.cell;
    double* back = share_ + source.cell;
    if (edge.kind == Kind::total) {
      if (share[0] == 0.0) return;
      for (std::int64_t c = 0; c < source.cells(); c += W)
        store(back + c, share[0] * exp(load(x + c) - before[0]));
    } else if (edge.kind == Kind::diagonal) {
      for (int j = 0; j < row.step; j += W) {
        const int part = row.n - j;
        const Vec score = load_part(edge.score + j, part, kZero);
        const Vec v = part_of(load(x + j) + score + shift, share + j, before + j);
        store(back + j, load(back + j) + v);
        if (edge.gradient) store_part(edge.gradient + j, part, v);
        expect(v, score);
      }
    } else {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(edge.n_in) * row.blocks; ++i) {
        const std::int64_t from = source.state(i), to = i % row.blocks * row.step;
        Vec sum = {};
        for (int j = 0; j < row.step; j += W) {
          const int part = row.n - j;
          const Vec score = load_part(edge.score + i * row.n + j, part, kZero);
          const Vec v = part_of(x[from] + score, share + to + j, before + to + j);
          sum += v;
          if (edge.gradient) store_part(edge.gradient + i * row.n + j, part, v);
          if (edge.pooled)
            store(edge.pooled + i * row.step + j, load(edge.pooled + i * row.step + j) + v);
          expect(v, score);
        }
        back[from] = sum_of(sum);
      }
    }
  }

  // share * exp(x - before), 0 where the share is 0 (there `before` may be -inf).
  static Vec part_of(Vec x, const double* share, const double* before) {
    const Vec s = load(share);
    return s != 0.0 ? s * exp(x - load(before)) : Vec{};
  }

  const Tables& tables_;  // of scores
  Arena& arena_;
  int last_row_ = 0;
  std::size_t cells_;
  double* cell_;
  double* before_;  // combined messages, before the terms
  double* share_;
  Offset* offset_;
  double* expected_;
  Table own_ = {};  // of an edge that shares no table
  Scratch packed_{arena_}, gather_{arena_}, message_{arena_};
};

using LogSum = Logs<true>;
using Max = Logs<false>;

}  // namespace crfkit::CRFKIT_ARCH
