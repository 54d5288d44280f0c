// Draws of spanning trees: Wilson (1996), loop-erased random walks from each word to the root.
#include <algorithm>
#include <cmath>

#include "engine/trees/spanning.hpp"
#include "engine/trees/weights.hpp"
#include "shared/interrupts.hpp"

namespace crfkit {
namespace {

constexpr std::int32_t kOpen = -1;

// The head, below `n`, at which running sums exceed what is drawn.
std::int32_t pick(const double* running, std::int64_t n, RandomStream& random) {
  const double drawn = random.below(running[n - 1]);
  const double* found = std::upper_bound(running, running + n, drawn);
  if (found == running + n) found = std::lower_bound(running, running + n, running[n - 1]);
  return static_cast<std::int32_t>(found - running);
}

}  // namespace

std::vector<Heads> SpanningTrees::draw(const ArcScores& arcs, std::int64_t count,
                                       RandomStream& random) {
  const std::int64_t n = arcs.words;
  if (n == 0) return std::vector<Heads>(count);
  std::vector<double> marginals(n * arcs.stride, 0.0);
  if (sum(arcs, marginals.data()) == kNever) return {};
  std::vector<double> roots(n), running(n * n);  // running[j]: sums of weights of the heads of j
  for (std::int64_t j = 0; j < n; ++j) {
    roots[j] = (j ? roots[j - 1] : 0.0) + marginals[j * arcs.stride + j];
    double top = kNever, total = 0.0;
    for (std::int64_t i = 0; i < n; ++i)
      if (i != j || !arcs.single_root) top = std::max(top, arcs.at(i, j));
    for (std::int64_t i = 0; i < n; ++i) {
      if (top != kNever && (i != j || !arcs.single_root)) total += std::exp(arcs.at(i, j) - top);
      running[j * n + i] = total;
    }
  }
  std::vector<Heads> found;
  for (std::int64_t c = 0; c < count; ++c) {
    Heads heads(n, kOpen), next(n, kOpen);
    if (arcs.single_root) {
      const std::int32_t root = pick(roots.data(), n, random);
      heads[root] = root;
    }
    // The loops that are erased do not depend on the tree (Propp & Wilson 1998), so that a walk may
    // be given up when they get too long, and the tree be drawn in another way.
    std::int64_t steps = 1000 + 100 * n;
    for (std::int32_t first = 0; first < n && steps > 0; ++first) {
      for (std::int32_t j = first; heads[j] == kOpen && steps > 0; --steps) {
        worked(16);
        if (running[j * n + n - 1] == 0.0) {
          steps = 0;
          break;
        }
        next[j] = pick(running.data() + j * n, n, random);
        if (next[j] == j) break;  // a root
        j = next[j];
      }
      if (steps > 0)
        for (std::int32_t j = first; heads[j] == kOpen; j = heads[j]) heads[j] = next[j];
    }
    found.push_back(steps > 0 ? heads : draw_by_sums(arcs, random));
  }
  return found;
}

// One head after the other, given those before.
Heads SpanningTrees::draw_by_sums(const ArcScores& arcs, RandomStream& random) {
  const std::int64_t n = arcs.words;
  std::vector<double> score(n * n), marginals(n * n), running(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) score[i * n + j] = arcs.at(i, j);
  Heads heads(n);
  for (std::int64_t j = 0; j < n; ++j) {
    std::fill(marginals.begin(), marginals.end(), 0.0);
    sum({score.data(), n, n, arcs.single_root}, marginals.data());
    for (std::int64_t i = 0; i < n; ++i)
      running[i] = (i ? running[i - 1] : 0.0) + marginals[i * n + j];
    heads[j] = pick(running.data(), n, random);
    for (std::int64_t i = 0; i < n; ++i)
      if (i != heads[j]) score[i * n + j] = kNever;
  }
  return heads;
}

}  // namespace crfkit
