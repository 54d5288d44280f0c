#include "graph/elimination/tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace crfkit {

ContractionTree::ContractionTree(const std::vector<std::int32_t>& width, const Scopes& leaves,
                                 const Joins& joins)
    : words_(static_cast<std::int64_t>(width.size() + 63) / 64),
      leaves_(static_cast<std::int32_t>(leaves.size())),
      node_(leaves.size() + joins.size()),
      set_(words_ * (node_.size() + 1)) {
  for (const std::int32_t n : width) bits_.push_back(std::log2(n));
  uniform_ = std::all_of(bits_.begin(), bits_.end(), [&](double b) { return b == bits_[0]; });
  for (std::size_t j = 0; j < joins.size(); ++j)
    node_[leaves.size() + j] = {joins[j].first, joins[j].second};
  const Scopes kept = kept_variables(width.size(), leaves, joins);
  for (std::size_t i = 0; i < kept.size(); ++i)
    for (const std::int32_t v : kept[i]) set_[i * words_ + v / 64] |= std::uint64_t{1} << (v % 64);
  root_ = static_cast<std::int32_t>(node_.size()) - 1;
}

Joins ContractionTree::joins() const {
  Joins made;
  std::vector<std::int32_t> name(node_.size()), stack = {root_};
  std::vector<std::uint8_t> open(node_.size());
  for (std::int32_t i = 0; i < leaves_; ++i) name[i] = i;
  while (!stack.empty()) {
    const std::int32_t i = stack.back();
    if (i < leaves_) {
      stack.pop_back();
    } else if (open[i]) {
      stack.pop_back();
      name[i] = leaves_ + static_cast<std::int32_t>(made.size());
      made.emplace_back(name[node_[i].left], name[node_[i].right]);
    } else {
      open[i] = 1;
      std::int32_t first = node_[i].left, second = node_[i].right;
      if (size(set(first)) < size(set(second))) std::swap(first, second);
      stack.push_back(second);
      stack.push_back(first);
    }
  }
  return made;
}

double ContractionTree::work() const {  // products of all nodes
  double total = 0.0;
  for (std::int32_t i = leaves_; i < static_cast<std::int32_t>(node_.size()); ++i)
    total += std::exp2(both(node_[i].left, node_[i].right));
  return total;
}

double ContractionTree::kept()
    const {  // cells of all nodes but those that take the place of a child
  double total = 0.0;
  for (std::int32_t i = leaves_; i < static_cast<std::int32_t>(node_.size()); ++i)
    if (!in_place(i)) total += std::exp2(size(set(i)));
  return total;
}

bool ContractionTree::in_place(std::int32_t i) const {
  return (node_[i].left >= leaves_ && same(i, node_[i].left)) ||
         (node_[i].right >= leaves_ && same(i, node_[i].right));
}

void ContractionTree::anneal(int passes, double hot, double cold, std::uint64_t seed) {
  seed_ = seed;
  const std::int32_t inner = static_cast<std::int32_t>(node_.size()) - leaves_;
  std::vector<Node> best = node_;
  std::vector<std::uint64_t> best_set = set_;
  double least = cost();
  for (int pass = 0; pass < passes; ++pass) {
    const double share = passes > 1 ? static_cast<double>(pass) / (passes - 1) : 1.0;
    const double beta = hot * std::pow(cold / hot, share);
    for (std::int32_t i = 0; i < inner; ++i) {
      const std::uint64_t chance = draw();
      move(leaves_ + static_cast<std::int32_t>(chance % static_cast<std::uint64_t>(inner)), beta,
           chance >> 40);
    }
    if (const double now = cost(); now < least) least = now, best = node_, best_set = set_;
  }
  node_ = std::move(best), set_ = std::move(best_set);
}

double ContractionTree::both(std::int32_t a, std::int32_t b) const {
  const std::uint64_t *x = set(a), *y = set(b);
  return size_by([&](std::int64_t w) { return x[w] | y[w]; });
}

std::uint64_t ContractionTree::draw() {
  std::uint64_t z = seed_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void ContractionTree::move(std::int32_t x, double beta, std::uint64_t chance) {
  std::int32_t y = node_[x].left, c = node_[x].right;
  if (chance & 1) std::swap(y, c);
  if (y < leaves_) std::swap(y, c);
  if (y < leaves_) return;
  std::int32_t a = node_[y].left, b = node_[y].right;
  if (chance & 2) std::swap(a, b);  // c takes the place of a
  const std::uint64_t *sa = set(a), *sb = set(b), *sc = set(c), *sx = set(x);
  std::uint64_t* fresh = set_.data() + static_cast<std::int64_t>(node_.size()) * words_;
  for (std::int64_t w = 0; w < words_; ++w) fresh[w] = (sc[w] | sb[w]) & (sa[w] | sx[w]);
  const double before =
      std::exp2(both(a, b)) + std::exp2(both(y, c)) + 2.0 * std::exp2(size(set(y)));
  const double after = std::exp2(both(c, b)) +
                       std::exp2(size_by([&](std::int64_t w) { return fresh[w] | sa[w]; })) +
                       2.0 * std::exp2(size(fresh));
  if (after > before) {
    const double unit = static_cast<double>(draw() >> 11) * 0x1p-53;
    if (unit >= std::pow(before / after, beta)) return;
  }
  std::copy_n(fresh, words_, set(y));
  node_[y] = {c, b};
  node_[x] = {y, a};
}

}  // namespace crfkit
