// Labels for the variables that a partial labeling leaves open: one after the other takes the
// label that is better given the others (iterated conditional modes), until none changes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/cuts/binary_energy.hpp"

namespace crfkit {

inline void complete(const BinaryEnergy& energy, std::vector<std::int8_t>& label) {
  std::vector<std::int32_t> open, number(label.size(), -1);
  for (std::size_t v = 0; v < label.size(); ++v) {
    if (label[v] >= 0) continue;
    number[v] = static_cast<std::int32_t>(open.size());
    open.push_back(static_cast<std::int32_t>(v));
    label[v] = energy.banned[v] == 0 ? energy.slope[v] < 0.0 : energy.banned[v] == 1;
  }
  const auto other = [](std::int32_t literal) { return literal < 0 ? ~literal : literal; };
  std::vector<std::int64_t> ptr(open.size() + 1), at;
  for (const BinaryPair& pair : energy.pairs)
    for (const std::int32_t v : {pair.u, other(pair.v)})
      if (number[v] >= 0) ++ptr[number[v] + 1];
  for (std::size_t i = 0; i < open.size(); ++i) ptr[i + 1] += ptr[i];
  at.resize(ptr.back());
  std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
  for (std::size_t k = 0; k < energy.pairs.size(); ++k)
    for (const std::int32_t v : {energy.pairs[k].u, other(energy.pairs[k].v)})
      if (number[v] >= 0) at[next[number[v]]++] = static_cast<std::int64_t>(k);
  bool changed = true;
  for (int sweep = 0; changed && sweep < 1000; ++sweep) {
    changed = false;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::int32_t v = open[i];
      // What label 1 costs more than label 0: forbidden things first.
      std::int64_t forbidden = (energy.banned[v] >> 1 & 1) - (energy.banned[v] & 1);
      double cost = energy.slope[v];
      for (std::int64_t j = ptr[i]; j < ptr[i + 1]; ++j) {
        const BinaryPair& pair = energy.pairs[at[j]];
        const bool first = pair.u == v, complement = pair.v < 0;
        // The literal of v that is 1 at label 1, or at label 0: `turned`; and that of the
        // neighbor.
        const bool turned = !first && complement;
        const bool neighbor =
            first ? (label[other(pair.v)] == 1) != complement : label[pair.u] == 1;
        // As u: 1 pays q where the neighbor is 0, 0 pays p where it is 1.  As v the other way
        // round.
        const double at_one = neighbor ? 0.0 : first ? pair.q : pair.p;
        const double at_zero = neighbor ? (first ? pair.p : pair.q) : 0.0;
        const double pay = at_one > 0.0 ? at_one : -at_zero;
        const int sign = turned ? -1 : 1;
        if (pay == infinite || pay == -infinite)
          forbidden += sign * (pay > 0.0 ? 1 : -1);
        else
          cost += sign * pay;
      }
      const std::int8_t better = forbidden != 0 ? forbidden < 0
                                 : cost != 0.0  ? cost < 0.0
                                                : label[v];
      changed |= better != label[v];
      label[v] = better;
    }
  }
}

}  // namespace crfkit
