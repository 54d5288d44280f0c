// The best spanning trees: Chu & Liu (1965), Edmonds (1967) with a dense matrix that shrinks,
// O(n^2) as Tarjan (1977); further ones by dividing what is left: Lawler (1972).
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/trees/spanning.hpp"
#include "engine/trees/weights.hpp"
#include "shared/interrupts.hpp"

namespace crfkit {
namespace {

// An arc of the words, and its score among nodes, less scores that are given up for it.  Where only
// one root is allowed, trees are compared by their number of arcs from the root, then by score: as
// if a root cost more than any score.
struct Arc {
  double score = kNever;
  std::int32_t roots = 0;
  std::int32_t head = -1, word = -1;

  bool above(const Arc& b) const {
    if (score == kNever) return false;
    if (b.score == kNever) return true;
    return roots != b.roots ? roots < b.roots : score > b.score;
  }
};

class Contraction {
 public:
  explicit Contraction(const ArcScores& arcs) : n_(arcs.words), of_(n_), parent_(n_, -1) {
    const auto n = static_cast<std::int32_t>(n_);
    arc_.resize((n_ + 1) * n_);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j)
        at(i == j ? n : i, j) = {arcs.at(i, j), i == j && arcs.single_root, i, j};
    for (std::int32_t j = 0; j < n; ++j) of_[j] = j, live_.push_back(j);
  }

  // Makes cycles to nodes until the best arcs are a tree; false where a node has no arc.
  bool run() {
    best_.resize(n_);
    head_.resize(n_);
    for (const std::int32_t j : live_)
      if (!choose(j)) return false;
    std::vector<std::int32_t> seen(n_, -1);
    for (std::size_t first = 0; first < live_.size(); ++first) {
      std::int32_t j = live_[first];
      while (j != n_ && seen[j] < 0) seen[j] = live_[first], j = head_[j];
      if (j == n_ || seen[j] != live_[first]) continue;
      if (!contract(j)) return false;
      std::fill(seen.begin(), seen.end(), -1);
      first = static_cast<std::size_t>(-1);  // from the beginning: cycles are few
    }
    return true;
  }

  Heads heads() const {
    Heads found(n_, -1);
    std::vector<std::pair<std::int32_t, Arc>> open;  // a node, and the arc into it
    for (const std::int32_t j : live_) open.push_back({of_[j], best_[j]});
    while (!open.empty()) {
      const auto [node, arc] = open.back();
      open.pop_back();
      found[arc.word] = arc.head;
      for (std::int32_t x = arc.word; x != node; x = parent_[x])
        for (const Member& m : cycle_[parent_[x] - n_])
          if (m.node != x) open.push_back({m.node, m.arc});
    }
    return found;
  }

 private:
  struct Member {
    std::int32_t node;
    Arc arc;  // from the member before it
  };

  Arc& at(std::int64_t head, std::int64_t j) { return arc_[head * n_ + j]; }

  bool choose(std::int32_t j) {
    worked(static_cast<std::int64_t>(live_.size()));
    std::int32_t head = static_cast<std::int32_t>(n_);
    for (const std::int32_t i : live_)
      if (i != j && at(i, j).above(at(head, j))) head = i;
    best_[j] = at(head, j), head_[j] = head;
    return best_[j].score != kNever;
  }

  bool contract(std::int32_t start) {
    std::vector<std::int32_t> inside = {start};
    for (std::int32_t j = head_[start]; j != start; j = head_[j]) inside.push_back(j);
    const std::int32_t kept = *std::min_element(inside.begin(), inside.end());
    std::vector<char> in_cycle(n_, 0);
    std::vector<Member> members;
    const auto node = static_cast<std::int32_t>(parent_.size());
    for (const std::int32_t j : inside) {
      in_cycle[j] = 1;
      members.push_back({of_[j], best_[j]});
      parent_[of_[j]] = node;
    }
    parent_.push_back(-1);
    cycle_.push_back(std::move(members));
    std::vector<std::int32_t> rest;
    for (const std::int32_t j : live_)
      if (!in_cycle[j] || j == kept) rest.push_back(j);
    worked(static_cast<std::int64_t>(live_.size() * inside.size()));
    const auto enter = [&](std::int64_t head) {
      Arc most;
      for (const std::int32_t j : inside) {
        Arc arc = at(head, j);
        if (arc.score == kNever) continue;
        arc.score -= best_[j].score, arc.roots -= best_[j].roots;
        if (arc.above(most)) most = arc;
      }
      at(head, kept) = most;
    };
    enter(n_);
    for (const std::int32_t x : rest) {
      if (x == kept) continue;
      enter(x);
      Arc most;
      for (const std::int32_t j : inside)
        if (at(j, x).above(most)) most = at(j, x);
      at(kept, x) = most;
      if (head_[x] != n_ && in_cycle[head_[x]]) head_[x] = kept, best_[x] = most;
    }
    live_ = std::move(rest);
    of_[kept] = node;
    return choose(kept);
  }

