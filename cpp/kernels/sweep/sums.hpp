// The sum query: scaled probabilities where they are exact, logarithms elsewhere.
#pragma once

#include "kernels/sweep/best_steps.hpp"
#include "kernels/sweep/logs.hpp"
#include "kernels/sweep/scaled.hpp"
#include "kernels/sweep/sweep.hpp"

namespace crfkit::CRFKIT_ARCH {

// Tables for the semirings of a task; `scores` serve log space, which sums need only as a fallback.
struct Prepared {
  Tables probabilities, scores;
  ListedSteps listed;  // where they serve
  Tables by_pairs;     // probabilities of these
  BestSteps best;

  Prepared(const Problem& p, const Task& t)
      : probabilities(p, (t.query == Query::sum || t.query == Query::sample) && !t.log_space, true),
        scores(p, t.query == Query::sum || t.query == Query::sample || t.query == Query::best,
               false),
        listed(p, t.query == Query::best || sums_without_steps(p, t)),
        by_pairs(with_pairs(p, listed.pairs()), listed.made() && t.query == Query::sum, true),
        best(p, t.query == Query::best, listed) {}

 private:
  static constexpr std::int64_t kEnough = 256;  // positions, which pay for listing

  // Tables without sequences are made ahead, for many calls.
  static bool sums_without_steps(const Problem& p, const Task& t) {
    return t.query == Query::sum && t.credits.no_steps && !t.log_space && !t.expected && !p.pairs &&
           (p.sequences == 0 || p.seq_ptr[p.sequences] >= kEnough);
  }
  static Problem with_pairs(Problem p, const Pairs& pairs) {
    p.pairs = &pairs;
    return p;
  }
};

struct Call {
  const Problem& problem;
  const Task& task;
  const Prepared& prepared;
  double* pooled;
  Arena& arena;

  double* expected(std::int64_t n) const { return task.expected ? task.expected + n : nullptr; }
  bool wants_credits() const { return pooled != nullptr; }
  std::int64_t positions() const { return problem.seq_ptr[problem.sequences]; }
  // For sums over so many lanes of at most `longest` positions.  Listed steps have no credits of
  // others; a listed step of a vector of lanes costs about 4 W cells of dense ones (17 us a
  // position against 43 for one lane of 472 labels, 8,020 steps listed; 0.6 against 0.2 for 40 and
  // 160). Cells take the room of kStripe lanes even for one, which must not be too much.
  const Tables& probabilities(int lanes, std::int64_t longest) const {
    constexpr double most = 256e6;  // bytes
    const double L = problem.labels, count = static_cast<double>(prepared.listed.pairs().count),
                 vectors = (lanes + W - 1) / W;
    const bool faster = lanes * L * L > vectors * 4 * W * (count + 4 * L),
               fits = 3.0 * 8.0 * kStripe * L * static_cast<double>(longest) <= most,
               able = !wants_credits() || task.credits.no_steps;
    return prepared.by_pairs.count > 0 && able && faster && fits ? prepared.by_pairs
                                                                 : prepared.probabilities;
  }

  template <class Structure>
  Structure structure(std::int64_t sequence) const {
    return Structure(problem, task, pooled, sequence, arena);
  }

  void no_path(std::int64_t n, int i) const {
    std::int32_t* path = task.path + i * positions();
    for (std::int64_t p = problem.seq_ptr[n]; p < problem.seq_ptr[n + 1]; ++p) path[p] = -1;
  }
  template <class Structure>
  void emit(const Structure& s, const std::int64_t* cell, int i) const {
    s.emit(cell, task.path + i * positions(), task.begin ? task.begin + i * positions() : nullptr);
  }
};

template <class Structure>
inline void sum_in_logs(const Call& call, std::int64_t n) {
  const Structure s = call.structure<Structure>(n);
  LogSum semiring(s, call.prepared.scores, call.arena, call.expected(n));
  forward(semiring, s);
  call.task.value[n] = semiring.value(s.row(s.rows() - 1));
  if (call.task.in_logs) call.task.in_logs[n] = 1;
  if (call.wants_credits()) reverse(semiring, s);
}

template <class Structure>
inline void sum(const Call& call, std::int64_t n) {
  if (call.task.log_space) return sum_in_logs<Structure>(call, n);
  const Structure s = call.structure<Structure>(n);
  Scaled semiring(s, call.prepared.probabilities, call.arena, call.expected(n));
  forward(semiring, s);
  if (!semiring.exact()) return sum_in_logs<Structure>(call, n);
  call.task.value[n] = semiring.value(s.row(s.rows() - 1));
  if (call.wants_credits()) reverse(semiring, s);
}

// Pooled credits of shared tables: the sums of outer products times the probabilities of the table.
inline void finish_products(const Problem& p, const Tables& tables, double* pooled) {
  const PooledLayout layout(p);
  for (int h = 0; h < tables.count; ++h)
    for (int m = 0; m < tables.table[h].blocks; ++m)
      add_credits(tables.table[h], m, pooled + layout.products[h], pooled + layout.table[h]);
}

}  // namespace crfkit::CRFKIT_ARCH
