// Queries of one structure that a chart describes.  Scores are logarithms, -inf forbids a part.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/trees/plan.hpp"
#include "shared/charts.hpp"

namespace crfkit {

inline constexpr double kNever = -std::numeric_limits<double>::infinity();

// A stream of random numbers: splitmix64, Steele, Lea & Flood (2014).
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double below(double most) { return most * static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// A part that a structure has; of several scores of a part (kbest), which.
struct ChosenPart {
  std::int32_t part, option;
};
using ChosenParts = std::vector<ChosenPart>;

class Chart {
 public:
  explicit Chart(const ChartKernels& kernels) : kernels_(kernels) {}

  // What the next structures are; keeps what it has for structures of the same size.
  const ChartPlan& open(TreeShape shape, std::int64_t height, std::int64_t width,
                        std::int64_t stride);
  // log Z; keeps what `add_marginals` and `draw` need.
  double sum(const double* scores);
  // Adds the probability of each part.
  void add_marginals(double* marginals);
  void draw(RandomStream& random, ChosenParts& found) const;
  // The best structure and its score, -inf of none; of equals the one whose pairs come first.
  double best(const double* scores, ChosenParts& found);
  // The k best, fewer where there are not so many; scores [parts, options], each part's falling.
  std::vector<double> kbest(const double* scores, std::int32_t options, std::int32_t k,
                            std::vector<ChosenParts>& found);

 private:
  struct Entry {  // one of the best ways to make a cell; of a leaf, `pair` is its option
    double value;
    std::int32_t pair, left, right;
  };

  template <class Sum>
  double fill(const double* scores, Sum sum);
  template <class Choose>
  void trace(Choose choose, ChosenParts& found) const;
  void rank(const ChartRow& row, std::int32_t lane, std::int32_t k, std::vector<Entry>& made) const;

  const ChartKernels& kernels_;
  ChartPlan plan_;
  std::vector<double> value_, expected_;    // [places], and some more
  std::vector<std::vector<Entry>> ranked_;  // [places]
};

}  // namespace crfkit
