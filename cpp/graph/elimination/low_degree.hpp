// Variables with at most two neighbors are eliminated first, in linear time: chains, trees, and
// the branches and links of everything else.  What is left is the core.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "graph/secret_hash.hpp"

namespace crfkit {

// The variables of a component, and which of them share a factor.
struct PrimalGraph {
  std::vector<std::vector<std::int32_t>> near;  // [n] sorted, without itself
  std::vector<double> bits;                     // [n] log2 of the number of labels

  std::int32_t size() const { return static_cast<std::int32_t>(near.size()); }
};

struct LowDegree {
  std::vector<std::int32_t> order;     // those with few neighbors
  double cells = 0.0, work = 0.0;      // of their messages, and of these steps
  PrimalGraph core;                    // what is left, where each variable has three neighbors
  std::vector<std::int32_t> variable;  // of the core: its number in the graph

  explicit LowDegree(const PrimalGraph& graph) {
    const std::int32_t n = graph.size();
    std::vector<std::vector<std::int32_t>> near = graph.near;  // with some that are gone
    std::vector<std::int32_t> degree(n), queue;
    std::vector<std::uint8_t> gone(n);
    std::unordered_set<std::uint64_t, SecretHash> links;  // that were added
    const auto linked = [&](std::int32_t u, std::int32_t v) {
      const std::vector<std::int32_t>& first = graph.near[u];
      if (std::binary_search(first.begin(), first.end(), v)) return true;
      return links.count(pair_of(u, v)) > 0;
    };
    for (std::int32_t v = 0; v < n; ++v) {
      degree[v] = static_cast<std::int32_t>(near[v].size());
      if (degree[v] <= 2) queue.push_back(v);
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::int32_t x = queue[head];
      if (gone[x]) continue;
      gone[x] = 1;
      order.push_back(x);
      std::erase_if(near[x], [&](std::int32_t v) { return gone[v]; });
      double size = 0.0;
      for (const std::int32_t v : near[x]) size += graph.bits[v];
      cells += std::exp2(size);
      work += std::exp2(size + graph.bits[x]);
      if (near[x].size() == 2 && !linked(near[x][0], near[x][1])) {  // the degrees stay
        const std::int32_t u = near[x][0], v = near[x][1];
        links.insert(pair_of(u, v));
        near[u].push_back(v);
        near[v].push_back(u);
        continue;
      }
      for (const std::int32_t v : near[x])
        if (--degree[v] <= 2) queue.push_back(v);
    }
    std::vector<std::int32_t> number(n, -1);
    for (std::int32_t v = 0; v < n; ++v)
      if (!gone[v]) number[v] = static_cast<std::int32_t>(variable.size()), variable.push_back(v);
    for (const std::int32_t v : variable) {
      core.bits.push_back(graph.bits[v]);
      core.near.emplace_back();
      for (const std::int32_t u : near[v])
        if (!gone[u]) core.near.back().push_back(number[u]);
      std::sort(core.near.back().begin(), core.near.back().end());
    }
  }

 private:
  static std::uint64_t pair_of(std::int32_t u, std::int32_t v) {
    return static_cast<std::uint64_t>(std::min(u, v)) << 32 |
           static_cast<std::uint64_t>(std::max(u, v));
  }
};

}  // namespace crfkit
