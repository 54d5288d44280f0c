// A queue of variables by how much they heard since they spoke, in steps of a factor of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/messages/places.hpp"

namespace crfkit {

// What a variable heard is divided by its places: what one message from there could move by, for
// the work of a visit.  Within a step the first that came goes first.
class HeardMost {
 public:
  HeardMost(const Places& p, double tolerance)
      : due(p.variables(), 0.0), p_(p), tolerance_(tolerance), step_(p.variables(), -1) {}

  std::vector<double> due;  // [V]

  void raise(std::int32_t v, double change) {
    due[v] += change;
    if (due[v] <= tolerance_) return;
    const std::int64_t places = p_.place_ptr[v + 1] - p_.place_ptr[v];
    const int step =
        std::clamp(std::ilogb(due[v] / static_cast<double>(places)) + kBelow, 0, kSteps - 1);
    if (step <= step_[v]) return;
    step_[v] = step;
    queue_[step].variable.push_back(v);
    top_ = std::max(top_, step);
  }

  // The next one, with nothing due any more; -1: none is left.
  std::int32_t next() {
    for (; top_ >= 0; --top_) {
      Queue& q = queue_[top_];
      while (q.head < q.variable.size()) {
        const std::int32_t v = q.variable[q.head++];
        if (step_[v] != top_) continue;  // it heard more since, and was visited
        step_[v] = -1, due[v] = 0.0;
        return v;
      }
      q.variable.clear(), q.head = 0;
    }
    return -1;
  }

 private:
  static constexpr int kBelow = 80, kSteps = kBelow + 4;  // changes of 2^-80 to 8

  struct Queue {
    std::vector<std::int32_t> variable;
    std::size_t head = 0;
  };

  const Places& p_;
  double tolerance_;
  std::vector<std::int32_t> step_;  // [V] in which it waits; -1: it does not
  Queue queue_[kSteps];
  int top_ = -1;
};

}  // namespace crfkit
