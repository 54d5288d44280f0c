// Blocks of variables that are visited together: single variables, or trees.
//
// Trees are joined by factors of two variables, the strongest first, as in Kruskal's algorithm, but
// only where no other factor joins the two (induced_trees.hpp).  So a tree can be summed exactly
// given the rest, and the rest's labels are independent of each other under a q that is a product
// over trees. Blocks that share no factor have one color.  Single variables depend on the scopes
// alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "graph/sampling/induced_trees.hpp"

namespace crfkit {

struct Blocks {
  bool trees;
  std::vector<std::int32_t> variable;   // [V] at each position, parents before children
  std::vector<std::int32_t> position;   // [V] of each variable
  std::vector<std::int32_t> parent;     // [V] position of a position's parent, or -1
  std::vector<std::int64_t> block_ptr;  // [blocks + 1] positions
  std::vector<std::int64_t> piece_ptr;  // [pieces + 1] blocks: some that are done by one thread
  std::vector<std::int64_t> class_ptr;  // [classes + 1] pieces: blocks of one color
  std::vector<std::int64_t> graph_ptr;  // [N + 1] classes of each graph
  static constexpr std::int64_t kPiece = 4096;  // positions

  Blocks(const Factors& f, bool trees_) : trees(trees_) {
    const Incidence incidence(f);
    const std::int64_t V = f.variables;
    const auto [member, above, ptr] =
        trees ? InducedTrees(f, incidence).grown() : Grown::singles(V);
    std::vector<std::int32_t> block(V);
    for (std::size_t b = 0; b + 1 < ptr.size(); ++b)
      for (std::int64_t k = ptr[b]; k < ptr[b + 1]; ++k)
        block[member[k]] = static_cast<std::int32_t>(b);
    const std::int64_t B = static_cast<std::int64_t>(ptr.size()) - 1;
    const std::vector<std::int32_t> color = colored(f, incidence, member, ptr, block);
    std::vector<std::int64_t> order(B);
    std::iota(order.begin(), order.end(), 0);
    const auto graph_of = [&](std::int64_t b) { return f.graph[member[ptr[b]]]; };
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return graph_of(a) != graph_of(b) ? graph_of(a) < graph_of(b) : color[a] < color[b];
    });
    position.resize(V);
    block_ptr = piece_ptr = class_ptr = {0};
    graph_ptr.assign(f.graphs + 1, 0);
    std::int64_t begun = 0;  // positions before this piece
    for (std::int64_t i = 0; i < B; ++i) {
      const std::int64_t b = order[i], now = static_cast<std::int64_t>(variable.size());
      if (i > 0) {
        const std::int64_t last = order[i - 1];
        const bool other = graph_of(b) != graph_of(last) || color[b] != color[last];
        if (other || now - begun >= kPiece) {
          piece_ptr.push_back(i);
          begun = now;
        }
        if (other) {
          class_ptr.push_back(static_cast<std::int64_t>(piece_ptr.size()) - 1);
          ++graph_ptr[graph_of(last) + 1];
        }
      }
      for (std::int64_t k = ptr[b]; k < ptr[b + 1]; ++k) {
        position[member[k]] = static_cast<std::int32_t>(variable.size());
        variable.push_back(member[k]);
        parent.push_back(above[member[k]] < 0 ? -1 : position[above[member[k]]]);
      }
      block_ptr.push_back(static_cast<std::int64_t>(variable.size()));
    }
    if (B > 0) {
      piece_ptr.push_back(B);
      class_ptr.push_back(static_cast<std::int64_t>(piece_ptr.size()) - 1);
      ++graph_ptr[graph_of(order.back()) + 1];
    }
    std::partial_sum(graph_ptr.begin(), graph_ptr.end(), graph_ptr.begin());
  }

  std::int64_t first_piece(std::int64_t graph) const { return class_ptr[graph_ptr[graph]]; }
  std::int64_t first_block(std::int64_t graph) const { return piece_ptr[first_piece(graph)]; }
  std::int64_t first_position(std::int64_t graph) const { return block_ptr[first_block(graph)]; }

 private:
  static std::vector<std::int32_t> colored(const Factors& f, const Incidence& incidence,
                                           const std::vector<std::int32_t>& member,
                                           const std::vector<std::int64_t>& ptr,
                                           const std::vector<std::int32_t>& block) {
    const std::int64_t B = static_cast<std::int64_t>(ptr.size()) - 1;
    std::vector<std::int32_t> color(B, -1);
    std::vector<std::int64_t> taken;  // by which block, last
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t k = ptr[b]; k < ptr[b + 1]; ++k)
        for (std::int64_t i = incidence.ptr[member[k]]; i < incidence.ptr[member[k] + 1]; ++i) {
          const Incident& at = incidence.entry[i];
          const FactorGroup& group = f.group[at.group];
          for (int a = 0; a < group.arity; ++a) {
            const std::int32_t other = block[group.variables(at.factor)[a]];
            if (other == b || color[other] < 0) continue;
            if (static_cast<std::size_t>(color[other]) >= taken.size())
              taken.resize(color[other] + 1, -1);
            taken[color[other]] = b;
          }
        }
      std::int32_t c = 0;
      while (static_cast<std::size_t>(c) < taken.size() && taken[c] == b) ++c;
      color[b] = c;
    }
    return color;
  }
};

}  // namespace crfkit
