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
  BestSteps best;

  Prepared(const Problem& p, const Task& t)
      : probabilities(p, (t.query == Query::sum || t.query == Query::sample) && !t.log_space, true),
        scores(p, t.query == Query::sum || t.query == Query::sample || t.query == Query::best,
               false),
        best(p, t.query == Query::best) {}
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
