// Graphs and classes of blocks on threads.  What is added up is added in an order that depends on
// the graph alone.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/threads/parallel.hpp"
#include "graph/sampling/plan.hpp"

namespace crfkit {

// Calls work(share, graph, threads) for all shares of all graphs: some graphs on each thread, or,
// where there are too few for that, all threads on one graph.
template <class Work>
void for_graphs(const Blocks& blocks, std::int64_t shares, int threads, Work work) {
  std::vector<std::int64_t> some = {0};  // graphs, so many that threads are worth it
  const std::int64_t N = static_cast<std::int64_t>(blocks.graph_ptr.size()) - 1;
  for (std::int64_t n = 1; n <= N; ++n)
    if (n == N || blocks.first_position(n) - blocks.first_position(some.back()) >= Blocks::kPiece)
      some.push_back(n);
  const std::int64_t parts = static_cast<std::int64_t>(some.size()) - 1;
  const bool apart = parts * shares >= threads;
  parallel_for(parts * shares, apart ? threads : 1, [&](std::int64_t i) {
    for (std::int64_t n = some[i / shares]; n < some[i / shares + 1]; ++n)
      work(i % shares, n, apart ? 1 : threads);
  });
}

// Calls work(piece) for the pieces of a graph, class after class.
template <class Work>
void for_pieces(const Blocks& blocks, std::int64_t graph, int threads, Work work) {
  for (std::int64_t c = blocks.graph_ptr[graph]; c < blocks.graph_ptr[graph + 1]; ++c) {
    const std::int64_t first = blocks.class_ptr[c], count = blocks.class_ptr[c + 1] - first;
    if (count == 1) {
      worked(kItem);
      work(first);
    } else {
      parallel_for(count, threads, [&](std::int64_t i) { work(first + i); });
    }
  }
}

// The sum of what work(piece) returns for the pieces of a graph.
template <class Work>
double sum_pieces(const Blocks& blocks, std::int64_t graph, Work work) {
  double sum = 0.0;
  for (std::int64_t i = blocks.first_piece(graph); i < blocks.first_piece(graph + 1); ++i) {
    worked(kItem);
    sum += work(i);
  }
  return sum;
}

// Marginals by position, as they lie by variable.
inline void labels_to_variables(const VisitPlan& plan, const double* by_position,
                                double* by_variable) {
  for (std::int64_t p = 0; p < plan.view.positions; ++p)
    for (std::int32_t l = 0; l < plan.view.width[p]; ++l)
      by_variable[plan.f.label_ptr[plan.blocks.variable[p]] + l] = by_position[plan.view.at[p] + l];
}

// Marginals of factors of one variable, and of those within blocks, from the marginals of these;
// the others are the products of their variables' where `products`, and else are left as they are.
inline void fill_cliques(const VisitPlan& plan, const double* node, const double* joint,
                         bool products, double* out) {
  const BlockVisits& v = plan.view;
  for (std::int64_t g = 0; g < plan.f.groups; ++g) {
    const FactorGroup& group = plan.f.group[g];
    for (std::int64_t m = 0; m < group.count; ++m, out += group.cells) {
      std::vector<std::int64_t> wide;  // positions of variables with two labels or more
      for (int a = 0; a < group.arity; ++a)
        if (group.shape[a] > 1) wide.push_back(plan.blocks.position[group.variables(m)[a]]);
      const bool child = wide.size() == 2 && group.arity == 2 && v.parent[wide[1]] == wide[0],
                 above = wide.size() == 2 && group.arity == 2 && v.parent[wide[0]] == wide[1];
      if (child || above) {
        const std::int64_t n0 = group.shape[0], n1 = group.shape[1];
        const double* cells = joint + plan.edge_at[wide[child ? 1 : 0]];
        for (std::int64_t i = 0; i < n0; ++i)
          for (std::int64_t j = 0; j < n1; ++j)
            out[i * n1 + j] = child ? cells[i * n1 + j] : cells[j * n0 + i];
      } else if (wide.size() < 2 || products) {
        out[0] = 1.0;
        std::int64_t filled = 1;
        for (const std::int64_t p : wide) {
          const std::int64_t n = v.width[p];
          for (std::int64_t i = filled; i-- > 0;)
            for (std::int64_t l = n; l-- > 0;) out[i * n + l] = out[i] * node[v.at[p] + l];
          filled *= n;
        }
      }
    }
  }
}

}  // namespace crfkit
