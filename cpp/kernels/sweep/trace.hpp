// One path back through the rows: the best one (Max) or a draw (any sum).
//
// No back-pointers are kept: the candidates of a chosen cell are computed again, L of them per
// position against L x L in the forward pass.  Ties go to the first candidate: the shortest
// segment, then the lowest label.
#pragma once

#include "kernels/simd/random.hpp"
#include "kernels/sweep/structure.hpp"

namespace crfkit::CRFKIT_ARCH {

// Index of the largest of n candidates.
struct ChooseBest {
  int operator()(const double* candidate, int n) {
    Vec top = splat(kZero);
    for (int i = 0; i < n; i += W) top = max(top, load_part(candidate + i, n - i, kZero));
    const double highest = max_of(top);
    for (int i = 0; i < n; ++i)
      if (candidate[i] == highest) return i;
    return 0;
  }
};

// Index drawn with probability proportional to exp(candidate).  The stream depends on the seed, the
// sequence and the draw only, so results do not depend on threads or on what else is in the batch.
class ChooseRandom {
 public:
  ChooseRandom() = default;
  ChooseRandom(std::uint64_t seed, std::uint64_t sequence, std::uint64_t draw)
      : state_(mix(mix(mix(seed) + sequence) + draw)) {}

  int operator()(const double* candidate, int n) {
    double top = kZero, total = 0.0;
    for (int i = 0; i < n; ++i) top = candidate[i] > top ? candidate[i] : top;
    for (int i = 0; i < n; ++i) total += std::exp(candidate[i] - top);
    double rest = uniform() * total;
    int last = 0;
    for (int i = 0; i < n; ++i) {
      const double p = std::exp(candidate[i] - top);
      if (p > 0.0) {
        last = i;
        if (rest < p) return i;
        rest -= p;
      }
    }
    return last;
  }

 private:
  double uniform() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return uniform_of(mix(state_));
  }

  std::uint64_t state_ = 0;
};

// A semiring for `reverse` alone, on top of the rows that another one has filled.
template <class Semiring, class Choose>
class Trace {
 public:
  template <class Structure>
  Trace(const Semiring& rows, const Structure& s, Arena& arena) : rows_(rows) {
    cell = arena.take<std::int64_t>(s.rows());
    int most = 0;
    for (int r = 0; r < s.rows(); ++r) {
      int n = 0;
      for (int e = 0; e < s.in_count(r); ++e) n += entering(s, s.in(r, e));
      most = n > most ? n : most;
    }
    candidate_ = arena.take<double>(most);
  }

  // One path: reverse(trace.follow(...), structure).
  template <class Structure>
  Trace& follow(const Structure& s, Choose choose) {
    choose_ = choose;
    score = 0.0;
    for (int r = 0; r < s.rows(); ++r) cell[r] = -1;
    cell[s.rows() - 1] = 0;
    return *this;
  }

  template <class Structure>
  void push(const Structure& s, int r) {
    const int count = s.in_count(r);
    if (cell[r] < 0) return;
    const Terms terms = s.terms(r);
    for (int i = 0; i < terms.count; ++i) score += terms.score[i][cell[r] % s.row(r).step];
    if (count == 0) return;
    if constexpr (Structure::conjuncts) {
      for (int e = 0; e < count; ++e) {
        const InEdge edge = s.in(r, e);
        const int n = rows_.candidates(s, r, edge, cell[r], candidate_);
        step(s, r, edge, choose_(candidate_, n));
      }
    } else {
      int n = 0;
      for (int e = 0; e < count; ++e)
        n += rows_.candidates(s, r, s.in(r, e), cell[r], candidate_ + n);
      int chosen = choose_(candidate_, n), e = 0;
      for (; chosen >= entering(s, s.in(r, e)); ++e) chosen -= entering(s, s.in(r, e));
      step(s, r, s.in(r, e), chosen);
    }
  }

  std::int64_t* cell;  // [rows] chosen cell, or -1
  double score = 0.0;  // of the path

 private:
  // How many sources one cell has on an edge.
  template <class Structure>
  static int entering(const Structure& s, const InEdge& edge) {
    if (edge.kind == Kind::diagonal) return 1;
    if (edge.kind == Kind::dense) return edge.n_in;
    const Row source = s.row(edge.source);
    return source.blocks * source.n;
  }

  template <class Structure>
  void step(const Structure& s, int r, const InEdge& edge, int chosen) {
    const Source from = source_of(s.row(r), s.row(edge.source), edge, cell[r], chosen);
    cell[edge.source] = from.cell;
    score += from.score;
  }

  const Semiring& rows_;
  Choose choose_;
  double* candidate_;
};

}  // namespace crfkit::CRFKIT_ARCH