  std::int64_t n_;
  std::vector<Arc> arc_;                    // [n + 1, n] (head, node); row n: the root
  std::vector<std::int32_t> of_;            // the node that an index stands for
  std::vector<std::int32_t> live_;          // indices that stand for nodes
  std::vector<Arc> best_;                   // of each index
  std::vector<std::int32_t> head_;          // where it comes from: an index, or n
  std::vector<std::int32_t> parent_;        // of words and nodes
  std::vector<std::vector<Member>> cycle_;  // of each node beyond the words
};

}  // namespace

double SpanningTrees::best(const ArcScores& arcs, Heads& heads) const {
  heads.clear();
  Contraction nodes(arcs);
  if (!nodes.run()) return kNever;
  heads = nodes.heads();
  double score = 0.0;
  std::int64_t roots = 0;
  for (std::int64_t j = 0; j < arcs.words; ++j) {
    score += arcs.at(heads[j], j);
    roots += heads[j] == j;
  }
  if (!arcs.single_root || roots <= 1) return score;
  heads.clear();
  return kNever;
}

std::vector<double> SpanningTrees::kbest(const ArcScores& arcs, std::int32_t options,
                                         std::int32_t k, std::vector<ChosenParts>& found) const {
  // Trees that have the arcs of `heads` for the words before `first`, and for that word none of the
  // best `skipped` options of each head; its best is `heads` with `option`.
  struct Share {
    double score;
    std::int64_t number;
    std::int32_t first;
    std::vector<std::int32_t> skipped, option;
    Heads heads;
  };
  const auto behind = [](const Share& a, const Share& b) {
    return a.score != b.score ? a.score < b.score : a.number > b.number;
  };
  const std::int64_t n = arcs.words;
  const auto score_of = [&](std::int64_t head, std::int64_t word, std::int32_t option) {
    return option < options ? arcs.score[(head * arcs.stride + word) * options + option] : kNever;
  };
  std::vector<Share> heap;
  std::int64_t number = 0;
  std::vector<double> score(n * n);
  const auto offer = [&](Share s) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        score[i * n + j] = j > s.first       ? score_of(i, j, 0)
                           : j == s.first    ? score_of(i, j, s.skipped[i])
                           : i == s.heads[j] ? score_of(i, j, s.option[j])
                                             : kNever;
    Heads heads;
    s.score = best({score.data(), n, n, arcs.single_root}, heads);
    if (s.score == kNever) return;
    for (std::int64_t j = s.first; j < n; ++j) s.option[j] = j == s.first ? s.skipped[heads[j]] : 0;
    s.heads = heads, s.number = number++;
    heap.push_back(std::move(s));
    std::push_heap(heap.begin(), heap.end(), behind);
  };
  found.clear();
  std::vector<double> value;
  offer({0.0, 0, 0, std::vector<std::int32_t>(n), std::vector<std::int32_t>(n), Heads(n)});
  while (!heap.empty() && static_cast<std::int32_t>(value.size()) < k) {
    std::pop_heap(heap.begin(), heap.end(), behind);
    const Share s = std::move(heap.back());
    heap.pop_back();
    value.push_back(s.score);
    ChosenParts& parts = found.emplace_back();
    for (std::int64_t j = 0; j < n; ++j)
      parts.push_back({static_cast<std::int32_t>(s.heads[j] * arcs.stride + j), s.option[j]});
    if (static_cast<std::int32_t>(value.size()) == k) break;
    for (std::int64_t j = s.first; j < n; ++j) {
      Share rest = s;
      rest.first = static_cast<std::int32_t>(j);
      if (j > s.first) std::fill(rest.skipped.begin(), rest.skipped.end(), 0);
      ++rest.skipped[s.heads[j]];
      offer(std::move(rest));
    }
  }
  return value;
}

}  // namespace crfkit
