#include "engine/trees/chart.hpp"

#include <algorithm>
#include <cmath>

#include "shared/interrupts.hpp"

namespace crfkit {
template <class Sum>
double Chart::fill(const double* scores, Sum sum) {
  value_.assign(plan.places(), kNever);
  for (const std::int32_t place : plan.ones) value_[place] = 0.0;
  for (const ChartCell& c : plan.cells) {
    worked(8 + c.count);
    double value = c.count == 1 ? value_[c.left] + value_[c.right]
                                : sum(value_.data() + c.left, value_.data() + c.right, c.count);
    if (c.part >= 0) value += scores[c.part];
    value_[c.place] = value;
    if (c.twin >= 0) value_[c.twin] = value;
  }
  return value_[plan.goal];
}

double Chart::sum(const double* scores) { return fill(scores, kernels_.sum); }

// From the whole structure to the smallest spans: what is expected of a cell is shared among its
// pairs by their probabilities, so that all numbers lie between 0 and 1.
void Chart::add_marginals(double* marginals) {
  if (value_[plan.goal] == kNever) return;
  expected_.assign(plan.places(), 0.0);
  expected_[plan.goal] = 1.0;
  for (std::size_t i = plan.cells.size(); i-- > 0;) {
    const ChartCell& c = plan.cells[i];
    const double weight = expected_[c.place] + (c.twin < 0 ? 0.0 : expected_[c.twin]);
    if (weight == 0.0) continue;
    worked(8 + 2 * c.count);
    if (c.part >= 0) marginals[c.part] += weight;
    if (c.count == 1) {
      expected_[c.left] += weight;
      expected_[c.right] += weight;
      continue;
    }
    kernels_.share(value_.data() + c.left, value_.data() + c.right, c.count, value_[c.place],
                   weight, expected_.data() + c.left, expected_.data() + c.right);
  }
}

template <class Choose>
void Chart::trace(Choose choose, ChosenParts& found) const {
  found.clear();
  std::vector<std::int32_t> open = {plan.owner[plan.goal]};
  while (!open.empty()) {
    const std::int32_t number = open.back();
    open.pop_back();
    if (number < 0) continue;
    const ChartCell& c = plan.cells[number];
    worked(8 + c.count);
    if (c.part >= 0) found.push_back({c.part, 0});
    const std::int32_t pair = c.count == 1 ? 0 : choose(c);
    open.push_back(plan.owner[c.left + pair]);
    open.push_back(plan.owner[c.right + pair]);
  }
}

void Chart::draw(RandomStream& random, ChosenParts& found) const {
  trace(
      [&](const ChartCell& c) {
        const double* left = value_.data() + c.left;
        const double* right = value_.data() + c.right;
        const double top = kernels_.most(left, right, c.count);
        double rest = 0.0;
        for (std::int32_t i = 0; i < c.count; ++i) rest += std::exp(left[i] + right[i] - top);
        rest = random.below(rest);
        std::int32_t last = 0;
        for (std::int32_t i = 0; i < c.count; ++i) {
          const double chance = std::exp(left[i] + right[i] - top);
          if (chance == 0.0) continue;
          last = i;
          if (rest < chance) break;
          rest -= chance;
        }
        return last;
      },
      found);
}

double Chart::best(const double* scores, ChosenParts& found) {
  found.clear();
  const double score = fill(scores, kernels_.most);
  if (score == kNever) return score;
  trace(
      [&](const ChartCell& c) {
        const double* left = value_.data() + c.left;
        const double* right = value_.data() + c.right;
        const double top = kernels_.most(left, right, c.count);
        std::int32_t i = 0;
        while (left[i] + right[i] != top) ++i;
        return i;
      },
      found);
  return score;
}

// Huang & Chiang (2005), algorithm 2: of each pair its best first, then what follows those taken.
void Chart::rank(const ChartCell& c, const double* scores, std::int32_t options, std::int32_t k,
                 std::vector<Entry>& made) const {
  const auto value_of = [&](std::int32_t place, std::int32_t n) {
    const std::int32_t number = plan.owner[place];
    if (number < 0) return n == 0 ? value_[place] : kNever;
    const std::vector<Entry>& list = ranked_[number];
    return n < static_cast<std::int32_t>(list.size()) ? list[n].value : kNever;
  };
  const auto behind = [](const Entry& a, const Entry& b) {
    if (a.value != b.value) return a.value < b.value;
    if (a.pair != b.pair) return a.pair > b.pair;
    if (a.left != b.left) return a.left > b.left;
    return a.right != b.right ? a.right > b.right : a.option > b.option;
  };
  std::vector<Entry> heap;
  const auto offer = [&](Entry e) {
    if (c.part < 0 ? e.option > 0 : e.option >= options) return;
    e.value = value_of(c.left + e.pair, e.left) + value_of(c.right + e.pair, e.right);
    if (c.part >= 0) e.value += scores[static_cast<std::int64_t>(c.part) * options + e.option];
    if (e.value == kNever) return;
    heap.push_back(e);
    std::push_heap(heap.begin(), heap.end(), behind);
  };
  for (std::int32_t i = 0; i < c.count; ++i) offer({0.0, i, 0, 0, 0});
  made.clear();
  while (!heap.empty() && static_cast<std::int32_t>(made.size()) < k) {
    std::pop_heap(heap.begin(), heap.end(), behind);
    const Entry e = heap.back();
    heap.pop_back();
    made.push_back(e);
    offer({0.0, e.pair, e.left, e.right, e.option + 1});
    if (e.option) continue;
    offer({0.0, e.pair, e.left, e.right + 1, 0});
    if (!e.right) offer({0.0, e.pair, e.left + 1, 0, 0});
  }
}

std::vector<double> Chart::kbest(const double* scores, std::int32_t options, std::int32_t k,
                                 std::vector<ChosenParts>& found) {
  value_.assign(plan.places(), kNever);
  for (const std::int32_t place : plan.ones) value_[place] = 0.0;
  ranked_.resize(std::max(ranked_.size(), plan.cells.size()));
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    worked(16 + plan.cells[i].count + 16 * k);
    rank(plan.cells[i], scores, options, k, ranked_[i]);
  }
  found.clear();
  const std::int32_t goal = plan.owner[plan.goal];
  if (goal < 0) {  // nothing to be decided: one structure
    found.emplace_back();
    return {0.0};
  }
  std::vector<double> value;
  struct Open {
    std::int32_t cell, rank;
  };
  std::vector<Open> open;
  for (const Entry& whole : ranked_[goal]) {
    const auto number = static_cast<std::int32_t>(value.size());
    value.push_back(whole.value);
    found.emplace_back();
    open.push_back({goal, number});
    while (!open.empty()) {
      const Open now = open.back();
      open.pop_back();
      if (now.cell < 0) continue;
      const ChartCell& c = plan.cells[now.cell];
      const Entry& e = ranked_[now.cell][now.rank];
      if (c.part >= 0) found.back().push_back({c.part, e.option});
      open.push_back({plan.owner[c.left + e.pair], e.left});
      open.push_back({plan.owner[c.right + e.pair], e.right});
    }
  }
  return value;
}

}  // namespace crfkit
