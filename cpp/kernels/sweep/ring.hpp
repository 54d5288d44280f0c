// Semirings of plain integers over the support, the parts whose score is above -inf: does a
// labeling exist (or, and), and how many are there (+, * modulo a prime; several primes give the
// exact number by the Chinese remainder theorem).
#pragma once

#include "kernels/sweep/structure.hpp"

namespace crfkit::CRFKIT_ARCH {

struct Boolean {
  using Cell = std::uint8_t;
  Cell plus(Cell a, Cell b) const { return a | b; }
  Cell times(Cell a, Cell b) const { return a & b; }
};

struct Modular {
  using Cell = std::uint64_t;
  std::uint64_t prime;
  Cell plus(Cell a, Cell b) const { return a + b >= prime ? a + b - prime : a + b; }
  Cell times(Cell a, Cell b) const {
    return static_cast<Cell>(static_cast<unsigned __int128>(a) * b % prime);
  }
};

template <class Arithmetic>
class Ring {
 public:
  using Cell = typename Arithmetic::Cell;

  template <class Structure>
  Ring(const Structure& s, Arithmetic arithmetic, Arena& arena) : ring_(arithmetic), arena_(arena) {
    const Row last = s.row(s.rows() - 1);
    cells_ = static_cast<std::size_t>(last.cell + last.cells());
    cell_ = arena.take<Cell>(cells_);
  }

  Cell value(const Row& last) const { return cell_[last.cell]; }

  template <class Structure>
  void pull(const Structure& s, int r) {
    const Row row = s.row(r);
    const Terms terms = s.terms(r);
    const int count = s.in_count(r);
    last_row_ = r;
    for (std::int64_t c = 0; c < row.cells(); ++c) {
      Cell& out = cell_[row.cell + c];
      out = 0;
      if (!allowed(terms, row, c)) continue;
      out = count == 0 || Structure::conjuncts;
      for (int e = 0; e < count; ++e) {
        const Cell m = message(s, row, s.in(r, e), c);
        out = Structure::conjuncts ? ring_.times(out, m) : ring_.plus(out, m);
      }
    }
  }

  // Gradients: 1 for the parts that lie on some labeling.  Meant for Boolean.
  template <class Structure>
  void push(const Structure& s, int r) {
    const Row row = s.row(r);
    if (r == last_row_) {
      alive_ = arena_.take<Cell>(cells_, Cell{0});
      alive_[row.cell] = cell_[row.cell];
    }
    const Cell* alive = alive_ + row.cell;
    const Terms terms = s.terms(r);
    for (int i = 0; i < terms.count; ++i)
      for (std::int64_t c = 0; c < row.cells(); ++c)
        if (alive[c] && terms.gradient[i]) terms.gradient[i][c % row.step] = 1.0;
    for (int e = 0; e < s.in_count(r); ++e) {
      const InEdge edge = s.in(r, e);
      const Row source = s.row(edge.source);
      for (std::int64_t c = 0; c < row.cells(); ++c) {
        if (!alive[c]) continue;
        visit_sources(row, source, edge, c, [&](std::int64_t from, double score) {
          if (score == kZero || !cell_[source.cell + from]) return;
          alive_[source.cell + from] = 1;
          gradient(row, source, edge, c, from);
        });
      }
    }
  }

 private:
  static bool allowed(const Terms& terms, const Row& row, std::int64_t cell) {
    const std::int64_t j = cell % row.step;
    if (j >= row.n) return false;
    for (int i = 0; i < terms.count; ++i)
      if (terms.score[i][j] == kZero) return false;
    return true;
  }

  template <class Structure>
  Cell message(const Structure& s, const Row& row, const InEdge& edge, std::int64_t cell) {
    const Row source = s.row(edge.source);
    const Cell* x = cell_ + source.cell;
    Cell sum = 0;
    visit_sources(row, source, edge, cell, [&](std::int64_t from, double score) {
      if (score > kZero) sum = ring_.plus(sum, x[from]);
    });
    return sum;
  }

  static void gradient(const Row& row, const Row& source, const InEdge& edge, std::int64_t cell,
                       std::int64_t from) {
    if (edge.kind == Kind::total) return;
    if (edge.kind == Kind::diagonal) {
      if (edge.gradient) edge.gradient[cell] = 1.0;
      return;
    }
    const std::int64_t state = from / source.step * source.n + from % source.step,
                       j = cell % row.step;
    if (edge.gradient) edge.gradient[state * row.n + j] = 1.0;
    if (edge.pooled) edge.pooled[state * row.step + j] = 1.0;
  }

  Arithmetic ring_;
  Arena& arena_;
  int last_row_ = 0;
  std::size_t cells_;
  Cell *cell_, *alive_ = nullptr;
};

}  // namespace crfkit::CRFKIT_ARCH
