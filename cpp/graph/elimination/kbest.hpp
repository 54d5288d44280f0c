// The k best labelings of a component, one after the other and no more than are asked for.
//
// Labelings of what lies below a cell of a step's table are choices of the summed variables, each
// with a labeling below a cell of a and one below a cell of b: a hypergraph, in which every
// labeling is one derivation.  Lazy lists of the best ones, Huang & Chiang (2005) algorithm 3: a
// cell asks for the next labeling below another only when a better one of its own may need it.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/elimination/best.hpp"
#include "graph/secret_hash.hpp"

namespace crfkit {

class BestLists {
 public:
  BestLists(const Component& c, const Factors& f, const Reduction& left,
            const ContractionKernels& kernels, int threads);

  // Scores of the k best labelings, relative to the best cells of the leaves; fewer if there are
  // no more.
  std::vector<double> scores(std::int64_t k);

  // The states of all variables in the labeling of this rank, which `scores` has found.
  const std::vector<std::int32_t>& labeling(std::int64_t rank);

 private:
  struct Place {
    std::int32_t table;
    std::int64_t cell;
  };
  struct Wanted {
    Place place;
    std::int64_t rank;
  };
  struct Derivation {
    double score;
    std::int64_t choice, a, b;    // number of the choice; cells of a and b
    std::int64_t rank_a, rank_b;  // of the labelings below them
  };
  struct List {
    std::vector<Derivation> found, next;  // next: a heap of what may follow
    int grown = 2;  // how many successors of the last one found are in `next`, of two
  };

  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  std::int64_t key(const Place& place) const { return first_[place.table] + place.cell; }

  // The best first; of equal ones that of the earlier choice, then of lower ranks.
  static bool worse(const Derivation& x, const Derivation& y);

  // The choices of the step that makes a table, at a cell of it; their variables' states are set.
  Choices& at(const Place& place);

  // A table that was turned has no numbers of its own any more: a table's best is that of the cell.
  double best(const Step& step, std::int64_t a, std::int64_t b, const Place& out) const;

  template <class Visit>
  void each_choice(const Place& place, Visit visit);

  Derivation derivation(const Place& place, std::int64_t rank);

  List& list(const Place& place);

  // Finds labelings below a cell until there are rank + 1, or no more.  Without recursion: a chain
  // is as deep as it is long.
  void demand(const Place& place, std::int64_t rank);

  // Adds a successor of the last labeling found: the next one below b or, where that is the first,
  // below a; so that each pair of ranks is met once.  What is not known yet is put on `open`.
  void grow(const Place& place, List& mine, std::vector<Wanted>& open);

  // Of a labeling that is known: the best below a cell, or one that was found.
  double score(const Place& place, std::int64_t rank);

  const Program& program_;
  const BestTables best_;
  std::vector<std::int32_t> state_;
  std::vector<std::int64_t> first_;  // [tables] number of the first cell among all
  std::vector<Choices> choices_;     // [steps]
  std::unordered_map<std::int64_t, List, SecretHash> lists_;
};

// The k best sums of one number of each list, all lists best first: which number of each.
class BestSums {
 public:
  explicit BestSums(std::int64_t k) : k_(k) {}

  void add(const std::vector<double>& list);

  std::int64_t count() const { return static_cast<std::int64_t>(score_.size()); }

  // The number of each list in the sum of this rank.
  std::vector<std::int64_t> numbers(std::int64_t rank) const;

 private:
  std::int64_t k_;
  std::vector<double> score_ = {0.0};
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> taken_;
};

}  // namespace crfkit
