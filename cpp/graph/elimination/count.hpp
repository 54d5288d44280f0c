// How many labelings of a component are allowed, modulo a prime below 2^61.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/elimination/component.hpp"
#include "graph/elimination/semiring.hpp"

namespace crfkit {

struct Residues {
  using Value = std::uint64_t;
  std::uint64_t prime;

  static Value zero() { return 0; }
  void add(Value& to, Value x) const {
    to += x;
    if (to >= prime) to -= prime;
  }
  Value times(Value a, Value b) const {
    if (a <= 1) return a ? b : 0;  // leaves are 0 and 1
    if (b <= 1) return b ? a : 0;
    return static_cast<Value>(static_cast<unsigned __int128>(a) * b % prime);
  }
};

inline std::uint64_t count_labelings(const Component& c, const Factors& f, const Reduction& left,
                                     std::uint64_t prime) {
  const Program& program = *c.program;
  const Residues ring = {prime};
  std::vector<std::vector<std::uint64_t>> table(program.table.size());
  std::vector<double> scores;
  for (const Step& step : program.step) {
    for (const std::int32_t t : {step.a, step.b}) {
      if (t < 0 || t >= program.leaves) continue;
      scores.resize(program.table[t].cells);
      c.fill(f, left, t, scores.data());
      for (const double x : scores)
        table[t].push_back(x > -std::numeric_limits<double>::infinity());
    }
    table[step.out].resize(program.table[step.out].cells);
    contract(ring, program.loops(step.a, step.b, step.out), table[step.a].data(),
             step.b < 0 ? nullptr : table[step.b].data(), table[step.out].data());
    for (const std::int32_t t : {step.a, step.b})
      if (t >= 0) std::vector<std::uint64_t>().swap(table[t]);
  }
  return table[program.step.back().out][0];
}

}  // namespace crfkit
