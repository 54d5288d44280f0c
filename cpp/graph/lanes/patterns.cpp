#include "graph/lanes/patterns.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/threads/parallel.hpp"
#include "graph/secret_hash.hpp"
#include "graph/union_find.hpp"

namespace crfkit {

namespace {

// 128 bits of a sequence of numbers, which nobody can choose so that those of others are the same.
struct Fingerprint {
  std::uint64_t low = secrets()[0], high = secrets()[1];

  void see(std::uint64_t x) {
    low ^= x;
    low = (low ^ (low >> 30)) * 0xbf58476d1ce4e5b9u;  // the rounds of splitmix64
    low = (low ^ (low >> 27)) * 0x94d049bb133111ebu;
    low ^= low >> 31;
    high = (std::rotl(high, 29) + x) * 0x9e3779b97f4a7c15u;
    high ^= high >> 32;
  }
  bool operator==(const Fingerprint&) const = default;
};

// Whether two components have the same pattern.
bool same_pattern(const Factors& f, const ConnectedParts& c, std::int64_t i, std::int64_t j) {
  const std::int64_t variables = c.variable_ptr[i + 1] - c.variable_ptr[i];
  const std::int64_t factors = c.factor_ptr[i + 1] - c.factor_ptr[i];
  if (variables != c.variable_ptr[j + 1] - c.variable_ptr[j] ||
      factors != c.factor_ptr[j + 1] - c.factor_ptr[j])
    return false;
  const std::int32_t* own = c.variable.data() + c.variable_ptr[i];
  const std::int32_t* other = c.variable.data() + c.variable_ptr[j];
  for (std::int64_t k = 0; k < variables; ++k)
    if (f.width[own[k]] != f.width[other[k]]) return false;
  for (std::int64_t k = 0; k < factors; ++k) {
    const std::int64_t a = c.factor_ptr[i] + k, b = c.factor_ptr[j] + k;
    if (c.group[a] != c.group[b]) return false;
    const FactorGroup& group = f.group[c.group[a]];
    const std::int32_t *scope = group.variables(c.factor[a]), *like = group.variables(c.factor[b]);
    for (int v = 0; v < group.arity; ++v)
      if (c.local[scope[v]] != c.local[like[v]]) return false;
  }
  return true;
}

}  // namespace

ConnectedParts::ConnectedParts(const Factors& f, std::int64_t most) : local(f.variables) {
  UnionFind joined(f.variables);
  for (std::int64_t g = 0; g < f.groups; ++g)
    joined.join_rows(f.group[g].scope, f.group[g].count, f.group[g].arity);
  of = std::move(joined).components();
  const std::int32_t count = of.empty() ? 0 : *std::max_element(of.begin(), of.end()) + 1;
  variable_ptr.assign(count + 1, 0);
  for (const std::int32_t c : of) ++variable_ptr[c + 1];
  accumulate(variable_ptr);
  variable.resize(f.variables);
  std::vector<std::int64_t> next(variable_ptr.begin(), variable_ptr.end() - 1);
  for (std::int64_t v = 0; v < f.variables; ++v) {
    local[v] = static_cast<std::int32_t>(next[of[v]] - variable_ptr[of[v]]);
    variable[next[of[v]]++] = static_cast<std::int32_t>(v);
  }
  factor_ptr.assign(count + 1, 0);
  bool any = false;
  for (std::int32_t c = 0; c < count; ++c) any |= variable_ptr[c + 1] - variable_ptr[c] <= most;
  if (!any) return;
  for (std::int64_t g = 0; g < f.groups; ++g)
    for (std::int64_t m = 0; m < f.group[g].count; ++m)
      ++factor_ptr[of[f.group[g].variables(m)[0]] + 1];
  accumulate(factor_ptr);
  factor.resize(factor_ptr.back());
  group.resize(factor_ptr.back());
  next.assign(factor_ptr.begin(), factor_ptr.end() - 1);
  for (std::int64_t g = 0; g < f.groups; ++g)
    for (std::int64_t m = 0; m < f.group[g].count; ++m) {
      const std::int64_t at = next[of[f.group[g].variables(m)[0]]]++;
      factor[at] = static_cast<std::int32_t>(m);
      group[at] = static_cast<std::int32_t>(g);
    }
}

std::vector<std::vector<std::int64_t>> patterns_of(const Factors& f, const ConnectedParts& c,
                                                   std::int64_t most, int threads) {
  const auto small = [&](std::int64_t i) {
    return c.variable_ptr[i + 1] - c.variable_ptr[i] <= most;
  };
  constexpr std::int64_t kPiece = 4096;  // components of one piece of work
  std::vector<Fingerprint> print(c.count());
  parallel_for((c.count() + kPiece - 1) / kPiece, threads, [&](std::int64_t piece) {
    const std::int64_t last = std::min(c.count(), (piece + 1) * kPiece);
    for (std::int64_t i = piece * kPiece; i < last; ++i) {
      if (!small(i)) continue;
      Fingerprint made;
      made.see(c.variable_ptr[i + 1] - c.variable_ptr[i]);
      for (std::int64_t k = c.variable_ptr[i]; k < c.variable_ptr[i + 1]; ++k)
        made.see(f.width[c.variable[k]]);
      for (std::int64_t k = c.factor_ptr[i]; k < c.factor_ptr[i + 1]; ++k) {
        const FactorGroup& group = f.group[c.group[k]];
        const std::int32_t* scope = group.variables(c.factor[k]);
        std::uint64_t term = static_cast<std::uint64_t>(c.group[k]);
        for (int a = 0; a < group.arity; ++a) {
          if (a && a % 4 == 0) made.see(term), term = 0;
          term = term << 8 | static_cast<std::uint64_t>(c.local[scope[a]]);
        }
        made.see(term);
      }
      print[i] = made;
    }
  });
  struct Hash {
    std::size_t operator()(const Fingerprint& one) const { return one.low; }
  };
  std::unordered_multimap<Fingerprint, std::size_t, Hash> seen;
  std::vector<std::vector<std::int64_t>> made;
  for (std::int64_t i = 0; i < c.count(); ++i) {
    if (!small(i)) continue;
    const auto [first, last] = seen.equal_range(print[i]);
    const auto known = std::find_if(
        first, last, [&](const auto& one) { return same_pattern(f, c, i, made[one.second][0]); });
    if (known == last) seen.emplace(print[i], made.size()), made.emplace_back();
    made[known == last ? made.size() - 1 : known->second].push_back(i);
  }
  return made;
}

}  // namespace crfkit
