// Dependency trees that may cross: spanning trees of the words, directed away from a root.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/trees/chart.hpp"
#include "shared/charts.hpp"

namespace crfkit {

// Scores [n, n] of (head, word), rows `stride` apart; roots on the diagonal; -inf forbids an arc.
struct ArcScores {
  const double* score;
  std::int64_t words, stride;
  bool single_root;  // only one word depends on the root

  double at(std::int64_t head, std::int64_t word) const { return score[head * stride + word]; }
};

using Heads = std::vector<std::int32_t>;  // of each word; its own number where it is a root

class SpanningTrees {
 public:
  explicit SpanningTrees(const ChartKernels& kernels) : kernels_(kernels) {}

  // log Z; adds probabilities of arcs to `marginals` [n, stride] unless it is null.
  double sum(const ArcScores& arcs, double* marginals);
  // The best tree and its score, -inf of none.
  double best(const ArcScores& arcs, Heads& heads) const;
  // The k best, fewer where there are not so many; scores [n, stride, options], each arc's falling.
  std::vector<double> kbest(const ArcScores& arcs, std::int32_t options, std::int32_t k,
                            std::vector<ChosenParts>& found) const;
  // Independent draws; none where no tree is allowed.
  std::vector<Heads> draw(const ArcScores& arcs, std::int64_t count, RandomStream& random);

 private:
  template <class Number>
  bool eliminate(const ArcScores& arcs, double& value, double* marginals);
  Heads draw_by_sums(const ArcScores& arcs, RandomStream& random);

  const ChartKernels& kernels_;
};

}  // namespace crfkit
