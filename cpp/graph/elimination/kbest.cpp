#include "graph/elimination/kbest.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "shared/interrupts.hpp"

namespace crfkit {

BestLists::BestLists(const Component& c, const Factors& f, const Reduction& left,
                     const ContractionKernels& kernels, int threads)
    : program_(*c.program),
      best_(c, f, left, kernels, threads, true),
      state_(program_.width.size()) {
  std::int64_t total = 0;
  for (const ProgramTable& table : program_.table) first_.push_back(total), total += table.cells;
  for (const Step& step : program_.step) choices_.emplace_back(program_, step);
}

std::vector<double> BestLists::scores(std::int64_t k) {
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

const std::vector<std::int32_t>& BestLists::labeling(std::int64_t rank) {
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

bool BestLists::worse(const Derivation& x, const Derivation& y) {
  if (x.score != y.score) return x.score < y.score;
  if (x.choice != y.choice) return x.choice > y.choice;
  return x.rank_a != y.rank_a ? x.rank_a > y.rank_a : x.rank_b > y.rank_b;
}

Choices& BestLists::at(const Place& place) {
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

double BestLists::best(const Step& step, std::int64_t a, std::int64_t b, const Place& out) const {
  if (step.turns()) return best_.table[out.table][out.cell];
  return best_.table[step.a][a] + (step.b < 0 ? 0.0 : best_.table[step.b][b]);
}

template <class Visit>
void BestLists::each_choice(const Place& place, Visit visit) {
  const Step& step = program_.step[program_.table[place.table].made];
  std::int64_t number = 0;
  at(place).each([&](std::int64_t a, std::int64_t b) {
    const Derivation one = {best(step, a, b, place), number++, a, b, 0, 0};
    if (one.score > kNone) visit(one);
  });
}

BestLists::Derivation BestLists::derivation(const Place& place, std::int64_t rank) {
  const auto kept = lists_.find(key(place));
  if (kept != lists_.end() && rank < static_cast<std::int64_t>(kept->second.found.size()))
    return kept->second.found[rank];
  Derivation made = {kNone, 0, 0, 0, 0, 0};  // the best of a cell that nobody asked for more
  each_choice(place, [&](const Derivation& one) {
    if (worse(made, one)) made = one;
  });
  return made;
}

BestLists::List& BestLists::list(const Place& place) {
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

void BestLists::demand(const Place& place, std::int64_t rank) {
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

void BestLists::grow(const Place& place, List& mine, std::vector<Wanted>& open) {
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

double BestLists::score(const Place& place, std::int64_t rank) {
  if (rank == 0) return best_.table[place.table][place.cell];
  return lists_.at(key(place)).found[rank].score;
}

void BestSums::add(const std::vector<double>& list) {
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

std::vector<std::int64_t> BestSums::numbers(std::int64_t rank) const {
  std::vector<std::int64_t> made(taken_.size());
  for (std::size_t i = taken_.size(); i-- > 0;) {
    made[i] = taken_[i][rank].second;
    rank = taken_[i][rank].first;
  }
  return made;
}

}  // namespace crfkit
