// Labels that are given: their scores, which are taken off the rows, and their counts.
//
// A loss is log Z - log of the sum over the labelings that agree with the labels.  Each row of
// scores is lowered by what its given label scores, steps included, so that log Z of a sequence
// whose labels are all given is its loss: a sum of small numbers, not a difference of large ones.
// Unknown labels (negative) are summed over by a second sweep, with all other labels forbidden
// where one is given; rows without a label are lowered by their largest score.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/tensors/chunk.hpp"
#include "shared/padded.hpp"

namespace crfkit {

class GivenLabels {
 public:
  GivenLabels(const TensorChains& chains, const LabelTensor& labels)
      : c_(chains), labels_(labels) {}

  // Takes the labels of a sequence.
  void read(std::int64_t b) {
    const std::int64_t T = c_.length[b];
    label_.resize(T);
    unknown_ = 0;
    for (std::int64_t n = 0; n < T; ++n) {
      label_[n] = labels_.at(b, c_.row(b, n));
      unknown_ += label_[n] < 0;
    }
  }
  bool unknown() const { return unknown_ > 0; }

  // What the rows of the sequence are to be lowered by [T]; null where a given label is forbidden.
  const double* scores(std::int64_t b) {
    const std::int64_t T = c_.length[b];
    lower_.resize(T + 1);
    for (std::int64_t n = 0; n < T; ++n) {
      const std::int64_t label = label_[n];
      double score = c_.node.at(b, c_.row(b, n), [&](const auto* row) {
        return static_cast<double>(label < 0 ? *std::max_element(row, row + c_.labels)
                                             : row[label]);
      });
      if (label >= 0) {
        score += step_score(b, n);
        if (n == 0) score += c_.start[label];
        if (n == T - 1) score += c_.stop[label];
      }
      if (!std::isfinite(score)) return nullptr;
      lower_[n] = score;
    }
    return lower_.data();
  }

  // Forbids what does not agree with the labels.
  void clamp(const Chunk& chunk, std::int64_t i) const {
    for (std::int64_t n = 0; n < chunk.length(i); ++n) {
      if (label_[n] < 0) continue;
      double* row = chunk.node(chunk.begin(i) + n);
      const double kept = row[label_[n]];
      std::fill_n(row, c_.labels, -std::numeric_limits<double>::infinity());
      row[label_[n]] = kept;
    }
  }

  // Adds `by` to the gradients of the parts of one labeling; `pooled` as the kernels lay it out.
  void count(const Chunk& chunk, std::int64_t i, double by, double* pooled) const {
    const std::int64_t begin = chunk.begin(i), T = chunk.length(i), L = c_.labels, step = padded(L);
    for (std::int64_t n = 0; n < T; ++n) {
      chunk.node_gradient(begin + n)[label_[n]] += by;
      if (n == 0) continue;
      const std::int64_t h = std::min<std::int64_t>(n, c_.order);
      if (c_.edge) {
        chunk.edge_gradient(begin + n)[cell(n, 1)] += by;
      } else {
        std::int64_t at = 2 * step;
        for (std::int64_t g = 1, rows = L; g < h; ++g, rows *= L) at += rows * step;
        pooled[at + cell(n, h) / L * step + label_[n]] += by;
      }
    }
    if (T == 0) return;
    pooled[label_[0]] += by;
    pooled[step + label_[T - 1]] += by;
  }

 private:
  // Where the labels of positions n - h to n meet in a table of h + 1 axes; -1 if one is unknown.
  std::int64_t cell(std::int64_t n, std::int64_t h) const {
    std::int64_t at = 0;
    for (std::int64_t m = n - h; m <= n; ++m) {
      if (label_[m] < 0) return -1;
      at = at * c_.labels + label_[m];
    }
    return at;
  }
  double step_score(std::int64_t b, std::int64_t n) const {
    if (n == 0) return 0.0;
    const std::int64_t h = std::min<std::int64_t>(n, c_.order), at = cell(n, h);
    if (at < 0) return 0.0;
    if (!c_.edge) return c_.tables[h - 1][at];
    return c_.edge.at(b, c_.edge_row(b, n), [at](const auto* e) { return double{e[at]}; });
  }

  const TensorChains& c_;
  const LabelTensor& labels_;
  std::vector<std::int64_t> label_;
  std::vector<double> lower_;
  std::int64_t unknown_ = 0;
};

}  // namespace crfkit
