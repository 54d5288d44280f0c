// The best labeling of one sequence.
#pragma once

#include "kernels/sweep/call.hpp"
#include "kernels/sweep/logs.hpp"
#include "kernels/sweep/sweep.hpp"
#include "kernels/sweep/trace.hpp"

namespace crfkit::CRFKIT_ARCH {

template <class Structure>
void best(const Call& call, std::int64_t sequence) {
  const Structure s = call.structure<Structure>(sequence);
  Max semiring(s, call.prepared.scores, call.arena, nullptr);
  forward(semiring, s);
  const double value = call.task.value[sequence] = semiring.value(s.row(s.rows() - 1));
  if (value == kZero) return call.no_path(sequence, 0);
  Trace<Max, ChooseBest> trace(semiring, s, call.arena);
  reverse(trace.follow(s, ChooseBest()), s);
  call.emit(s, trace.cell, 0);
}

// Those of chains are called from elsewhere too.
extern template void best<Chain>(const Call& call, std::int64_t sequence);

}  // namespace crfkit::CRFKIT_ARCH
