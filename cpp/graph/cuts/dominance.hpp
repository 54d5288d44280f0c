// Variables whose label is plain before any flow: what they pay for the other label themselves is
// more than what all their neighbors could pay for this one.
//
// They are taken out of an energy, which gives their neighbors a firmer choice: rounds follow as
// long as they take out many.  Where scores of single variables are strong, little is left.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/cuts/binary_energy.hpp"

namespace crfkit {

class Dominance {
 public:
  // Takes variables out of an energy without complements, if there are many; whether it did.
  bool reduce(BinaryEnergy& energy) {
    const std::size_t n = energy.slope.size();
    label_.assign(n, -1);
    std::size_t left = n;
    while (const std::size_t found = decide(energy, left)) {
      left -= found;
      drop_pairs(energy);
    }
    if (left == n) return false;
    drop_variables(energy);
    return true;
  }

  // Labels of all variables, given those of what was left.
  void extend(std::vector<std::int8_t>& label) const {
    std::vector<std::int8_t> all(label_);
    std::size_t next = 0;
    for (std::int8_t& x : all)
      if (x < 0) x = label[next++];
    label.swap(all);
  }

 private:
  struct Pull {
    double to0 = 0.0, to1 = 0.0;  // what neighbors could pay for label 1, for label 0
  };

  // Decides labels of the `left` variables; how many, or 0 where it is not worth while.  A tie is
  // label 0, as in a cut.
  std::size_t decide(const BinaryEnergy& energy, std::size_t left) {
    pull_.assign(label_.size(), Pull{});
    for (const BinaryPair& pair : energy.pairs) {
      Pull &u = pull_[pair.u], &v = pull_[pair.v];
      u.to1 += pair.p;
      v.to0 += pair.p;
      u.to0 += pair.q;
      v.to1 += pair.q;
    }
    const auto choice = [&](std::size_t v) {
      return energy.banned[v] != 0             ? -1
             : energy.slope[v] >= pull_[v].to1 ? 0
             : energy.slope[v] < -pull_[v].to0 ? 1
                                               : -1;
    };
    std::size_t found = 0;
    for (std::size_t v = 0; v < label_.size(); ++v) found += label_[v] < 0 && choice(v) >= 0;
    if (4 * found < left) return 0;
    for (std::size_t v = 0; v < label_.size(); ++v)
      if (label_[v] < 0) label_[v] = static_cast<std::int8_t>(choice(v));
    return found;
  }

  // Pairs of a variable with a label become a choice of the other one, or a number.
  void drop_pairs(BinaryEnergy& energy) {
    std::size_t kept = 0;
    for (const BinaryPair& pair : energy.pairs) {
      const std::int8_t x = label_[pair.u], y = label_[pair.v];
      double& base = energy.base[energy.graph[pair.u]];
      if (x < 0 && y < 0) {
        energy.pairs[kept++] = pair;
      } else if (x < 0) {  // p [x = 0] if y is 1, q [x = 1] if y is 0
        base += y == 1 ? pair.p : 0.0;
        energy.slope[pair.u] += y == 1 ? -pair.p : pair.q;
      } else if (y < 0) {  // p [y = 1] if x is 0, q [y = 0] if x is 1
        base += x == 1 ? pair.q : 0.0;
        energy.slope[pair.v] += x == 1 ? -pair.q : pair.p;
      } else if (x != y) {
        base += x == 0 ? pair.p : pair.q;
      }
    }
    energy.pairs.resize(kept);
  }

  void drop_variables(BinaryEnergy& energy) {
    std::vector<std::int32_t> number(label_.size());
    std::int32_t kept = 0;
    for (std::size_t v = 0; v < label_.size(); ++v) {
      if (label_[v] == 1) energy.base[energy.graph[v]] += energy.slope[v];
      if (label_[v] >= 0) continue;
      energy.slope[kept] = energy.slope[v];
      energy.banned[kept] = energy.banned[v];
      energy.graph[kept] = energy.graph[v];
      number[v] = kept++;
    }
    energy.slope.resize(kept);
    energy.banned.resize(kept);
    energy.graph.resize(kept);
    energy.origin.clear();
    for (BinaryPair& pair : energy.pairs) pair.u = number[pair.u], pair.v = number[pair.v];
  }

  std::vector<std::int8_t> label_;  // [n] -1: not decided
  std::vector<Pull> pull_;          // [n]
};

}  // namespace crfkit
