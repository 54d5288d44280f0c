// Which factors a variable is in.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/factors.hpp"

namespace crfkit {

struct Incidence {
  std::vector<std::int64_t> ptr;  // [V + 1]
  std::vector<Incident> entry;    // of each variable: by group, then by factor

  explicit Incidence(const Factors& f) : ptr(f.variables + 1) {
    for (std::int64_t g = 0; g < f.groups; ++g)
      for (std::int64_t i = 0; i < f.group[g].count * f.group[g].arity; ++i)
        ++ptr[f.group[g].scope[i] + 1];
    for (std::int64_t v = 0; v < f.variables; ++v) ptr[v + 1] += ptr[v];
    entry.resize(ptr.back());
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (std::int64_t g = 0; g < f.groups; ++g)
      for (std::int64_t m = 0; m < f.group[g].count; ++m)
        for (int a = 0; a < f.group[g].arity; ++a)
          entry[next[f.group[g].variables(m)[a]]++] = {static_cast<std::int32_t>(g), a, m};
  }
};

}  // namespace crfkit
