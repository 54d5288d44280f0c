#include "graph/messages/forests.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace crfkit {

Shares::Shares(const Places& p, bool apart) : of(p.components(), 0), component_ptr{0} {
  std::vector<std::int64_t> places(p.components(), 0);
  for (const std::int32_t v : p.variable) ++places[p.component[v]];
  std::int64_t filled = 0;
  for (std::int64_t c = 0; c < p.components(); ++c) {
    if (apart && filled >= kPlaces) component_ptr.push_back(c), filled = 0;
    of[c] = static_cast<std::int32_t>(component_ptr.size()) - 1, filled += places[c];
  }
  component_ptr.push_back(p.components());
  variable_ptr.assign(count() + 1, 0);
  for (const std::int32_t c : p.component) ++variable_ptr[of[c] + 1];
  for (std::int64_t s = 0; s < count(); ++s) {
    most = std::max(most, variable_ptr[s + 1]);
    variable_ptr[s + 1] += variable_ptr[s];
  }
  variable.resize(p.variables());
  std::vector<std::int64_t> at(variable_ptr.begin(), variable_ptr.end() - 1);
  for (std::int32_t v = 0; v < p.variables(); ++v) variable[at[of[p.component[v]]]++] = v;
}

Covering::Covering(const Places& places, const Shares& shares)
    : p_(places), shares_(shares), sets_(places.variables()) {
  const std::vector<std::int64_t> step = regular_steps();
  std::vector<std::int32_t> left(p_.factors());
  std::iota(left.begin(), left.end(), 0);
  const auto put = [&](auto wanted) {
    std::vector<std::int32_t> chosen, rest;
    sets_.reset();
    for (const std::int32_t f : left)
      (wanted(f) && closes_no_cycle(f) ? chosen : rest).push_back(f);
    left.swap(rest);
    if (!chosen.empty()) forest.push_back(stages(chosen));
  };
  put([&](std::int32_t f) { return tree(f) || (!step.empty() && step_of(f) == step[0]); });
  for (std::size_t i = 1; i < step.size(); ++i)
    put([&](std::int32_t f) { return step_of(f) == step[i]; });
  while (!left.empty()) {
    if (forest.size() >= kMost) {
      forest.clear();
      return;
    }
    put([](std::int32_t) { return true; });
  }
}

std::int64_t Covering::step_of(std::int64_t f) const {
  if (p_.joins(f) != 1 || tree(f)) return 0;
  const std::int32_t* pair = p_.member.data() + p_.member_ptr[f];
  return std::abs(p_.variable[pair[0]] - p_.variable[pair[1]]);
}

std::vector<std::int64_t> Covering::regular_steps() const {
  std::vector<std::int64_t> count(p_.variables());
  std::int64_t pairs = 0;
  for (std::int64_t f = 0; f < p_.factors(); ++f)
    if (const std::int64_t step = step_of(f)) ++count[step], ++pairs;
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step < p_.variables(); ++step)
    if (5 * count[step] >= pairs && count[step] > 2) steps.push_back(step);
  return steps;
}

bool Covering::closes_no_cycle(std::int32_t f) {
  const std::int32_t* m = p_.member.data() + p_.member_ptr[f];
  const std::int64_t arity = p_.joins(f) + 1;
  for (std::int64_t a = 1; a < arity; ++a)
    for (std::int64_t b = 0; b < a; ++b)
      if (sets_.of(p_.variable[m[a]]) == sets_.of(p_.variable[m[b]])) return false;
  for (std::int64_t a = 1; a < arity; ++a) sets_.join(p_.variable[m[0]], p_.variable[m[a]]);
  return true;
}

std::vector<Covering::Sent> Covering::leaves_first(const std::vector<std::int32_t>& chosen) const {
  const std::int64_t V = p_.variables();
  std::vector<std::int32_t> open(V, 0), edges(V, 0);  // places left, and the xor of these
  std::vector<std::int32_t> waits(p_.factors(), 0);   // variables of a factor that are not leaves
  for (const std::int32_t f : chosen) {
    waits[f] = static_cast<std::int32_t>(p_.joins(f) + 1);
    for (std::int64_t i = p_.member_ptr[f]; i < p_.member_ptr[f + 1]; ++i)
      ++open[p_.variable[p_.member[i]]], edges[p_.variable[p_.member[i]]] ^= p_.member[i];
  }
  std::vector<std::int32_t> leaf, next;
  for (std::int32_t v = 0; v < V; ++v)
    if (open[v] == 1) leaf.push_back(v);
  std::vector<Sent> sent;
  std::vector<std::uint8_t> ready(V, 0);
  for (std::int32_t round = 0; !leaf.empty(); ++round, leaf.swap(next), next.clear()) {
    for (const std::int32_t v : leaf) {
      if (open[v] != 1) continue;  // the root of its tree
      ready[v] = 1;
      const std::int32_t f = p_.factor[edges[v]];
      if (--waits[f] != 1) continue;
      for (std::int64_t i = p_.member_ptr[f]; i < p_.member_ptr[f + 1]; ++i) {
        const std::int32_t u = p_.variable[p_.member[i]];
        if (ready[u]) continue;
        sent.push_back({p_.member[i], round});
        edges[u] ^= p_.member[i];
        if (--open[u] == 1) next.push_back(u);
      }
    }
  }
  return sent;
}

