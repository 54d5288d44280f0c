#include "graph/messages/places.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/checks.hpp"

namespace crfkit {

std::int32_t Sets::of(std::int32_t v) {
  while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
  return v;
}

bool Sets::join(std::int32_t u, std::int32_t v) {
  u = of(u), v = of(v);
  if (u == v) return false;
  parent_[std::max(u, v)] = std::min(u, v);
  return true;
}

Places::Places(const Factors& f) : width(f.width, f.width + f.variables) {
  number_factors(f);
  number_places(f);
  pack();
  find_components(f);
}

void Places::number_factors(const Factors& f) {
  member_ptr.push_back(0);
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& of = f.group[g];
    if (of.arity < 2) continue;
    for (std::int64_t m = 0; m < of.count; ++m) {
      group.push_back(static_cast<std::int32_t>(g));
      which.push_back(static_cast<std::int32_t>(m));
      member_ptr.push_back(member_ptr.back() + of.arity);
    }
    if (of.count) {
      sizes.members = std::max<std::int64_t>(sizes.members, of.arity);
      sizes.cells = std::max(sizes.cells, of.cells);
    }
  }
  if (member_ptr.back() > std::numeric_limits<std::int32_t>::max())
    refuse("more than 2^31 - 1 places of variables in factors");
}

void Places::number_places(const Factors& f) {
  const std::int64_t V = variables(), E = member_ptr.back();
  member.resize(E), variable.resize(E), factor.resize(E), partner.assign(E, -1);
  place_ptr.assign(V + 1, 0);
  for (std::int64_t i = 0; i < factors(); ++i) {
    const std::int32_t* scope = f.group[group[i]].variables(which[i]);
    for (std::int64_t a = 0; a <= joins(i); ++a) ++place_ptr[scope[a] + 1];
  }
  row_ptr.assign(V + 1, 0);
  for (std::int64_t v = 0; v < V; ++v) {
    sizes.widest = std::max<std::int64_t>(sizes.widest, width[v]);
    sizes.degree = std::max(sizes.degree, place_ptr[v + 1]);
    row_ptr[v + 1] = row_ptr[v] + (1 + place_ptr[v + 1]) * row_stride(width[v]);
    place_ptr[v + 1] += place_ptr[v];
  }
  std::vector<std::int64_t> next(place_ptr.begin(), place_ptr.end() - 1);
  for (std::int64_t i = 0; i < factors(); ++i) {
    const std::int32_t* scope = f.group[group[i]].variables(which[i]);
    const std::int64_t first = member_ptr[i], arity = joins(i) + 1;
    for (std::int64_t a = 0; a < arity; ++a) {
      const std::int32_t p = static_cast<std::int32_t>(next[scope[a]]++);
      member[first + a] = p, variable[p] = scope[a], factor[p] = static_cast<std::int32_t>(i);
    }
    if (arity == 2) {
      partner[member[first]] = member[first + 1];
      partner[member[first + 1]] = member[first];
    }
  }
}

void Places::pack() {
  for (std::int64_t v = 0; v < variables(); ++v) {
    const std::int32_t places = static_cast<std::int32_t>(place_ptr[v + 1] - place_ptr[v]);
    const bool many = places >= kHub;
    variables_packed.push_back({row_ptr[v], static_cast<std::int32_t>(place_ptr[v]), places,
                                width[v], many ? static_cast<std::int32_t>(hub.size()) : -1});
    if (many) hub.push_back(static_cast<std::int32_t>(v));
  }
  places_packed.resize(variable.size());
  for (std::int64_t i = 0; i < factors(); ++i) {
    for (std::int64_t k = member_ptr[i]; k < member_ptr[i + 1]; ++k) {
      const std::int32_t p = member[k], v = variable[p], other = partner[p];
      places_packed[p] = {row_ptr[v] + (1 + p - place_ptr[v]) * row_stride(width[v]),
                          v,
                          other < 0 ? -1 : variable[other],
                          other,
                          static_cast<std::int32_t>(i),
                          static_cast<std::int32_t>(k - member_ptr[i])};
    }
  }
}

void Places::find_components(const Factors& f) {
  const std::int64_t V = variables();
  Sets sets(V);
  for (std::int64_t i = 0; i < factors(); ++i)
    for (std::int64_t k = member_ptr[i] + 1; k < member_ptr[i + 1]; ++k)
      sets.join(variable[member[member_ptr[i]]], variable[member[k]]);
  component.assign(V, -1);
  std::vector<std::int64_t> spare;  // variables less one less joins: 0 if there is no cycle
  for (std::int32_t v = 0; v < V; ++v) {
    const std::int32_t root = sets.of(v);
    if (component[root] < 0) {
      component[root] = static_cast<std::int32_t>(graph.size());
      graph.push_back(f.graph[v]);
      spare.push_back(-1);
    }
    component[v] = component[root];
    ++spare[component[v]];
  }
  for (std::int64_t i = 0; i < factors(); ++i)
    spare[component[variable[member[member_ptr[i]]]]] -= joins(i);
  for (const std::int64_t left : spare) acyclic.push_back(left == 0);
}

}  // namespace crfkit
