#include "graph/elimination/order.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/threads/parallel.hpp"

namespace crfkit {

namespace {

// The best order that was found; incomplete if the graph is hopelessly wide: messages of more than
// `most` cells, or too large to say.
Order core_order(const PrimalGraph& graph, double most, int threads) {
  using Rule = GreedyOrder::Rule;
  constexpr std::int64_t kFirst = std::int64_t{1} << 26;   // operations of one order
  constexpr std::int64_t kSearch = std::int64_t{1} << 24;  // of all
  constexpr int kOrders = 32, kRound = 4;
  const bool large = graph.size() > 100000;
  const Rule rules[kRound] = {Rule::weighted_fill, Rule::size, Rule::fill, Rule::weighted_fill};
  GreedyOrder first(graph, large ? Rule::size : Rule::fill, 0);
  Order best = first.run(most, 1e300, kFirst);
  std::int64_t done = first.operations();
  if (large) return best;
  for (int round = 0; round * kRound < kOrders; ++round) {
    // Searching is worth a share of what the sums will cost.
    const double worth = best.complete ? best.work / 16.0 : static_cast<double>(kSearch);
    if (static_cast<double>(done) > std::min(worth, static_cast<double>(kSearch))) break;
    Order found[kRound];
    std::int64_t spent[kRound];
    parallel_for(kRound, threads, [&](std::int64_t i) {
      GreedyOrder greedy(graph, rules[i], static_cast<std::uint64_t>(round * kRound + i + 1));
      found[i] = greedy.run(most, best.complete ? best.work : 1e300, kFirst);
      spent[i] = greedy.operations();
    });
    for (int i = 0; i < kRound; ++i) {
      done += spent[i];
      if (found[i].complete && (!best.complete || found[i].work < best.work))
        best = std::move(found[i]);
    }
  }
  return best;
}

}  // namespace

GreedyOrder::GreedyOrder(const PrimalGraph& graph, Rule rule, std::uint64_t seed)
    : bits_(graph.bits),
      near_(graph.near),
      rule_(rule),
      seed_(seed),
      fill_(graph.size()),
      size_(graph.size()),
      version_(graph.size()),
      gone_(graph.size()) {
  const std::int32_t n = graph.size();
  dense_ = n <= kDense && rule != Rule::size;
  stride_ = (n + 63) / 64;
  if (dense_) {
    matrix_.resize(stride_ * n);
    for (std::int32_t u = 0; u < n; ++u)
      for (const std::int32_t v : near_[u]) set(u, v);
  }
  weight_.resize(n);
  for (std::int32_t v = 0; v < n; ++v)
    weight_[v] = rule == Rule::weighted_fill ? std::exp2(0.5 * bits_[v]) : 1.0;
  for (std::int32_t v = 0; v < n; ++v) {
    for (const std::int32_t u : near_[v]) size_[v] += bits_[u];
    if (rule != Rule::size) fill_[v] = count_fill(v);
    push(v);
  }
}

Order GreedyOrder::run(double most, double bound, std::int64_t operations) {
  Order made;
  const std::int32_t n = static_cast<std::int32_t>(near_.size());
  while (static_cast<std::int32_t>(made.variable.size()) < n) {
    const std::int32_t x = pop();
    made.variable.push_back(x);
    made.cells += std::exp2(size_[x]);
    made.work += std::exp2(size_[x] + bits_[x]);
    if (made.cells > most || made.work > bound || done_ > operations) return made;
    eliminate(x);
  }
  made.complete = true;
  return made;
}

bool GreedyOrder::Candidate::operator<(
    const Candidate& other) const {  // the top of the queue is the largest
  if (cost != other.cost) return cost > other.cost;
  if (chance != other.chance) return chance > other.chance;
  return variable > other.variable;
}

bool GreedyOrder::adjacent(std::int32_t u, std::int32_t v) const {
  if (dense_) return matrix_[u * stride_ + v / 64] >> (v % 64) & 1;
  return std::binary_search(near_[u].begin(), near_[u].end(), v);
}

double GreedyOrder::count_fill(std::int32_t v) {
  const std::vector<std::int32_t>& near = near_[v];
  double total = 0.0;
  for (std::size_t i = 0; i < near.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!adjacent(near[i], near[j])) total += weight_[near[i]] * weight_[near[j]];
  done_ += static_cast<std::int64_t>(near.size() * near.size()) / 2;
  return total;
}

void GreedyOrder::push(std::int32_t v) {
  std::uint64_t z = seed_ + 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(v) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  const double cost = rule_ == Rule::size ? size_[v] : std::max(fill_[v], 0.0) + 1e-3 * size_[v];
  queue_.push({cost, seed_ == 0 ? 0 : z ^ (z >> 31), v, ++version_[v]});
  done_ += 8;
}

std::int32_t GreedyOrder::pop() {
  for (;;) {
    const Candidate top = queue_.top();
    queue_.pop();
    if (!gone_[top.variable] && top.version == version_[top.variable]) return top.variable;
  }
}

void GreedyOrder::eliminate(std::int32_t x) {
  gone_[x] = 1;
  const std::vector<std::int32_t> near = near_[x];
  touched_.assign(near.begin(), near.end());
  if (rule_ != Rule::size) {
    for (const std::int32_t u : near) {  // pairs with x
      for (const std::int32_t w : near_[u])
        if (w != x && !adjacent(w, x)) fill_[u] -= weight_[x] * weight_[w];
      done_ += static_cast<std::int64_t>(near_[u].size());
    }
  }
  for (const std::int32_t u : near) {
    std::vector<std::int32_t>& list = near_[u];
    list.erase(std::lower_bound(list.begin(), list.end(), x));
    if (dense_) clear(u, x);
    size_[u] -= bits_[x];
  }
  if (rule_ == Rule::size) {
    join(near);
  } else {
    for (std::size_t i = 0; i < near.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (!adjacent(near[i], near[j])) add(near[i], near[j]);
    done_ += static_cast<std::int64_t>(near.size() * near.size()) / 2;
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (const std::int32_t v : touched_) push(v);
  std::vector<std::int32_t>().swap(near_[x]);
}

void GreedyOrder::join(const std::vector<std::int32_t>& near) {
  std::vector<std::int32_t> merged;
  for (const std::int32_t u : near) {
    merged.clear();
    std::set_union(near_[u].begin(), near_[u].end(), near.begin(), near.end(),
                   std::back_inserter(merged));
    merged.erase(std::lower_bound(merged.begin(), merged.end(), u));
    done_ += static_cast<std::int64_t>(merged.size());
    if (merged.size() == near_[u].size()) continue;
    near_[u] = merged;
    size_[u] = 0.0;
    for (const std::int32_t w : merged) size_[u] += bits_[w];
  }
}

void GreedyOrder::add(std::int32_t u, std::int32_t v) {
  const double pair = weight_[u] * weight_[v];
  for (const std::int32_t w : near_[u]) {
    if (adjacent(w, v)) {
      fill_[w] -= pair;
      touched_.push_back(w);
    } else {
      fill_[u] += weight_[w] * weight_[v];
    }
  }
  for (const std::int32_t w : near_[v])
    if (!adjacent(w, u)) fill_[v] += weight_[w] * weight_[u];
  done_ += static_cast<std::int64_t>(near_[u].size() + near_[v].size());
  near_[u].insert(std::lower_bound(near_[u].begin(), near_[u].end(), v), v);
  near_[v].insert(std::lower_bound(near_[v].begin(), near_[v].end(), u), u);
  if (dense_) set(u, v), set(v, u);
  size_[u] += bits_[v];
  size_[v] += bits_[u];
}

Order find_order(const PrimalGraph& graph, double most, int threads) {
  const LowDegree low(graph);
  Order made = {low.order, low.cells, low.work, low.cells <= most};
  if (low.core.size() == 0 || !made.complete) return made;
  const Order core = core_order(low.core, most, threads);
  for (const std::int32_t v : core.variable) made.variable.push_back(low.variable[v]);
  made.cells += core.cells;
  made.work += core.work;
  made.complete = core.complete;
  return made;
}

}  // namespace crfkit
