// Mean field: the best q that is a product over blocks, block after block (coordinate ascent).
//
// log Z >= F(q) = <q, scores> + H(q).  Given the other blocks, the best q of a block is
// proportional to exp(its scores + mean scores of the factors that leave it): Sutton & McCallum
// (2006) 1.4; trees of variables: Saul & Jordan (1996).  From a q with a finite F no step leads to
// a lower one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/sampling/loops.hpp"

namespace crfkit {

struct MeanFieldResult {
  std::vector<double> node;             // [labels] by variable
  std::vector<double> clique;           // [cells] of all factors, if asked for
  std::vector<double> bound;            // [N] F(q); -inf where the first q was not possible
  std::vector<std::int64_t> sweeps;     // [N]
  std::vector<std::uint8_t> converged;  // [N]
  std::vector<std::uint8_t> exact;      // [N] whether no factor joins two blocks
};

// `start`: q by variable, [labels].
inline MeanFieldResult mean_field(const SamplingKernels& kernels, const VisitPlan& plan,
                                  const double* start, double tolerance, std::int64_t most,
                                  bool cliques, int threads) {
  const Blocks& blocks = plan.blocks;
  const BlockVisits& v = plan.view;
  const std::int64_t N = plan.f.graphs, V = v.positions, scratch_size = plan.scratch();
  constexpr double inf = std::numeric_limits<double>::infinity();
  MeanFieldResult result = {std::vector<double>(plan.labels()), {},
                            std::vector<double>(N, -inf),       std::vector<std::int64_t>(N),
                            std::vector<std::uint8_t>(N),       std::vector<std::uint8_t>(N)};
  std::vector<double> q(plan.labels()), joint(cliques ? plan.edge_at[V] : 0),
      inner(blocks.block_ptr.size() - 1);
  for (std::int64_t p = 0; p < V; ++p)
    std::copy_n(start + plan.f.label_ptr[blocks.variable[p]], v.width[p], q.data() + v.at[p]);
  const Averaging a = {q.data(), joint.empty() ? nullptr : joint.data(), plan.edge_at.data(),
                       inner.data()};
  for_graphs(blocks, 1, threads, [&](std::int64_t, std::int64_t n, int inside) {
    const std::int64_t first = blocks.first_piece(n), pieces = blocks.first_piece(n + 1) - first;
    std::vector<double> part(pieces);
    double change = inf;
    for (; result.sweeps[n] < most; ++result.sweeps[n]) {
      for_pieces(blocks, n, inside, [&](std::int64_t piece) {
        std::vector<double> scratch(scratch_size);
        part[piece - first] = kernels.average(v, a, blocks.piece_ptr[piece],
                                              blocks.piece_ptr[piece + 1], scratch.data());
      });
      change = 0.0;
      for (const double x : part) change = std::max(change, x);
      if (change == inf || change <= tolerance) {
        ++result.sweeps[n];
        break;
      }
    }
    result.exact[n] =
        v.local_ptr[blocks.first_position(n)] == v.local_ptr[blocks.first_position(n + 1)];
    if (change == inf) return;
    std::vector<double> scratch(scratch_size);
    double bound = plan.f.constant[n];
    for (std::int64_t b = blocks.first_block(n); b < blocks.first_block(n + 1); ++b)
      bound += inner[b];
    bound += kernels.expected(v, q.data(), blocks.first_position(n), blocks.first_position(n + 1),
                              scratch.data());
    result.bound[n] = bound;
    result.converged[n] = change <= tolerance;
  });
  labels_to_variables(plan, q.data(), result.node.data());
  if (cliques) {
    result.clique.resize(plan.clique_cells);
    fill_cliques(plan, q.data(), joint.data(), true, result.clique.data());
  }
  return result;
}

}  // namespace crfkit
