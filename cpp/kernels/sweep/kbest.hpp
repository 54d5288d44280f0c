// The k best labelings, exact and distinct.
//
// A cell holds its k best partial scores, best first (-inf where fewer exist).  Alternatives are
// merged, list by list; conjuncts (children of a tree variable) one after the other, the k best of
// all pairs of sums.  The trace of a path repeats the merges of the cells that it visits to learn
// where a score came from, so no pointers are kept.
#pragma once

#include "kernels/sweep/call.hpp"
#include "kernels/sweep/sweep.hpp"

namespace crfkit::CRFKIT_ARCH {

class KBest {
 public:
  template <class Structure>
  KBest(const Structure& s, int k, Arena& arena) : k_(k), arena_(arena) {
    const Row last = s.row(s.rows() - 1);
    scores_ = arena.take<double>(static_cast<std::size_t>(last.cell + last.cells()) * k);
    list_ = arena.take<Entry>(k);
    joined_ = arena.take<Entry>(k);
    cell = arena.take<std::int64_t>(s.rows());
    rank_ = arena.take<int>(s.rows());
  }

  double score(const Row& last, int path) const { return scores_[last.cell * k_ + path]; }

  template <class Structure>
  void pull(const Structure& s, int r) {
    const Row row = s.row(r);
    const Terms terms = s.terms(r);
    const std::int64_t work = kMerge * k_ * s.in_count(r) * row.n;  // of a cell
    for (std::int64_t c = 0; c < row.cells(); ++c) {
      const int j = static_cast<int>(c % row.step);
      if (j >= row.n) continue;
      worked_if_many(work);  // rows of less are counted by the sweep
      double term = 0.0;
      for (int i = 0; i < terms.count; ++i) term += terms.score[i][j];
      const Entry* best = combine(s, r, c, nullptr);
      for (int i = 0; i < k_; ++i) scores_[(row.cell + c) * k_ + i] = best[i].score + term;
    }
  }

  // Makes the next `reverse` follow path number `path`.
  template <class Structure>
  KBest& follow(const Structure& s, int path) {
    for (int r = 0; r < s.rows(); ++r) cell[r] = -1;
    cell[s.rows() - 1] = 0;
    rank_[s.rows() - 1] = path;
    return *this;
  }

  template <class Structure>
  void push(const Structure& s, int r) {
    if (cell[r] < 0 || s.in_count(r) == 0) return;
    if constexpr (Structure::conjuncts) {
      unwind(s, r);
    } else {
      take(combine(s, r, cell[r], nullptr)[rank_[r]]);
    }
  }

  std::int64_t* cell;  // [rows] cell of the path, or -1

 private:
  static constexpr std::int64_t kMerge = 4;  // cells of work for each candidate

  struct Entry {
    double score;
    int source;         // row
    std::int64_t from;  // cell in it
    int rank;           // which of its k scores
    int before;         // conjuncts: which entry of the list so far
  };

  // The k best of one cell without its terms.  Conjuncts: `history` (when given) receives the
  // merged list after each edge.
  template <class Structure>
  __attribute__((always_inline)) Entry* combine(const Structure& s, int r, std::int64_t to,
                                                Entry* history) {
    const int k = k_, count = s.in_count(r);
    Entry* const joined = joined_;
    clear(joined, k);
    if (count == 0 || Structure::conjuncts) joined[0].score = 0.0;
    for (int e = 0; e < count; ++e) {
      const InEdge edge = s.in(r, e);
      const Row row = s.row(r), source = s.row(edge.source);
      const double* const scores = scores_ + source.cell * k;
      Entry* into = joined;
      if constexpr (Structure::conjuncts) clear(into = list_, k);
      visit_sources(row, source, edge, to, [=](std::int64_t from, double score) {
        const double* x = scores + from * k;
        merge(into, k, x, {score, edge.source, from, 0, 0});
      });
      if constexpr (Structure::conjuncts) {
        Entry* merged = history ? history + static_cast<std::int64_t>(e) * k : list_two();
        clear(merged, k);
        worked_if_many(std::int64_t{k} * k);
        for (int a = 0; a < k; ++a) {
          for (int b = 0; b < k; ++b) {
            Entry entry = into[b];
            entry.score += joined[a].score;
            entry.before = a;
            if (!insert(merged, k, entry)) break;
          }
        }
        for (int i = 0; i < k; ++i) joined[i] = merged[i];
      }
    }
    return joined;
  }

  static void clear(Entry* list, int k) {
    for (int i = 0; i < k; ++i) list[i] = {kZero, -1, -1, 0, 0};
  }

  // Puts the sums of x, which is sorted, and `each` into the sorted list, and keeps k; those that
  // were there come first among equals.
  static void merge(Entry* list, int k, const double* x, const Entry& each) {
    int fresh = 0;
    for (int i = 0; i + fresh<k; x[fresh] + each.score> list[i].score ? ++fresh : ++i) {
    }
    for (int to = k - 1, i = k - 1 - fresh; fresh > 0; --to) {
      const double score = x[fresh - 1] + each.score;
      if (i >= 0 && list[i].score < score) {
        list[to] = list[i--];
      } else {
        list[to] = each;
        list[to].score = score;
        list[to].rank = --fresh;
      }
    }
  }

  // Keeps the list sorted; equal scores stay in order of arrival.  False when the entry is too low
  // for the list.
  static bool insert(Entry* list, int k, const Entry& entry) {
    if (!(entry.score > list[k - 1].score)) return false;
    int i = k - 1;
    for (; i > 0 && list[i - 1].score < entry.score; --i) list[i] = list[i - 1];
    list[i] = entry;
    return true;
  }

  // An entry without a source is met only where somebody changes scores during the call.
  void take(const Entry& entry) {
    if (entry.source < 0) return;
    cell[entry.source] = entry.from;
    rank_[entry.source] = entry.rank;
  }

  template <class Structure>
  void unwind(const Structure& s, int r) {
    const int count = s.in_count(r);
    Entry* history = arena_.take<Entry>(static_cast<std::size_t>(count) * k_);
    combine(s, r, cell[r], history);
    int i = rank_[r];
    for (int e = count - 1; e >= 0; --e) {
      const Entry& entry = history[static_cast<std::int64_t>(e) * k_ + i];
      take(entry);
      i = entry.before;
    }
  }

  Entry* list_two() {
    if (!two_) two_ = arena_.take<Entry>(k_);
    return two_;
  }

  int k_;
  Arena& arena_;
  double* scores_;
  Entry *list_, *joined_, *two_ = nullptr;
  int* rank_;
};

template <class Structure>
void kbest(const Call& call, std::int64_t sequence) {
  const Structure s = call.structure<Structure>(sequence);
  KBest semiring(s, call.task.k, call.arena);
  forward(semiring, s);
  for (int i = 0; i < call.task.k; ++i) {
    const double score = semiring.score(s.row(s.rows() - 1), i);
    call.task.path_score[sequence * call.task.k + i] = score;
    if (score == kZero) {
      call.no_path(sequence, i);
    } else {
      reverse(semiring.follow(s, i), s);
      call.emit(s, semiring.cell, i);
    }
  }
}

// Those of chains are called from elsewhere too.
extern template void kbest<Chain>(const Call& call, std::int64_t sequence);

}  // namespace crfkit::CRFKIT_ARCH
