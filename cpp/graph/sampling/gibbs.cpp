#include "graph/sampling/gibbs.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/sampling/loops.hpp"

namespace crfkit {

void Halves::add(std::int64_t graph, std::int64_t chain, std::int64_t sweep, const Watched& seen) {
  const double value[kWatched] = {seen.score, seen.label, seen.sign};
  double* start = first.data() + (graph * chains + chain) * kWatched;
  double* to = sum.data() + ((graph * chains + chain) * 2 + (sweep < half ? 0 : 1)) * kWatched * 2;
  for (int i = 0; i < kWatched; ++i) {
    if (sweep == 0) start[i] = value[i];
    const double x = value[i] - start[i];
    to[2 * i] += x;
    to[2 * i + 1] += x * x;
  }
}

Watched Chains::sweep(std::int64_t graph, Drawing d, int threads) const {
  const Blocks& blocks = plan_.blocks;
  const std::int64_t first = blocks.first_piece(graph);
  std::vector<Watched> part(blocks.first_piece(graph + 1) - first);
  d.seed = seed_;
  const auto draw = blocks.trees ? kernels_.draw_trees : kernels_.draw;
  for_pieces(blocks, graph, threads, [&](std::int64_t piece) {
    std::vector<double> scratch(scratch_);
    part[piece - first] =
        draw(plan_.view, d, blocks.piece_ptr[piece], blocks.piece_ptr[piece + 1], scratch.data());
  });
  Watched sums = {0.0, 0.0, 0.0};
  for (const Watched& w : part) {
    sums.score += w.score;
    sums.label += w.label;
    sums.sign += w.sign;
  }
  return sums;
}

double Chains::score(std::int64_t graph, const std::int32_t* label) const {
  const Blocks& blocks = plan_.blocks;
  return sum_pieces(blocks, graph, [&](std::int64_t piece) {
    return kernels_.score(plan_.view, label, blocks.block_ptr[blocks.piece_ptr[piece]],
                          blocks.block_ptr[blocks.piece_ptr[piece + 1]]);
  });
}

std::vector<std::int32_t> Chains::started(const std::int32_t* start, std::int64_t chains) const {
  const std::int64_t V = plan_.view.positions;
  std::vector<std::int32_t> label(chains * V);
  for (std::int64_t i = 0; i < chains * V; ++i)
    label[i] = start[i / V * V + plan_.blocks.variable[i % V]];
  return label;
}

bool Chains::possible(std::int64_t graph, const std::int32_t* label) const {
  const Blocks& blocks = plan_.blocks;
  for (std::int64_t p = blocks.first_position(graph); p < blocks.first_position(graph + 1); ++p)
    if (label[p] < 0) return false;
  return true;
}

Halves Chains::marginals(const std::int32_t* start, std::int64_t chains, std::int64_t burn,
                         std::int64_t sweeps, int threads, double* node, double* clique) const {
  const std::int64_t V = plan_.view.positions, labels = plan_.labels(),
                     edges = clique ? plan_.edge_at[V] : 0, cells = clique ? plan_.clique_cells : 0;
  // Chains add to memory of their own where that is little.
  const std::int64_t shares =
      (labels + edges + cells) * chains <= (std::int64_t{1} << 24) ? chains : 1;
  std::vector<std::int32_t> label = started(start, chains);
  std::vector<double> nodes(labels * shares), joints(edges * shares), cliques(cells * shares);
  if (clique) plan_.aim(cliques.data());
  Halves halves(plan_.f.graphs, chains, sweeps);
  for_graphs(plan_.blocks, shares, threads, [&](std::int64_t share, std::int64_t n, int inner) {
    for (std::int64_t c = share; c < chains; c += shares) {
      Drawing d = {seed_,        static_cast<std::uint64_t>(c), 0,
                   1.0,          label.data() + c * V,          nullptr,
                   nullptr,      plan_.edge_at.data(),          false,
                   share * cells};
      if (!possible(n, d.label)) continue;
      for (; static_cast<std::int64_t>(d.sweep) < burn; ++d.sweep) sweep(n, d, inner);
      d.node = nodes.data() + share * labels;
      if (edges) d.joint = joints.data() + share * edges;
      d.cliques = clique != nullptr;
      for (std::int64_t s = 0; s < sweeps; ++s, ++d.sweep) halves.add(n, c, s, sweep(n, d, inner));
    }
  });
  const auto mean = [&](std::vector<double>& x, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t s = 1; s < shares; ++s) x[i] += x[s * size + i];
      x[i] /= static_cast<double>(sweeps * chains);
    }
  };
  mean(nodes, labels);
  labels_to_variables(plan_, nodes.data(), node);
  if (clique) {
    mean(joints, edges);
    mean(cliques, cells);
    std::copy_n(cliques.data(), cells, clique);
    fill_cliques(plan_, nodes.data(), joints.data(), false, clique);
  }
  return halves;
}

