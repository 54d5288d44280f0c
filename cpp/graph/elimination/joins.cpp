#include "graph/elimination/joins.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace crfkit {

Joins joins_of(const std::vector<std::int32_t>& width, const Scopes& leaves,
               const std::vector<std::int32_t>& order) {
  Joins made;
  Scopes scope = leaves;
  std::vector<std::vector<std::int32_t>> at(width.size());  // tables of each variable
  std::vector<std::uint8_t> used(leaves.size());
  const auto enlist = [&](std::int32_t t) {
    for (const std::int32_t v : scope[t]) at[v].push_back(t);
  };
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(leaves.size()); ++t) enlist(t);
  const auto bits = [&](const std::vector<std::int32_t>& axis) {
    double total = 0.0;
    for (const std::int32_t v : axis) total += std::log2(width[v]);
    return total;
  };
  for (const std::int32_t x : order) {
    std::vector<std::int32_t> bucket;
    for (const std::int32_t t : at[x])
      if (!used[t]) bucket.push_back(t);
    const auto join = [&](std::int32_t a, std::int32_t b) {
      made.emplace_back(a, b);
      used[a] = used[b] = 1;
      used.push_back(0);
      scope.push_back(elimination::together(scope[a], scope[b]));
      return static_cast<std::int32_t>(scope.size()) - 1;
    };
    if (bucket.size() > 24) {  // the two smallest, until there are few
      using Sized = std::pair<double, std::int32_t>;
      std::priority_queue<Sized, std::vector<Sized>, std::greater<Sized>> queue;
      for (const std::int32_t t : bucket) queue.emplace(bits(scope[t]), t);
      while (queue.size() > 24) {
        const std::int32_t a = queue.top().second;
        queue.pop();
        const std::int32_t b = queue.top().second;
        queue.pop();
        const std::int32_t out = join(a, b);
        queue.emplace(bits(scope[out]), out);
      }
      for (bucket.clear(); !queue.empty(); queue.pop()) bucket.push_back(queue.top().second);
    }
    const bool joined = bucket.size() > 1;
    while (bucket.size() > 1) {  // the two whose product is smallest
      std::size_t first = 1, second = 0;
      double least = 1e300;
      for (std::size_t i = 0; i < bucket.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double size = bits(elimination::together(scope[bucket[i]], scope[bucket[j]]));
          if (size < least) least = size, first = i, second = j;
        }
      }
      bucket[second] = join(bucket[first], bucket[second]);
      bucket.erase(bucket.begin() + static_cast<std::ptrdiff_t>(first));
    }
    if (bucket.empty()) continue;
    std::vector<std::int32_t>& last = scope[bucket[0]];
    last.erase(std::lower_bound(last.begin(), last.end(), x));
    if (joined) enlist(bucket[0]);
  }
  return made;
}

Scopes kept_variables(std::size_t variables, const Scopes& leaves, const Joins& joins) {
  std::vector<std::int32_t> all(variables);  // leaves that have a variable
  for (const std::vector<std::int32_t>& leaf : leaves)
    for (const std::int32_t v : leaf) ++all[v];
  using Counted = std::vector<std::pair<std::int32_t, std::int32_t>>;  // variable, leaves inside
  std::vector<Counted> count(leaves.size() + joins.size());
  Scopes kept(count.size());
  const auto keep = [&](std::size_t t, std::pair<std::int32_t, std::int32_t> entry) {
    if (entry.second == all[entry.first]) return;
    count[t].push_back(entry);
    kept[t].push_back(entry.first);
  };
  for (std::size_t t = 0; t < leaves.size(); ++t)
    for (const std::int32_t v : leaves[t]) keep(t, {v, 1});
  for (std::size_t j = 0; j < joins.size(); ++j) {
    Counted &l = count[joins[j].first], &r = count[joins[j].second];
    std::size_t p = 0, q = 0;
    while (p < l.size() || q < r.size()) {
      if (q == r.size() || (p < l.size() && l[p].first < r[q].first)) {
        keep(leaves.size() + j, l[p++]);
      } else if (p == l.size() || r[q].first < l[p].first) {
        keep(leaves.size() + j, r[q++]);
      } else {
        keep(leaves.size() + j, {l[p].first, l[p].second + r[q].second});
        ++p, ++q;
      }
    }
    Counted().swap(l), Counted().swap(r);
  }
  return kept;
}

}  // namespace crfkit