Forest Covering::stages(const std::vector<std::int32_t>& chosen) {
  const std::vector<Sent> sent = leaves_first(chosen);
  const auto root = [&](const Sent& s) { return sets_.of(p_.variable[s.place]); };
  // Blocks of whole trees of one share and about equal numbers of messages, by the first variable
  // of a tree.
  std::vector<std::int64_t> size(p_.variables(), 0);
  for (const Sent& s : sent) ++size[root(s)];
  const std::int64_t total = static_cast<std::int64_t>(sent.size()),
                     wanted = std::max<std::int64_t>(total / 128, 512);
  std::vector<std::int32_t> block_of(p_.variables(), 0);
  Forest made;
  std::int32_t blocks = 0;
  for (std::int64_t s = 0; s < shares_.count(); ++s) {
    made.share_ptr.push_back(blocks);
    std::int64_t filled = wanted;
    for (std::int64_t i = shares_.variable_ptr[s]; i < shares_.variable_ptr[s + 1]; ++i) {
      const std::int32_t v = shares_.variable[i];
      if (!size[v]) continue;
      if (filled >= wanted) ++blocks, filled = 0;
      block_of[v] = blocks - 1, filled += size[v];
    }
  }
  made.share_ptr.push_back(blocks);
  std::vector<std::int32_t> rounds(blocks, 0);
  for (const Sent& s : sent) {
    std::int32_t& most = rounds[block_of[root(s)]];
    most = std::max(most, s.round + 1);
  }
  std::vector<std::int64_t> base(blocks);  // first stage
  std::int64_t stage = 0;
  for (std::int32_t b = 0; b < blocks; ++b) {
    base[b] = stage;
    made.block.push_back({stage, stage += 2 * rounds[b]});
  }
  made.stage_ptr.assign(stage + 1, 0);
  const auto up = [&](const Sent& s) { return base[block_of[root(s)]] + s.round; };
  const auto down = [&](const Sent& s) {
    const std::int32_t b = block_of[root(s)];
    return base[b] + 2 * rounds[b] - 1 - s.round;
  };
  for (const Sent& s : sent) {
    ++made.stage_ptr[up(s) + 1];
    made.stage_ptr[down(s) + 1] += p_.joins(p_.factor[s.place]);
  }
  for (std::int64_t i = 0; i < stage; ++i) made.stage_ptr[i + 1] += made.stage_ptr[i];
  made.place.resize(made.stage_ptr.back());
  std::vector<std::int64_t> at(made.stage_ptr.begin(), made.stage_ptr.end() - 1);
  for (const Sent& s : sent) {
    made.place[at[up(s)]++] = s.place;
    const std::int32_t f = p_.factor[s.place];
    for (std::int64_t i = p_.member_ptr[f]; i < p_.member_ptr[f + 1]; ++i)
      if (p_.member[i] != s.place) made.place[at[down(s)]++] = p_.member[i];
  }
  return made;
}

Order::Order(const Places& p) {
  const std::int64_t V = p.variables();
  std::vector<std::int32_t> level(V, 0);
  std::int32_t top = 0;
  for (std::int32_t v = 0; v < V; ++v) {
    for (std::int64_t e = p.place_ptr[v]; e < p.place_ptr[v + 1]; ++e) {
      const std::int32_t f = p.factor[e];
      for (std::int64_t i = p.member_ptr[f]; i < p.member_ptr[f + 1]; ++i) {
        const std::int32_t u = p.variable[p.member[i]];
        if (u < v) level[v] = std::max(level[v], level[u] + 1);
      }
    }
    top = std::max(top, level[v]);
  }
  level_ptr.assign(top + 2, 0);
  for (const std::int32_t l : level) ++level_ptr[l + 1];
  for (std::int32_t l = 0; l <= top; ++l) level_ptr[l + 1] += level_ptr[l];
  variable.resize(V);
  std::vector<std::int64_t> at(level_ptr.begin(), level_ptr.end() - 1);
  for (std::int32_t v = 0; v < V; ++v) variable[at[level[v]]++] = v;
  ahead.assign(p.variable.size(), -1), behind.assign(p.variable.size(), -1);
  std::vector<std::int32_t> member;
  for (std::int64_t f = 0; f < p.factors(); ++f) {
    member.assign(p.member.begin() + p.member_ptr[f], p.member.begin() + p.member_ptr[f + 1]);
    std::sort(member.begin(), member.end(), [&](std::int32_t a, std::int32_t b) {
      return level[p.variable[a]] < level[p.variable[b]];
    });
    for (std::size_t i = 1; i < member.size(); ++i)
      ahead[member[i - 1]] = member[i], behind[member[i]] = member[i - 1];
  }
}

}  // namespace crfkit
