// The sum query: scaled probabilities where they are exact, logarithms elsewhere.
#pragma once

#include "kernels/sweep/call.hpp"
#include "kernels/sweep/logs.hpp"
#include "kernels/sweep/scaled.hpp"
#include "kernels/sweep/sweep.hpp"

namespace crfkit::CRFKIT_ARCH {

template <class Structure>
inline void sum_in_logs(const Call& call, std::int64_t n) {
  const Structure s = call.structure<Structure>(n);
  LogSum semiring(s, call.prepared.scores, call.arena, call.expected(n));
  forward(semiring, s);
  call.task.value[n] = semiring.value(s.row(s.rows() - 1));
  if (call.task.in_logs) call.task.in_logs[n] = 1;
  if (call.wants_gradients()) reverse(semiring, s);
}

template <class Structure>
inline void sum(const Call& call, std::int64_t n) {
  if (call.task.log_space) return sum_in_logs<Structure>(call, n);
  const Structure s = call.structure<Structure>(n);
  Scaled semiring(s, call.prepared.probabilities, call.arena, call.expected(n));
  forward(semiring, s);
  if (!semiring.exact()) return sum_in_logs<Structure>(call, n);
  call.task.value[n] = semiring.value(s.row(s.rows() - 1));
  if (call.wants_gradients()) reverse(semiring, s);
}

// Pooled gradients of shared tables: the sums of outer products times the probabilities of the
// table.
inline void finish_products(const Problem& p, const Tables& tables, double* pooled) {
  const PooledLayout layout(p);
  for (int h = 0; h < tables.count; ++h)
    for (int m = 0; m < tables.table[h].blocks; ++m)
      add_gradients(tables.table[h], m, pooled + layout.products[h], pooled + layout.table[h]);
}

}  // namespace crfkit::CRFKIT_ARCH
