// Expansion and swap moves: Boykov, Veksler & Zabih (2001).
//
// In a move every variable that takes part chooses between two labels; the best choice of all is a
// cut where the pairs allow it, and elsewhere the part of it that roof duality decides.  A move
// that does not lower the energy of a graph is not made, so that energies never rise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/cuts/pairwise.hpp"
#include "graph/cuts/solve_binary.hpp"

namespace crfkit {

class Moves {
 public:
  std::vector<std::int32_t> label;   // [V]
  std::vector<std::int64_t> cycles;  // [N]
  std::vector<std::uint8_t> done;    // [N] no move helps
  std::int64_t fused = 0;            // moves by roof duality
  Fault fault;

  // Begins with the best labels of single variables where `start` is empty.
  Moves(const Factors& f, std::span<const std::int32_t> start);

  void expand(std::int64_t most);

  void swap(std::int64_t most);

 private:
  double unary(std::int64_t v, std::int32_t x) const { return costs_.unary[f_.label_ptr[v] + x]; }

  // Cycles of moves; a graph is done when as many moves as a cycle has did not help it.
  template <class Move>
  void repeat(std::int64_t most, std::int64_t moves, const Move& move);

  // One move: labels(v, x0, x1) says whether v takes part, and between which labels it chooses.
  template <class Labels>
  void choose(const Labels& labels);

  // Makes the move for the graphs that it helps.
  void make();

  struct Active {
    std::int32_t v, x0, x1;
  };

  const Factors& f_;
  Pairwise costs_;
  std::vector<std::int64_t> ptr_;  // [V + 1] where the pairs of a variable lie in `at_`
  std::vector<std::int32_t> at_;
  std::vector<Active> active_, changed_;
  std::vector<std::int32_t> local_;  // [V] place in `active_`; -1: none; below: place in `changed_`
  std::vector<double> delta_;        // [N]
  std::vector<std::int64_t> quiet_;  // [N] moves since one helped
  BinaryEnergy energy_;
  BinarySolver solver_;
  BinaryAnswer answer_;
};

}  // namespace crfkit
