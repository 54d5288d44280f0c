// The gain of adding one feature, a test of the input together with a label y, all other weights
// fixed: Gupta (2005) eq. 61 with the pseudo-likelihood below it (McCallum 2003).
//
//   gain = max over mu of  sum_j w_j [ mu v_j [gold_j = y] - log(1 - p_j + p_j exp(mu v_j)) ]
//                          - l2 mu^2 / 2
//
// over the tokens j at which the test is true, with p_j = P(y_j = y | x) of the model so far, v_j
// the value of the test and w_j the weight of the sequence.  The function of mu is concave;
// Newton's method is kept within a bracket that halves where a step would leave it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "engine/threads/parallel.hpp"

namespace crfkit {

struct Gains {
  std::vector<std::int64_t> test;  // candidates, as test and label, by test and then label
  std::vector<std::int32_t> label;
  std::vector<double> mu, gain;
};

class GainSearch {
 public:
  // p is [tokens, labels]; weight is null where all are 1.
  GainSearch(Reals p, Integers gold, const double* weight, int labels, double l2)
      : p_(p), gold_(gold), weight_(weight), L_(labels), l2_(l2) {
    if (labels < 1) refuse("labels is " + text(labels) + ", expected 1 or more");
    check_length("p", p.size(), static_cast<std::int64_t>(gold.size()) * labels);
    if (!(l2 > 0.0)) refuse("l2 must be above 0");
    for (const std::int32_t y : gold)
      if (y < 0 || y >= labels) refuse("gold " + text(y) + " is not below " + text(labels));
    bound_.resize(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {  // the most that a token can gain
      const bool here = gold[i / labels] == static_cast<std::int32_t>(i % labels);
      const double q = here ? p[i] : 1.0 - p[i];
      bound_[i] = -std::log(std::max(q, 1e-300)) * (weight ? weight[i / labels] : 1.0);
    }
  }

  // Tests by the tokens at which they are true; what gains more than `least`.
  Gains operator()(Pointers ptr, Integers token, const double* value, double least,
                   int threads) const {
    check_pointers(ptr, "ptr", static_cast<std::int64_t>(token.size()));
    check_threads(threads);
    for (const std::int32_t j : token)
      if (j < 0 || j >= static_cast<std::int64_t>(gold_.size()))
        refuse("token " + text(j) + " is not below " +
               text(static_cast<std::int64_t>(gold_.size())));
    constexpr std::int64_t together = 2048;
    const auto tests = static_cast<std::int64_t>(ptr.size()) - 1;
    std::vector<Gains> parts((tests + together - 1) / together);
    parallel_for(static_cast<std::int64_t>(parts.size()), threads, [&](std::int64_t b) {
      for (std::int64_t t = b * together; t < std::min(tests, (b + 1) * together); ++t)
        add(t, {token.data() + ptr[t], static_cast<std::size_t>(ptr[t + 1] - ptr[t])},
            value ? value + ptr[t] : nullptr, least, parts[b]);
    });
    Gains all;
    for (const Gains& part : parts) {
      all.test.insert(all.test.end(), part.test.begin(), part.test.end());
      all.label.insert(all.label.end(), part.label.begin(), part.label.end());
      all.mu.insert(all.mu.end(), part.mu.begin(), part.mu.end());
      all.gain.insert(all.gain.end(), part.gain.begin(), part.gain.end());
    }
    return all;
  }

 private:
  struct Slope {
    double first, second, value;
  };

  void add(std::int64_t test, Integers tokens, const double* value, double least,
           Gains& out) const {
    for (std::int32_t y = 0; y < L_; ++y) {
      double up = 0.0, down = 0.0;  // no weight above or below 0 can gain more
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool rises = (gold_[tokens[i]] == y) == (!value || value[i] >= 0.0);
        (rises ? up : down) += bound_[static_cast<std::size_t>(tokens[i]) * L_ + y];
      }
      if (std::max(up, down) <= least) continue;
      const double mu = best(tokens, value, y);
      const double gain = slope(tokens, value, y, mu, true).value;
      if (!(gain > least)) continue;
      out.test.push_back(test), out.label.push_back(y);
      out.mu.push_back(mu), out.gain.push_back(gain);
    }
  }

  double best(Integers tokens, const double* value, std::int32_t y) const {
    double low = -1e300, high = 1e300, mu = 0.0;
    for (int step = 0; step < 200; ++step) {
      const Slope at = slope(tokens, value, y, mu, false);
      (at.first > 0.0 ? low : high) = mu;
      double next = mu - at.first / at.second;
      if (!(next > low && next < high)) next = low / 2.0 + high / 2.0;
      // A slope that falls by l2 at least cannot be 0 further away than this.
      next = std::clamp(next, mu - std::fabs(at.first) / l2_, mu + std::fabs(at.first) / l2_);
      if (std::fabs(next - mu) <= 1e-10 * (1.0 + std::fabs(mu))) return next;
      mu = next;
    }
    return mu;
  }

  // The derivatives by mu; its value where asked for.
  Slope slope(Integers tokens, const double* value, std::int32_t y, double mu, bool valued) const {
    Slope sum{-l2_ * mu, -l2_, -0.5 * l2_ * mu * mu};
    double v = 1.0, x = std::min(std::fabs(mu), 700.0), e = std::exp(-x);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::int32_t j = tokens[i];
      if (value) v = value[i], x = std::min(std::fabs(mu * v), 700.0), e = std::exp(-x);
      const bool rises = mu * v > 0.0;
      const double p = p_[static_cast<std::size_t>(j) * L_ + y];
      const double a = rises ? p : p * e, b = rises ? (1.0 - p) * e : 1.0 - p;  // of y, of others
      const double total = std::max(a + b, 1e-308), q = a / total;
      const double w = weight_ ? weight_[j] : 1.0, here = gold_[j] == y ? 1.0 : 0.0;
      sum.first += w * v * (here - q);
      sum.second -= w * v * v * q * (b / total);
      if (valued) sum.value += w * (here * mu * v - (rises ? x : 0.0) - std::log(total));
    }
    return sum;
  }

  Reals p_;
  Integers gold_;
  const double* weight_;
  std::int64_t L_;
  double l2_;
  std::vector<double> bound_;  // [tokens, labels]
};

}  // namespace crfkit
