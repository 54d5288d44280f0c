// The k best labelings of a component, one after the other and no more than are asked for.
//
// Labelings of what lies below a cell of a step's table are choices of the summed variables, each
// with a labeling below a cell of a and one below a cell of b: a hypergraph, in which every
// labeling is one derivation.  Lazy lists of the best ones, Huang & Chiang (2005) algorithm 3: a
// cell asks for the next labeling below another only when a better one of its own may need it.
#pragma once

#include <algorithm>
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
            const ContractionKernels& kernels, int threads)
      : program_(*c.program),
        best_(c, f, left, kernels, threads, true),
        state_(program_.width.size()) {
    std::int64_t total = 0;
    for (const ProgramTable& table : program_.table) first_.push_back(total), total += table.cells;
    for (const Step& step : program_.step) choices_.emplace_back(program_, step);
  }

  // Scores of the k best labelings, relative to the best cells of the leaves; fewer if there are
  // no more.
  std::vector<double> scores(std::int64_t k) {
    std::vector<double> made;
    if (!best_.found) return made;
    const Place root = {program_.step.back().out, 0};
    for (std::int64_t rank = 0; rank < k; ++rank) {
      demand(root, rank);
      const List& list = lists_.at(key(root));
      if (static_cast<std::int64_t>(list.found.size()) <= rank) break;
      made.push_back(list.found[rank].score);
    }
    return made;
  }

  // The states of all variables in the labeling of this rank, which `scores` has found.
  const std::vector<std::int32_t>& labeling(std::int64_t rank) {
    std::vector<Wanted> open = {{{program_.step.back().out, 0}, rank}};
    while (!open.empty()) {
      const auto [place, r] = open.back();
      open.pop_back();
      worked(1 << 6);
      const std::int32_t made = program_.table[place.table].made;
      if (made < 0) continue;
      const Derivation chosen = derivation(place, r);
      Choices& choices = at(place);
      choices.take(chosen.choice, state_);
      const Step& step = program_.step[made];
      open.push_back({{step.a, chosen.a}, chosen.rank_a});
      if (step.b >= 0) open.push_back({{step.b, chosen.b}, chosen.rank_b});
    }
    return state_;
  }

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
  static bool worse(const Derivation& x, const Derivation& y) {
    if (x.score != y.score) return x.score < y.score;
    if (x.choice != y.choice) return x.choice > y.choice;
    return x.rank_a != y.rank_a ? x.rank_a > y.rank_a : x.rank_b > y.rank_b;
  }

  // The choices of the step that makes a table, at a cell of it; their variables' states are set.
  Choices& at(const Place& place) {
    const std::vector<std::int32_t>& axis = program_.table[place.table].axis;
    std::int64_t rest = place.cell;
    for (std::size_t i = axis.size(); i-- > 0;) {
      state_[axis[i]] = static_cast<std::int32_t>(rest % program_.width[axis[i]]);
      rest /= program_.width[axis[i]];
    }
    Choices& choices = choices_[program_.table[place.table].made];
    choices.move(state_);
    return choices;
  }

  // A table that was turned has no numbers of its own any more: a table's best is that of the cell.
  double best(const Step& step, std::int64_t a, std::int64_t b, const Place& out) const {
    if (step.turns()) return best_.table[out.table][out.cell];
    return best_.table[step.a][a] + (step.b < 0 ? 0.0 : best_.table[step.b][b]);
  }

  template <class Visit>
  void each_choice(const Place& place, Visit visit) {
    const Step& step = program_.step[program_.table[place.table].made];
    std::int64_t number = 0;
    at(place).each([&](std::int64_t a, std::int64_t b) {
      const Derivation one = {best(step, a, b, place), number++, a, b, 0, 0};
      if (one.score > kNone) visit(one);
    });
  }

  Derivation derivation(const Place& place, std::int64_t rank) {
    const auto kept = lists_.find(key(place));
    if (kept != lists_.end() && rank < static_cast<std::int64_t>(kept->second.found.size()))
      return kept->second.found[rank];
    Derivation made = {kNone, 0, 0, 0, 0, 0};  // the best of a cell that nobody asked for more
    each_choice(place, [&](const Derivation& one) {
      if (worse(made, one)) made = one;
    });
    return made;
  }

  List& list(const Place& place) {
    const auto [entry, fresh] = lists_.try_emplace(key(place));
    List& made = entry->second;
    if (!fresh) return made;
    if (program_.table[place.table].made < 0) {
      made.found.push_back({best_.table[place.table][place.cell], 0, 0, 0, 0, 0});
      return made;
    }
    each_choice(place, [&](const Derivation& one) { made.next.push_back(one); });
    std::make_heap(made.next.begin(), made.next.end(), worse);
    return made;
  }

  // Finds labelings below a cell until there are rank + 1, or no more.  Without recursion: a chain
  // is as deep as it is long.
  void demand(const Place& place, std::int64_t rank) {
    std::vector<Wanted> open = {{place, rank}};
    while (!open.empty()) {
      const Wanted now = open.back();
      worked(1 << 6);
      List& mine = list(now.place);
      if (static_cast<std::int64_t>(mine.found.size()) > now.rank) {
        open.pop_back();
        continue;
      }
      if (mine.grown < 2) {
        grow(now.place, mine, open);
        continue;
      }
      if (mine.next.empty()) {
        open.pop_back();
        continue;
      }
      std::pop_heap(mine.next.begin(), mine.next.end(), worse);
      mine.found.push_back(mine.next.back());
      mine.next.pop_back();
      mine.grown = 0;
    }
  }

  // Adds a successor of the last labeling found: the next one below b or, where that is the first,
  // below a; so that each pair of ranks is met once.  What is not known yet is put on `open`.
  void grow(const Place& place, List& mine, std::vector<Wanted>& open) {
    const Step& step = program_.step[program_.table[place.table].made];
    const Derivation last = mine.found.back();
    const bool in_b = mine.grown == 0;
    const std::int32_t table = in_b ? step.b : step.a;
    if (table < 0 || (!in_b && last.rank_b > 0)) {
      ++mine.grown;
      return;
    }
    const Place below = {table, in_b ? last.b : last.a};
    const std::int64_t rank = (in_b ? last.rank_b : last.rank_a) + 1;
    const List& other = list(below);
    const bool there = static_cast<std::int64_t>(other.found.size()) > rank;
    if (!there && !(other.next.empty() && other.grown == 2)) {
      open.push_back({below, rank});
      return;
    }
    ++mine.grown;
    if (!there) return;
    Derivation next = last;
    (in_b ? next.rank_b : next.rank_a) = rank;
    next.score = score({step.a, next.a}, next.rank_a);
    if (step.b >= 0) next.score += score({step.b, next.b}, next.rank_b);
    mine.next.push_back(next);
    std::push_heap(mine.next.begin(), mine.next.end(), worse);
  }

  // Of a labeling that is known: the best below a cell, or one that was found.
  double score(const Place& place, std::int64_t rank) {
    if (rank == 0) return best_.table[place.table][place.cell];
    return lists_.at(key(place)).found[rank].score;
  }

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

  void add(const std::vector<double>& list) {
    struct Sum {
      double score;
      std::int64_t i, j;
      bool operator<(const Sum& other) const {  // of equal sums the earlier numbers are better
        if (score != other.score) return score < other.score;
        return i != other.i ? i > other.i : j > other.j;
      }
    };
    std::vector<Sum> heap;
    const auto put = [&](std::int64_t i, std::int64_t j) {
      if (i >= static_cast<std::int64_t>(score_.size())) return;
      if (j >= static_cast<std::int64_t>(list.size())) return;
      heap.push_back({score_[i] + list[j], i, j});
      std::push_heap(heap.begin(), heap.end());
    };
    put(0, 0);
    std::vector<double> score;
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    while (!heap.empty() && static_cast<std::int64_t>(score.size()) < k_) {
      worked(1 << 5);
      std::pop_heap(heap.begin(), heap.end());
      const Sum best = heap.back();
      heap.pop_back();
      score.push_back(best.score);
      taken.emplace_back(best.i, best.j);
      put(best.i, best.j + 1);
      if (best.j == 0) put(best.i + 1, 0);
    }
    score_ = std::move(score);
    taken_.push_back(std::move(taken));
  }

  std::int64_t count() const { return static_cast<std::int64_t>(score_.size()); }

  // The number of each list in the sum of this rank.
  std::vector<std::int64_t> numbers(std::int64_t rank) const {
    std::vector<std::int64_t> made(taken_.size());
    for (std::size_t i = taken_.size(); i-- > 0;) {
      made[i] = taken_[i][rank].second;
      rank = taken_[i][rank].first;
    }
    return made;
  }

 private:
  std::int64_t k_;
  std::vector<double> score_ = {0.0};
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> taken_;
};

}  // namespace crfkit
