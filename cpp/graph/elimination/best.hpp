// The best labeling of a component: maxima of scores, and the way back.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "graph/elimination/component.hpp"
#include "graph/elimination/contract.hpp"
#include "graph/elimination/trace.hpp"
#include "shared/contraction.hpp"

namespace crfkit {

// The largest score of what lies below each cell of each table; `keep`: also of tables whose place
// another could take.
struct BestTables {
  std::vector<std::unique_ptr<double[]>> table;  // relative to the best of each leaf
  bool found = true;                             // whether there is a labeling

  BestTables(const Component& c, const Factors& f, const Reduction& left,
             const ContractionKernels& kernels, int threads, bool keep = false)
      : table(c.program->table.size()) {
    const Program& program = *c.program;
    const auto make = [&](std::int32_t t) {
      table[t] = std::unique_ptr<double[]>(new double[program.table[t].cells]);
      return table[t].get();
    };
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    for (const Step& step : program.step) {
      for (const std::int32_t t : {step.a, step.b}) {
        if (t < 0 || t >= program.leaves) continue;
        double* x = make(t);
        c.fill(f, left, t, x);
        double most = kNone;  // scores relative to the best, so that sums stay small and exact
        for (std::int64_t i = 0; i < program.table[t].cells; ++i) most = std::max(most, x[i]);
        if (most == kNone) {
          found = false;
          return;
        }
        for (std::int64_t i = 0; i < program.table[t].cells; ++i) x[i] -= most;
      }
      const double* a = table[step.a].get();
      double* out = step.in_place && !keep ? (table[step.out] = std::move(table[step.a])).get()
                                           : make(step.out);
      contract(kernels.best, kNone, program.kernel_loops(step.a, step.b, step.out), a,
               step.b < 0 ? nullptr : table[step.b].get(), out, program.table[step.out].cells,
               threads);
      if (step.turns()) table[step.a].reset();
    }
    found = table[program.step.back().out][0] > kNone;
  }
};

// Writes the labels of the component's variables; false if it has no labeling.
inline bool best_labeling(const Component& c, const Factors& f, const Reduction& left,
                          const ContractionKernels& kernels, int threads, std::int32_t* label) {
  const Program& program = *c.program;
  const BestTables best_tables(c, f, left, kernels, threads);
  if (!best_tables.found) return false;
  const std::vector<std::unique_ptr<double[]>>& table = best_tables.table;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::vector<std::int32_t> state(program.width.size());
  for (std::size_t s = program.step.size(); s-- > 0;) {
    const Step& step = program.step[s];
    if (step.summed.empty()) continue;
    const Choices choices(program, step, state);
    std::int64_t number = 0, best = 0;
    double most = kNone;
    choices.each([&](std::int64_t a, std::int64_t b) {
      const double x = table[step.a][a] + (step.b < 0 ? 0.0 : table[step.b][b]);
      if (x > most) most = x, best = number;
      ++number;
    });
    choices.take(best, state);
  }
  for (std::size_t i = 0; i < c.variable.size(); ++i)
    label[c.variable[i]] = left.label_of(c.variable[i], state[i]);
  return true;
}

}  // namespace crfkit
