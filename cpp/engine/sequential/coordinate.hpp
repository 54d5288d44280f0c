// Block coordinate descent.
//
// A block is the weights of one attribute; transitions, start and stop are the last three.  For
// each, with p the marginals under the present weights, v the values and c the weights of the
// sequences,
//     g = sum c v (p - gold),  h = sum c v^2 p (1 - p)       over the positions that have the
//     attribute h <- kappa * max(1, max |g / h|) * h,  w <- soft(h w - g, l1) / (h + l2)
// (Sokolovska et al. 2010; Lavergne et al. 2010; Wapiti's bcd).  Scores of all positions are kept
// and changed with the weights, and the sequences of a block are swept together.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/linear/index.hpp"
#include "engine/sequential/labeled.hpp"
#include "shared/kernels.hpp"
#include "shared/live.hpp"

namespace crfkit {

// Gradient and curvature of one block, and the step that they ask for.
struct CoordinateBlock {
  std::vector<double> g, h;

  explicit CoordinateBlock(std::size_t n) : g(n, 0.0), h(n, 0.0) {}

  void clear();
  void add(std::size_t i, double c, double v, double p);
  // Raises the curvature of the entries that are used, until no step is longer than 1 / kappa.
  template <class Each>
  void stabilize(double kappa, Each each) {
    double factor = 1.0;
    each([&](std::size_t i) {
      h[i] = std::max(h[i], kLeast);
      factor = std::max(factor, std::fabs(g[i]) / h[i]);
    });
    each([&](std::size_t i) { h[i] *= factor * kappa; });
  }
  double next(std::size_t i, double w, double l1, double l2) const {
    return soft(h[i] * w - g[i], l1) / (h[i] + l2);
  }

  static constexpr double kLeast = 1e-10;  // curvature where the model is certain
};

class CoordinateTrainer {
 public:
  explicit CoordinateTrainer(const Labeled& data);

  // One round over all blocks, in the weights w [F].
  void run(const Kernels& kernels, Written w, Reals strengths, double kappa);

 private:
  std::int64_t length(std::int64_t n) const {
    return data_.seq_ptr.data()[n + 1] - data_.seq_ptr.data()[n];
  }

  void score(const double* w);
  // Adds to the scores of one label what a change of its weight does.
  void move(std::int64_t a, int label, double change);
  Problem problem() const;

  // The sequences that have an attribute, by falling length.
  void collect(std::int64_t a);

  void update(std::int64_t a, double* w, double l1, double l2, double kappa,
              CoordinateBlock& block);

  // Transitions, start and stop: three blocks from one sweep over all sequences.
  void update_small(const Kernels& kernels, const Problem& whole, const void* prepared, double* w,
                    double l1, double l2, double kappa);

  Labeled data_;
  Index index_;  // positions of each attribute
  std::vector<std::int64_t> sequence_, chosen_;
  std::vector<double> node_, found_, value_of_, table_, pooled_;
};

}  // namespace crfkit
