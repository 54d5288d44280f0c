#include "engine/trees/chart.hpp"

#include <algorithm>
#include <cmath>

#include "shared/interrupts.hpp"

namespace crfkit {

const ChartPlan& Chart::open(TreeShape shape, std::int64_t height, std::int64_t width,
                             std::int64_t stride) {
  if (!plan_.make(shape, height, width, stride)) return plan_;
  value_.assign(plan_.places() + kChartSlack, kNever);
  for (const std::int32_t place : plan_.ones) value_[place] = 0.0;
  return plan_;
}

template <class Sum>
double Chart::fill(const double* scores, Sum sum) {
  for (const ChartLeaf& leaf : plan_.leaves) value_[leaf.place] = scores[leaf.part];
  for (const ChartRow& row : plan_.rows) {
    worked(16 + static_cast<std::int64_t>(row.lanes) * row.count);
    sum(value_.data(), row, plan_.terms.data() + row.first);
  }
  return value_[plan_.goal];
}

double Chart::sum(const double* scores) { return fill(scores, kernels_.sum); }

// From the whole structure to the leaves: what is expected of a cell is shared among its pairs by
// their probabilities, so that all numbers lie between 0 and 1.
void Chart::add_marginals(double* marginals) {
  if (value_[plan_.goal] == kNever) return;
  expected_.assign(value_.size(), 0.0);
  expected_[plan_.goal] = 1.0;
  for (std::size_t i = plan_.rows.size(); i-- > 0;) {
    const ChartRow& row = plan_.rows[i];
    worked(16 + 2 * static_cast<std::int64_t>(row.lanes) * row.count);
    kernels_.share(value_.data(), row, plan_.terms.data() + row.first, expected_.data());
  }
  for (const ChartLeaf& leaf : plan_.leaves) marginals[leaf.part] += expected_[leaf.place];
}

template <class Choose>
void Chart::trace(Choose choose, ChosenParts& found) const {
  found.clear();
  std::vector<std::int32_t> open = {plan_.goal};
  while (!open.empty()) {
    const std::int32_t place = open.back();
    open.pop_back();
    if (plan_.part[place] >= 0) found.push_back({plan_.part[place], 0});
    if (plan_.row_of[place] < 0) continue;
    const ChartRow& row = plan_.rows[plan_.row_of[place]];
    worked(8 + row.count);
    const std::int32_t lane = place - row.place;
    const ChartTerm* terms = plan_.terms.data() + row.first;
    const std::int32_t chosen = choose(place, row.count, [&](std::int32_t k) {
      return value_[terms[k].left + lane] + value_[terms[k].right + lane];
    });
    open.push_back(terms[chosen].left + lane);
    open.push_back(terms[chosen].right + lane);
  }
}

void Chart::draw(RandomStream& random, ChosenParts& found) const {
  trace(
      [&](std::int32_t place, std::int32_t count, auto pair) {
        if (count == 1) return 0;
        double rest = random.below(1.0);
        std::int32_t last = 0;
        for (std::int32_t k = 0; k < count; ++k) {
          const double chance = std::exp(pair(k) - value_[place]);
          if (chance == 0.0) continue;
          last = k;
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
      [&](std::int32_t place, std::int32_t, auto pair) {
        std::int32_t k = 0;
        while (pair(k) != value_[place]) ++k;
        return k;
      },
      found);
  return score;
}

// Huang & Chiang (2005), algorithm 2: of each pair its best first, then what follows those taken.
void Chart::rank(const ChartRow& row, std::int32_t lane, std::int32_t k,
                 std::vector<Entry>& made) const {
  const ChartTerm* terms = plan_.terms.data() + row.first;
  const auto behind = [](const Entry& a, const Entry& b) {
    if (a.value != b.value) return a.value < b.value;
    if (a.pair != b.pair) return a.pair > b.pair;
    return a.left != b.left ? a.left > b.left : a.right > b.right;
  };
  std::vector<Entry> heap;
  const auto offer = [&](std::int32_t pair, std::int32_t left, std::int32_t right) {
    const std::vector<Entry>& lefts = ranked_[terms[pair].left + lane];
    const std::vector<Entry>& rights = ranked_[terms[pair].right + lane];
    if (left >= static_cast<std::int32_t>(lefts.size())) return;
    if (right >= static_cast<std::int32_t>(rights.size())) return;
    heap.push_back({lefts[left].value + rights[right].value, pair, left, right});
    std::push_heap(heap.begin(), heap.end(), behind);
  };
  for (std::int32_t i = 0; i < row.count; ++i) offer(i, 0, 0);
  made.clear();
  while (!heap.empty() && static_cast<std::int32_t>(made.size()) < k) {
    std::pop_heap(heap.begin(), heap.end(), behind);
    const Entry e = heap.back();
    heap.pop_back();
    made.push_back(e);
    offer(e.pair, e.left, e.right + 1);
    if (!e.right) offer(e.pair, e.left + 1, 0);
  }
}

std::vector<double> Chart::kbest(const double* scores, std::int32_t options, std::int32_t k,
                                 std::vector<ChosenParts>& found) {
  ranked_.resize(std::max<std::size_t>(ranked_.size(), plan_.places()));
  for (std::vector<Entry>& list : ranked_) list.clear();
  for (const std::int32_t place : plan_.ones) ranked_[place].push_back({0.0, 0, 0, 0});
  for (const ChartLeaf& leaf : plan_.leaves)
    for (std::int32_t o = 0; o < std::min(options, k); ++o) {
      const double score = scores[static_cast<std::int64_t>(leaf.part) * options + o];
      if (score != kNever) ranked_[leaf.place].push_back({score, o, 0, 0});
    }
  for (const ChartRow& row : plan_.rows)
    for (std::int32_t lane = 0; lane < row.lanes; ++lane) {
      worked(16 + row.count + 16 * k);
      rank(row, lane, k, ranked_[row.place + lane]);
    }
  found.clear();
  std::vector<double> value;
  struct Open {
    std::int32_t place, rank;
  };
  std::vector<Open> open;
  for (const Entry& whole : ranked_[plan_.goal]) {
    open.push_back({plan_.goal, static_cast<std::int32_t>(value.size())});
    value.push_back(whole.value);
    found.emplace_back();
    while (!open.empty()) {
      const Open now = open.back();
      open.pop_back();
      const Entry& e = ranked_[now.place][now.rank];
      if (plan_.part[now.place] >= 0) found.back().push_back({plan_.part[now.place], e.pair});
      if (plan_.row_of[now.place] < 0) continue;
      const ChartRow& row = plan_.rows[plan_.row_of[now.place]];
      const ChartTerm& pair = plan_.terms[row.first + e.pair];
      const std::int32_t lane = now.place - row.place;
      open.push_back({pair.left + lane, e.left});
      open.push_back({pair.right + lane, e.right});
    }
  }
  return value;
}

}  // namespace crfkit
