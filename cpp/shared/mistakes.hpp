// The perceptron and its kin: what the binding and the kernels share (perceptron.hpp).
#pragma once

#include "shared/learned.hpp"

namespace crfkit {

enum class Remedy {
  perceptron,  // the whole difference
  passive,     // as much of it as the cost asks for
  confidence,  // each weight by its variance
  bounded      // as CRF++ does: the steps of a sequence have a bound together
};

// How far the gold labels must be above m wrong ones.
enum class Margin { one, root, errors };  // 1, sqrt(m), m

// Memory is the sum of `seen` times each update where weights are averaged; variances under the
// rule of confidence.
struct Mistakes : Learned {
  Remedy remedy;
  bool averaged;
  Margin margin;      // passive
  int kbest;          // passive: the gold is set apart from so many of the best labelings
  double most;        // passive: the longest step; bounded: the sum of a sequence's steps
  double slack;       // passive: added to the squared length of the difference
  double gamma;       // confidence: how little a variance shrinks
  std::int64_t seen;  // the number of the sequence to come, from 1 on
  double* spent;      // [N] bounded: the sum of the steps of each sequence
  double* right;      // [N] bounded: visits of each sequence since its last mistake
};

}  // namespace crfkit
