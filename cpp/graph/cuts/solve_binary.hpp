// Minima of binary energies by minimum cuts: exactly where no pairs contradict each other, in part
// (roof duality) elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/cuts/binary_energy.hpp"
#include "graph/cuts/dominance.hpp"
#include "graph/cuts/max_flow.hpp"

namespace crfkit {

struct BinaryAnswer {
  std::vector<std::int8_t> label;        // [n] -1: not decided
  std::vector<std::uint8_t> impossible;  // [graphs] no labeling is allowed
  std::vector<double> bound;             // [graphs] what the energy is at least
};

// Cuts, one after the other, in memory that they share.
class BinarySolver {
 public:
  // Exact.  The pair that contradicts others, which may have been merged, or -1.  The energy's
  // complements are gone afterwards (variables are flipped), and so are variables whose label is
  // plain.
  std::int64_t cut(BinaryEnergy& energy, BinaryAnswer& answer);

  // Roof duality, Boros & Hammer (2002), Kolmogorov & Rother (2007): every variable and its
  // complement are nodes.  The decided labels are those of some minimum.
  void roof(const BinaryEnergy& energy, BinaryAnswer& answer);

 private:
  // Variables to flip, so that no pair has a complement: a union of sets with parities.  The first
  // pair that contradicts those before it, or -1.
  static std::int64_t find_flips(const BinaryEnergy& energy, std::vector<std::uint8_t>& flip);

  static void turn(BinaryEnergy& energy, const std::vector<std::uint8_t>& flip);

  // Refuses costs whose sums could overflow.
  static void check_size(const BinaryEnergy& energy);

  // Follows what is forced along infinite arcs: a path of these from source to sink means that
  // there is no labeling, and no such path is left to the flow.
  void begin(const BinaryEnergy& energy, BinaryAnswer& answer);

  void run(const BinaryEnergy& energy, BinaryAnswer& answer, double share);

  static std::int64_t variables(const BinaryEnergy& energy) {
    return static_cast<std::int64_t>(energy.slope.size());
  }

  Dominance dominance_;
  MaxFlow flow_;
  std::vector<std::uint8_t> forced_;  // [nodes] bit x: label x is impossible
};

}  // namespace crfkit
