// The perceptron and its kin: what the binding and the kernels share (perceptron.hpp).
#pragma once

#include "shared/learned.hpp"

namespace crfkit {

enum class Remedy {
  perceptron,  // the whole difference
  passive,     // as much of it as the cost asks for
  confidence   // each weight by its variance
};

// Memory is the sum of `seen` times each update where weights are averaged; variances under the
// rule of confidence.
struct Mistakes : Learned {
  Remedy remedy;
  bool averaged;
  bool by_errors;     // passive: a mistake costs the root of its wrong labels, not 1
  double most;        // passive: the longest step
  double slack;       // passive: added to the squared length of the difference
  double gamma;       // confidence: how little a variance shrinks
  std::int64_t seen;  // the number of the sequence to come, from 1 on
};

}  // namespace crfkit
