// How often factors appear in random spanning forests of the factor graph: the weights of
// tree-reweighted messages, Wainwright, Jaakkola & Willsky (2005).
#pragma once

#include <algorithm>

#include "graph/messages/places.hpp"

namespace crfkit {

// Forests are drawn, the factors that were used least first, until every factor was in one and
// there are `least` of them.  [F]: the share of the forests that a factor is in.
inline std::vector<double> edge_appearance(const Places& p, std::uint64_t seed, int least = 8) {
  const auto mixed = [](std::uint64_t x) {  // splitmix64, by counter
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  const std::int64_t F = p.factors();
  std::vector<std::int32_t> order(F), used(F, 0);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const std::uint64_t x = mixed(mixed(seed) + a), y = mixed(mixed(seed) + b);
    return x != y ? x < y : a < b;
  });
  std::vector<std::vector<std::int32_t>> pool = {order};  // factors by how often they were used
  Sets sets(p.variables());
  const std::int64_t whole = p.variables() - p.components();  // joins of a spanning forest
  int forests = 0;
  for (; !pool[0].empty() || (forests < least && F); ++forests) {
    sets.reset();
    std::int64_t joined = 0;
    std::vector<std::int32_t> taken;
    for (std::size_t uses = 0; uses < pool.size(); ++uses) {
      std::vector<std::int32_t> left, now;
      for (const std::int32_t f : pool[uses]) {
        const std::int32_t* m = p.member.data() + p.member_ptr[f];
        bool apart = joined < whole;
        for (std::int64_t a = 1; apart && a <= p.joins(f); ++a)
          for (std::int64_t b = 0; apart && b < a; ++b)
            apart = sets.of(p.variable[m[a]]) != sets.of(p.variable[m[b]]);
        if (apart) {
          for (std::int64_t a = 1; a <= p.joins(f); ++a)
            joined += sets.join(p.variable[m[0]], p.variable[m[a]]);
          ++used[f], now.push_back(f);
        } else {
          left.push_back(f);
        }
      }
      left.insert(left.end(), taken.begin(), taken.end());  // those that came up from below
      pool[uses].swap(left);
      taken.swap(now);
    }
    if (!taken.empty()) pool.push_back(std::move(taken));
  }
  std::vector<double> share(F);
  for (std::int64_t f = 0; f < F; ++f) share[f] = static_cast<double>(used[f]) / forests;
  return share;
}

}  // namespace crfkit