Drawing Chains::labels_alone(std::int64_t chain, std::int32_t* label) const {
  return {seed_, static_cast<std::uint64_t>(chain), 0, 1.0, label, nullptr, nullptr, nullptr, false,
          0};
}

Halves Chains::sample(const std::int32_t* start, std::int64_t chains, std::int64_t burn,
                      std::int64_t thin, std::int64_t n, int threads, std::int32_t* out) const {
  const std::int64_t V = plan_.view.positions, each = (n + chains - 1) / chains;
  std::vector<std::int32_t> label = started(start, chains);
  Halves halves(plan_.f.graphs, chains, each * thin);
  const Blocks& blocks = plan_.blocks;
  for_graphs(blocks, chains, threads, [&](std::int64_t c, std::int64_t g, int inner) {
    Drawing d = labels_alone(c, label.data() + c * V);
    const bool is = possible(g, d.label);
    for (; is && static_cast<std::int64_t>(d.sweep) < burn; ++d.sweep) sweep(g, d, inner);
    for (std::int64_t s = 0; s < each * thin; ++s, ++d.sweep) {
      if (is) halves.add(g, c, s, sweep(g, d, inner));
      const std::int64_t row = s / thin * chains + c;
      if ((s + 1) % thin == 0 && row < n)
        for (std::int64_t p = blocks.first_position(g); p < blocks.first_position(g + 1); ++p)
          out[row * V + blocks.variable[p]] = d.label[p];
    }
  });
  return halves;
}

void Chains::anneal(const std::int32_t* start, std::int64_t restarts, const double* temperature,
                    std::int64_t sweeps, std::int64_t most, int threads, std::int32_t* best,
                    double* score, std::uint8_t* still) const {
  const std::int64_t V = plan_.view.positions, N = plan_.f.graphs;
  std::vector<std::int32_t> label = started(start, restarts), top = label;
  std::vector<double> found(restarts * N, -std::numeric_limits<double>::infinity());
  std::vector<std::uint8_t> ended(restarts * N);
  const Blocks& blocks = plan_.blocks;
  for_graphs(blocks, restarts, threads, [&](std::int64_t c, std::int64_t n, int inner) {
    const std::int64_t first = blocks.first_position(n), last = blocks.first_position(n + 1);
    Drawing d = labels_alone(c, label.data() + c * V);
    if (!possible(n, d.label)) return;
    std::int32_t* kept = top.data() + c * V;
    double& value = found[c * N + n];
    const auto keep = [&] {
      const double now = this->score(n, d.label);
      if (!(now > value)) return false;
      value = now;
      std::copy(d.label + first, d.label + last, kept + first);
      return true;
    };
    keep();
    for (; static_cast<std::int64_t>(d.sweep) < sweeps; ++d.sweep) {
      d.cold = 1.0 / temperature[d.sweep];
      sweep(n, d, inner);
      keep();
    }
    std::copy(kept + first, kept + last, d.label + first);
    d.cold = std::numeric_limits<double>::infinity();
    for (std::int64_t s = 0; s < most; ++s, ++d.sweep) {
      sweep(n, d, inner);
      if (keep()) continue;
      ended[c * N + n] = 1;
      break;
    }
  });
  for (std::int64_t n = 0; n < N; ++n) {
    std::int64_t first = 0;
    for (std::int64_t c = 1; c < restarts; ++c)
      if (found[c * N + n] > found[first * N + n]) first = c;
    score[n] = found[first * N + n] + plan_.f.constant[n];
    still[n] = ended[first * N + n];
    for (std::int64_t p = blocks.first_position(n); p < blocks.first_position(n + 1); ++p)
      best[blocks.variable[p]] = top[first * V + p];
  }
}

}  // namespace crfkit
