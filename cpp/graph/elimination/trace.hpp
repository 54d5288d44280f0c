// The way back through a program: the labels of a component, one step after the other.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/elimination/program.hpp"

namespace crfkit {

// The products of one step whose out is known: where a and b lie for each choice of the summed
// variables, in order of their labels (the first of `summed` slowest).
class Choices {
 public:
  Choices(const Program& program, const Step& step, const std::vector<std::int32_t>& state)
      : step_(step) {
    for (const std::int32_t v : step.summed) loops_.push_back({program.width[v], 0, 0, 0});
    place(program, state, step.a, a_, &Loop::a);
    if (step.b >= 0) place(program, state, step.b, b_, &Loop::b);
  }

  // Calls visit(place in a, place in b) for each choice.
  template <class Visit>
  void each(Visit visit) const {
    std::vector<std::int64_t> at(loops_.size());
    std::int64_t a = a_, b = b_;
    for (;;) {
      visit(a, b);
      std::size_t i = loops_.size();
      for (;;) {
        if (i-- == 0) return;
        a += loops_[i].a, b += loops_[i].b;
        if (++at[i] < loops_[i].extent) break;
        a -= loops_[i].a * at[i], b -= loops_[i].b * at[i];
        at[i] = 0;
      }
    }
  }

  // Sets the states of the summed variables to the choice of this number.
  void take(std::int64_t number, std::vector<std::int32_t>& state) const {
    for (std::size_t i = loops_.size(); i-- > 0;) {
      state[step_.summed[i]] = static_cast<std::int32_t>(number % loops_[i].extent);
      number /= loops_[i].extent;
    }
  }

 private:
  void place(const Program& program, const std::vector<std::int32_t>& state, std::int32_t t,
             std::int64_t& base, std::int64_t Loop::* stride) {
    const std::vector<std::int32_t>& axis = program.table[t].axis;
    std::int64_t at = 1;
    for (std::size_t i = axis.size(); i-- > 0;) {
      const auto found = std::find(step_.summed.begin(), step_.summed.end(), axis[i]);
      if (found == step_.summed.end()) {
        base += at * state[axis[i]];
      } else {
        loops_[found - step_.summed.begin()].*stride = at;
      }
      at *= program.width[axis[i]];
    }
  }

  const Step& step_;
  std::vector<Loop> loops_;
  std::int64_t a_ = 0, b_ = 0;
};

}  // namespace crfkit
