// A labeling that is allowed, to start from: the best local labels, or random ones.
//
// Component by component, a variable at a time takes a label; labels that a forbidding table no
// longer allows are struck out (arc consistency), and a choice that leaves a variable without
// labels is taken back.  The variable with the fewest labels left comes first.  Where this takes
// too long it begins again with random labels, and gives up in the end.
#pragma once

#include <cstdint>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include "graph/incidence.hpp"

namespace crfkit {

class LabelingSearch {
 public:
  enum class End : std::uint8_t { found, none, given_up };

  explicit LabelingSearch(const Factors& f);

  // Fills label [V]; -1 for graphs without.  `random`: labels by chance instead of by score.
  std::vector<End> find(bool random, std::uint64_t seed, std::int64_t budget, std::int32_t* label);

 private:
  static constexpr int kAttempts = 8;
  struct Choice {
    std::int32_t variable, label;
    std::size_t struck, chosen;  // how much was struck out and chosen before
  };
  using Turn =
      std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // labels left, place, variable

  // The variables of a component, breadth first.
  void collect(std::int32_t start, std::int32_t number);

  void reset();

  // Without forbidden cells the order does not matter: that of the component.
  void turn(std::int32_t v) { turns_.push({any_ ? size_[v] : 0, place_[v], v}); }

  End search(bool random);

  std::int32_t preferred(std::int32_t v, bool random);

  // Scores of a factor whose other variables all have labels.
  void add_scores(std::int32_t v, const Incident& at);

  void strike(std::int32_t v, std::int32_t l);

  void touch(std::int32_t v);

  void undo(const Choice& choice);

  // Strikes out what no longer has support; false where a variable has no label left.
  bool settle();

  bool revise(const FactorGroup& group, std::int64_t m);

  const Factors& f_;
  Incidence incidence_;
  std::vector<std::vector<bool>> forbids_;  // [groups, tables]
  std::vector<bool> alive_;                 // [labels]
  std::vector<std::int32_t> size_, label_, component_, member_, place_, at_;
  std::vector<double> score_;
  std::vector<std::pair<std::int32_t, std::int32_t>> struck_;
  std::vector<std::int32_t> chosen_;
  std::vector<Choice> choices_;
  std::vector<std::pair<std::int32_t, std::int64_t>> waiting_;
  std::vector<std::uint8_t> support_;
  std::vector<std::int64_t> begin_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::mt19937_64 random_;
  std::int64_t work_ = 0;
  bool any_ = false;    // whether a table of the component forbids something
  bool empty_ = false;  // whether a variable has no label left
};

}  // namespace crfkit
