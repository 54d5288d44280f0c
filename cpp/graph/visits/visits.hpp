// Variables visited in one order, forward and backward: TRW-S, dual ascent on forests, ICM.
//
// TRW-S (Kolmogorov 2006; 2015 for factors of any size).  On the way forward a variable takes the
// max-marginals of the factors that have an earlier variable, and gives each factor that has a
// later one the same share of its score, 1 / max(factors with an earlier one, factors with a later
// one).  On the way back, the other way round.
//
// Forests.  Every factor is in one forest, in which a variable is below at most one factor that has
// later variables.  On the way forward a variable takes what all other factors have and gives all
// to the one above it, which makes the score of the last variable of a tree the maximum of the
// tree; on the way back it keeps a part and hands on the rest.
//
// In both, the sum over variables of the largest score is a bound on the best labeling that never
// rises.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kept.hpp"
#include "graph/kept_factors.hpp"
#include "graph/visits/order.hpp"
#include "graph/visits/tables.hpp"
#include "shared/kernels.hpp"
#include "shared/visits.hpp"

namespace crfkit {

class VisitEngine {
 public:
  // `forests`: dual ascent on forests instead of TRW-S.  `both`: keep what was given of both
  // variables of pairs, for `given`; TRW-S needs one row for a pair.
  VisitEngine(const Kernels& kernels, const KeptFactors& f, const VisitOrder& order, bool forests,
              bool both);
  VisitEngine(const VisitEngine&) = delete;
  VisitEngine& operator=(const VisitEngine&) = delete;

  // One sweep of the graphs that are active, [N]; `choose`: labels too.
  void sweep(std::span<const std::uint8_t> active, bool choose, int threads);

  // Gives each variable its best label given the others, until nothing changes or `rounds` are
  // over; returns whether nothing changed in the last one.
  bool improve(std::span<const std::uint8_t> active, int rounds, int threads);

  // [N] what no labeling is above.  Valid after the first sweep.
  std::vector<double> bound() const;

  // [N] scores of the labels.
  std::vector<double> score() const;

  std::vector<std::int32_t> label() const;
  void set_label(Integers label);

  // Scores of variables, less what was given to factors: flat, by variable.
  std::vector<double> left() const;
  // What was given to the factors of a group, [M, sum of its shape]; empty for single variables.
  std::vector<double> given(std::int64_t group) const { return tables_.unpadded(group); }

 private:
  void fill_rows();

  // Entries of variables, by visit, and whether there are earlier and later variables.
  void index();

  // The shares of TRW-S.
  void share_out();

  // Forests: each factor takes the first in which none of its variables but the last has another
  // factor above it.
  void plant();

  // Threads that have something to do.
  int useful(int threads) const;

  void activate(std::span<const std::uint8_t> active, int threads);

  // Steps: runs of levels that one thread does alone, and levels that all share.
  void cut();

  template <class Do>
  void each_level(bool backward, int threads, Do work);

  void pass(const VisitPass& how, bool backward, int threads);

  static constexpr std::int64_t kVisit = 64;         // cells of work, or more, for a variable
  static constexpr std::int32_t kMostForests = 256;  // each is a pass over all variables

  struct Step {
    std::int64_t first, last;  // levels
    bool shared;
  };

  const VisitKernels& kernels_;
  const Factors& f_;
  const VisitOrder& order_;
  VisitTables tables_;
  std::vector<std::int64_t> row_, ptr_;
  std::vector<std::int32_t> width_, graph_;
  std::vector<double> own_, left_, shift_;
  std::vector<VisitEntry> entry_;
  std::vector<std::uint8_t> is_first_, is_last_;  // [entries] in their factors
  std::vector<std::uint8_t> pull_, pull_back_, active_;
  std::vector<double> push_, push_back_;
  std::int32_t forests_ = 0;
  std::vector<std::int32_t> forest_;  // [entries]
  std::vector<double> share_;  // [entries] of last variables: of their scores, on the way back
  std::vector<std::int32_t> label_;
  std::vector<Step> steps_;
  std::int64_t widest_ = 0;  // variables of the largest shared level
  std::int64_t scratch_size_ = 0;
  std::vector<std::vector<double>> scratch_;  // one for each thread
  Visits view_;
};

}  // namespace crfkit
