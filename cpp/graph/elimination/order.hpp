// In which order the variables of a component are summed out.
//
// Greedy orders by weighted min-fill, min-fill and min-size, with ties broken by chance (of a fixed
// seed), and the one that costs least is kept: the cost is the sum of cells of all steps, not the
// width.  How long is searched depends on what there is to gain, counted in operations and never by
// a clock, so that the same graph has the same order always.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "graph/elimination/low_degree.hpp"

namespace crfkit {

struct Order {
  std::vector<std::int32_t> variable;  // in the order of elimination; incomplete: cut off
  double cells = 0.0;                  // of messages, which are kept
  double work = 0.0;                   // cells of all steps
  bool complete = false;
};

// One greedy elimination of a copy of the graph.
class GreedyOrder {
 public:
  enum class Rule { fill, weighted_fill, size };

  // Seed 0: ties go to the first variable, which suits graphs that are numbered along their length.
  GreedyOrder(const PrimalGraph& graph, Rule rule, std::uint64_t seed);

  // Stops when the messages have more cells than `most`, the steps cost more than `bound`, or more
  // than `operations` were needed.
  Order run(double most, double bound, std::int64_t operations);

  std::int64_t operations() const { return done_; }

 private:
  static constexpr std::int32_t kDense = 8192;  // variables; above it edges are looked up in lists

  struct Candidate {
    double cost;
    std::uint64_t chance;
    std::int32_t variable;
    std::int32_t version;
    bool operator<(const Candidate& other) const;
  };

  bool adjacent(std::int32_t u, std::int32_t v) const;
  void set(std::int32_t u, std::int32_t v) {
    matrix_[u * stride_ + v / 64] |= std::uint64_t{1} << (v % 64);
  }
  void clear(std::int32_t u, std::int32_t v) {
    matrix_[u * stride_ + v / 64] &= ~(std::uint64_t{1} << (v % 64));
  }

  double count_fill(std::int32_t v);

  void push(std::int32_t v);

  std::int32_t pop();

  void eliminate(std::int32_t x);

  // All neighbors of a variable become neighbors of each other: lists are merged.
  void join(const std::vector<std::int32_t>& near);

  void add(std::int32_t u, std::int32_t v);

  const std::vector<double>& bits_;
  std::vector<std::vector<std::int32_t>> near_;
  Rule rule_;
  std::uint64_t seed_;
  bool dense_ = false;
  std::int64_t stride_ = 0;
  std::vector<std::uint64_t> matrix_;
  std::vector<double> weight_, fill_, size_;
  std::vector<std::int32_t> version_, touched_;
  std::vector<std::uint8_t> gone_;
  std::priority_queue<Candidate> queue_;
  std::int64_t done_ = 0;
};

// The same with the variables of few neighbors first.
Order find_order(const PrimalGraph& graph, double most, int threads);

}  // namespace crfkit
