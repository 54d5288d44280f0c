// The gain of adding one feature, a test of the input together with a label y, all other weights
// fixed: Gupta (2005) eq. 61 with the pseudo-likelihood below it (McCallum 2003).
//
//   gain = max over mu of  sum_j w_j [ mu v_j [gold_j = y] - log(1 - p_j + p_j exp(mu v_j)) ]
//                          - l2 mu^2 / 2
//
// over the tokens j at which the test is true, with p_j = P(y_j = y | x) of the model so far, v_j
// the value of the test and w_j the weight of the sequence.  The function of mu is concave;
// Newton's method is kept within a bracket that halves where a step would leave it.
//
// Tests are attributes, and pairs of attributes that occur at one token.  Pairs are counted left
// part by left part, so that memory does not grow with their number; most are then given up without
// a search, as a token cannot gain more than -log p of its gold label.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kept.hpp"

namespace crfkit {

// Features that gain enough.
struct Gains {
  std::vector<std::int32_t> left, right, label;  // right is -1 for an attribute by itself
  std::vector<std::int64_t> tokens;              // at which the test is true
  std::vector<std::uint64_t> mark;               // the same where the tokens are
  std::vector<double> mu, gain;

  void append(const Gains& other);
};

class GainSearch {
 public:
  // Tokens with their attributes; p is [tokens, labels].
  GainSearch(KeptReals p, KeptIntegers gold, std::optional<KeptReals> weight, int labels, double l2,
             KeptPointers ptr, KeptIntegers id, std::optional<KeptReals> value);

  // Attributes whose gain with some label is more than `least`.
  Gains single(double least, int threads) const;

  // Pairs of an attribute on the left and one on the right; where both may stand on both sides, the
  // smaller one is on the left.
  Gains pairs(std::span<const bool> left, std::span<const bool> right, double least,
              int threads) const;

  // Of features, the best first, those that explain tokens which better ones do not: the numbers of
  // at most `most`.  A feature explains a token where its weight speaks for the gold label or
  // against another; it is left out where less than `share` of what these tokens could gain is new.
  std::vector<std::int64_t> diverse(Integers left, Integers right, Integers label, Reals mu,
                                    std::int64_t most, double share) const;

 private:
  struct Slope {
    double first, second, value;
  };

  // What one left part occurs with.
  struct Partners {
    explicit Partners(std::int64_t A) : count(A), slot(A), most(A) {}
    std::vector<std::int64_t> count, slot;  // [attributes] tokens; where they go in `token`
    std::vector<double> most;               // [attributes] no pair gains more
    std::vector<std::int32_t> seen, token;
    std::vector<double> value;
  };

  std::int64_t attributes() const { return static_cast<std::int64_t>(at_.size()) - 1; }
  std::size_t size_of(std::int64_t a) const {
    return static_cast<std::size_t>(at_[a + 1] - at_[a]);
  }

  // Results of blocks of the work, in order.
  template <class Work>
  static Gains each(std::int64_t count, std::int64_t together, int threads, Work work);

  // The tokens of each attribute, rising.
  void index();

  void add_pairs(std::int32_t a, std::span<const bool> left, std::span<const bool> right,
                 const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& place,
                 double least, Partners& with, Gains& out) const;

  void add(std::int32_t left, std::int32_t right, Integers tokens, const double* value,
           double least, Gains& out) const;

  static std::uint64_t mixed(std::uint64_t x);

  double best(Integers tokens, const double* value, std::int32_t y) const;

  // log(p e^x + 1 - p); p may be above 1 by rounding.
  static double log_total(double p, double x);

  // The derivatives by mu; its value where asked for. Beyond e^700 shares no longer change.
  Slope slope(Integers tokens, const double* value, std::int32_t y, double mu, bool valued) const;

  KeptReals p_;
  KeptIntegers gold_;
  std::optional<KeptReals> weights_;
  KeptPointers ptr_;
  KeptIntegers id_;
  std::optional<KeptReals> values_;
  std::int64_t L_;
  double l2_;
  std::vector<double> bound_, most_;  // [tokens, labels], [tokens]
  std::vector<std::int64_t> at_;      // [attributes + 1]
  std::vector<std::int32_t> token_;
  std::vector<double> value_;
};

}  // namespace crfkit
