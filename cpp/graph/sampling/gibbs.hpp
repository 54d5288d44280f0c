// Gibbs sampling (Geman & Geman 1984): blocks drawn given the rest, class after class, in a fixed
// order; random numbers by seed, chain, sweep and variable, so that threads change nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/sampling/plan.hpp"
#include "shared/sampling.hpp"

namespace crfkit {

// Sums over the sweeps of half a chain of what is watched, for R-hat (Gelman & Rubin 1992).
struct Halves {
  static constexpr int kWatched = 3;
  std::int64_t chains, half;  // sweeps that are the first half
  std::vector<double> sum;    // [N, chains, 2, 3, 2] of values and of their squares
  std::vector<double> first;  // [N, chains, 3] what is taken off, for the sake of rounding

  Halves(std::int64_t graphs, std::int64_t chains_, std::int64_t sweeps)
      : chains(chains_),
        half(sweeps / 2),
        sum(graphs * chains * 2 * kWatched * 2),
        first(graphs * chains * kWatched) {}

  void add(std::int64_t graph, std::int64_t chain, std::int64_t sweep, const Watched& seen);
};

class Chains {
 public:
  Chains(const SamplingKernels& kernels, VisitPlan& plan, std::uint64_t seed)
      : kernels_(kernels), plan_(plan), seed_(seed), scratch_(plan.scratch()) {}

  // One sweep over a graph.
  Watched sweep(std::int64_t graph, Drawing d, int threads) const;

  double score(std::int64_t graph, const std::int32_t* label) const;

  // Labels of all chains [chains, V] by position, from those by variable; -1: no labeling.
  std::vector<std::int32_t> started(const std::int32_t* start, std::int64_t chains) const;
  bool possible(std::int64_t graph, const std::int32_t* label) const;

  // Means over `sweeps` sweeps of probabilities given the rest; by variable, in `node` [labels],
  // and by factor in `clique` [cells], where that is not null.
  Halves marginals(const std::int32_t* start, std::int64_t chains, std::int64_t burn,
                   std::int64_t sweeps, int threads, double* node, double* clique) const;

  // A chain of which only the labels are wanted.
  Drawing labels_alone(std::int64_t chain, std::int32_t* label) const;

  // Draw i is the labeling of chain i % chains after burn + (i / chains + 1) thin sweeps; [n, V].
  Halves sample(const std::int32_t* start, std::int64_t chains, std::int64_t burn,
                std::int64_t thin, std::int64_t n, int threads, std::int32_t* out) const;

  // Simulated annealing (Kirkpatrick, Gelatt & Vecchi 1983): sweep s at temperature[s], then the
  // best label of each variable in turn until nothing changes; each restart keeps the best
  // labeling that it has seen after a sweep.  `best` [V] has the best of all restarts, `score` [N]
  // its score, `still` [N] whether no single label could improve it.
  void anneal(const std::int32_t* start, std::int64_t restarts, const double* temperature,
              std::int64_t sweeps, std::int64_t most, int threads, std::int32_t* best,
              double* score, std::uint8_t* still) const;

 private:
  const SamplingKernels& kernels_;
  VisitPlan& plan_;
  std::uint64_t seed_;
  std::int64_t scratch_;
};

}  // namespace crfkit
