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
  Choices(const Program& program, const Step& step) : step_(step) {
    for (const std::int32_t v : step.summed) loops_.push_back({program.width[v], 0, 0, 0});
    find(program, step.a, &Loop::a, &Known::a);
    if (step.b >= 0) find(program, step.b, &Loop::b, &Known::b);
  }
  Choices(const Program& program, const Step& step, const std::vector<std::int32_t>& state)
      : Choices(program, step) {
    move(state);
  }

  // To another out: the states of all variables that are not summed.
  void move(const std::vector<std::int32_t>& state) {
    a_ = b_ = 0;
    for (const Known& known : known_) {
      a_ += known.a * state[known.variable];
      b_ += known.b * state[known.variable];
    }
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
  struct Known {  // a variable that is not summed
    std::int32_t variable;
    std::int64_t a, b;  // strides
  };

  void find(const Program& program, std::int32_t t, std::int64_t Loop::* summed,
            std::int64_t Known::* known) {
    const std::vector<std::int32_t>& axis = program.table[t].axis;
    std::int64_t at = 1;
    for (std::size_t i = axis.size(); i-- > 0;) {
      const auto found = std::find(step_.summed.begin(), step_.summed.end(), axis[i]);
      if (found == step_.summed.end()) {
        known_.push_back({axis[i], 0, 0});
        known_.back().*known = at;
      } else {
        loops_[found - step_.summed.begin()].*summed = at;
      }
      at *= program.width[axis[i]];
    }
  }

  const Step& step_;
  std::vector<Loop> loops_;
  std::vector<Known> known_;
  std::int64_t a_ = 0, b_ = 0;
};

}  // namespace crfkit
