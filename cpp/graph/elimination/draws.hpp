// Independent draws from p(y) of a component: sums forwards, one choice after the other backwards.
//
// Random numbers by counter: seed, graph, draw and variable decide, not threads.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/elimination/sums.hpp"
#include "graph/elimination/trace.hpp"
#include "shared/interrupts.hpp"

namespace crfkit {

struct Draws {
  std::int64_t count;
  std::uint64_t seed;
  const std::int32_t* within;  // [V] number of a variable in its graph
  std::int64_t variables;      // V
  std::int32_t* label;         // [count, V]
};

namespace elimination {

// splitmix64: Steele, Lea & Flood (2014).
inline std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline std::size_t drawn(const std::vector<double>& weight, std::uint64_t bits) {
  double total = 0.0;
  for (const double x : weight) total += x;
  double rest = static_cast<double>(bits >> 11) * 0x1p-53 * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (!(weight[i] > 0.0)) continue;
    last = i;
    if (rest < weight[i]) break;
    rest -= weight[i];
  }
  return last;
}

}  // namespace elimination

// False if the component has no labeling.
inline bool draw_labelings(const Component& c, const Factors& f, const Reduction& left,
                           const ContractionKernels& kernels, int threads, const Draws& draws) {
  const Program& program = *c.program;
  ComponentSum sums(c, f, left, kernels, threads);
  if (!sums.keep_tables()) return false;
  std::vector<Choices> choices;
  for (const Step& step : program.step) choices.emplace_back(program, step);
  const std::uint64_t graph = elimination::mix(elimination::mix(draws.seed) + c.graph);
  std::vector<std::int32_t> state(program.width.size());
  std::vector<double> weight;
  for (std::int64_t d = 0; d < draws.count; ++d) {
    const std::uint64_t draw = elimination::mix(graph + static_cast<std::uint64_t>(d));
    for (std::size_t s = program.step.size(); s-- > 0;) {
      const Step& step = program.step[s];
      if (step.summed.empty()) continue;
      worked(1 << 6);
      choices[s].move(state);
      sums.weights(step, choices[s], weight);
      const std::int32_t first = draws.within[c.variable[step.summed[0]]];
      const std::uint64_t bits = elimination::mix(draw + static_cast<std::uint64_t>(first));
      choices[s].take(static_cast<std::int64_t>(elimination::drawn(weight, bits)), state);
    }
    for (std::size_t i = 0; i < c.variable.size(); ++i)
      draws.label[d * draws.variables + c.variable[i]] = left.label_of(c.variable[i], state[i]);
  }
  return true;
}

}  // namespace crfkit
