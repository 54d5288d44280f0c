// The search for joins: an order of elimination, made better by annealing its tree.
//
// How much is searched depends on what the sums will cost, counted in operations: the same graph
// has the same program always, on any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/threads/parallel.hpp"
#include "graph/elimination/joins.hpp"
#include "graph/elimination/order.hpp"
#include "graph/elimination/tree.hpp"

namespace crfkit {

struct SearchedJoins {
  Joins joins;
  double cells = 0.0;     // that are kept; where it is not complete: at least, of what was seen
  bool complete = false;  // false: hopelessly wide
};

// Whether trees are annealed, which have a set of variables for each node.
inline bool can_anneal(std::int64_t variables, std::int64_t leaves) {
  constexpr std::int64_t kMost = std::int64_t{1} << 23;  // words of all sets
  return 2 * leaves * ((variables + 63) / 64) <= kMost;
}

inline SearchedJoins find_joins(const PrimalGraph& graph, const std::vector<std::int32_t>& width,
                                const Scopes& leaves, double budget, int threads) {
  constexpr int kChains = 4, kRounds = 4;
  constexpr double kHot = 2.5, kCold = 25.0;  // inverse temperatures
  constexpr double kPass = 1 << 24;           // operations of a chain in a round
  constexpr double kHopeless = 1 << 24,
                   kNearlySo = 256;  // times the budget: orders, annealed trees
  const std::int64_t words = (graph.size() + 63) / 64;
  const bool small = can_anneal(graph.size(), static_cast<std::int64_t>(leaves.size()));
  const Order order = find_order(graph, budget * (small ? kHopeless : 16.0), threads);
  SearchedJoins found = {{}, order.cells, order.complete};
  if (!order.complete) return found;
  found.joins = joins_of(width, leaves, order.variable);
  if (!small || found.joins.size() < 3) return found;
  ContractionTree best(width, leaves, found.joins);
  double least = best.cost();
  const double move = 16.0 + 4.0 * static_cast<double>(words);
  double spent = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    const bool fits = best.kept() <= budget;
    const double worth = fits ? least / 8.0 - spent : kPass;
    const double chain = std::min(worth / kChains, kPass);
    const int passes = static_cast<int>(
        std::min(1000.0, chain / (move * static_cast<double>(found.joins.size()))));
    if (passes < 8 || (round > 0 && best.kept() > budget * kNearlySo)) break;
    std::vector<ContractionTree> tried(kChains, best);
    parallel_for(kChains, threads, [&](std::int64_t i) {
      tried[i].anneal(passes, kHot, kCold, static_cast<std::uint64_t>(round * kChains + i) << 32);
    });
    spent += kChains * passes * move * static_cast<double>(found.joins.size());
    for (ContractionTree& tree : tried)
      if (const double cost = tree.cost(); cost < least) least = cost, best = std::move(tree);
  }
  found.joins = best.joins();
  found.cells = best.kept();
  return found;
}

}  // namespace crfkit
