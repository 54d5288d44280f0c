// A better tree of contractions than an order gives: local changes, by simulated annealing.
//
// A tree joins the leaves two at a time.  A node keeps the variables that tables outside of its
// subtree have as well, and costs as many products as its two children have cells together.  A move
// takes a node ((A, B), C) to ((C, B), A) or ((A, C), B): nothing else changes, so that a move
// costs some operations on sets.  Kalachev, Panteleev & Yung (2021) do this for quantum circuits.
// The number of moves and the random numbers depend on the tree only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/elimination/joins.hpp"

namespace crfkit {

class ContractionTree {
 public:
  ContractionTree(const std::vector<std::int32_t>& width, const Scopes& leaves, const Joins& joins);

  // Children before parents, the larger child first: what is done is small while the rest is made.
  Joins joins() const;

  double work() const;

  double kept() const;

  bool in_place(std::int32_t i) const;

  // Passes over all nodes at falling temperatures; ends as the best tree that was seen.
  void anneal(int passes, double hot, double cold, std::uint64_t seed);

  double cost() const { return work() + 2.0 * kept(); }

 private:
  struct Node {
    std::int32_t left = -1, right = -1;
  };

  const std::uint64_t* set(std::int32_t i) const { return set_.data() + i * words_; }
  std::uint64_t* set(std::int32_t i) { return set_.data() + i * words_; }

  bool same(std::int32_t a, std::int32_t b) const {
    return std::equal(set(a), set(a) + words_, set(b));
  }

  template <class Word>
  double size_by(Word word) const {
    if (uniform_) {
      std::int64_t count = 0;
      for (std::int64_t w = 0; w < words_; ++w) count += __builtin_popcountll(word(w));
      return static_cast<double>(count) * bits_[0];
    }
    double total = 0.0;
    for (std::int64_t w = 0; w < words_; ++w)
      for (std::uint64_t left = word(w); left; left &= left - 1)
        total += bits_[w * 64 + __builtin_ctzll(left)];
    return total;
  }
  double size(const std::uint64_t* s) const {
    return size_by([&](std::int64_t w) { return s[w]; });
  }
  double both(std::int32_t a, std::int32_t b) const;

  std::uint64_t draw();

  void move(std::int32_t x, double beta, std::uint64_t chance);

  std::int64_t words_;
  std::int32_t leaves_, root_;
  std::vector<Node> node_;          // leaves first
  std::vector<std::uint64_t> set_;  // [nodes + 1, words]; the last is scratch
  std::vector<double> bits_;
  bool uniform_ = false;
  std::uint64_t seed_ = 0;
};

}  // namespace crfkit
