// ConnectedParts of graphs, and which of them have the same pattern: as many variables with the
// same numbers of labels, and the same factors, in the same order, between the same ones of them.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/factors.hpp"

namespace crfkit {

struct ConnectedParts {
  std::vector<std::int32_t> of;            // [V] component of each variable
  std::vector<std::int64_t> variable_ptr;  // [C + 1]
  std::vector<std::int32_t> variable;      // [V] by component, then by number
  std::vector<std::int32_t> local;         // [V] place of a variable in its component
  std::vector<std::int64_t> factor_ptr;    // [C + 1]
  std::vector<std::int32_t> factor;        // within its group; by component, then by group
  std::vector<std::int32_t> group;         // of `factor`

  // Numbered by their first variables; no group may have more than 2^31 - 1 factors.
  // Without lists of factors where none has `most` variables or fewer.
  ConnectedParts(const Factors& f, std::int64_t most);

  void drop_what_only_patterns_need() { of = {}, local = {}, group = {}; }

  std::int64_t count() const { return static_cast<std::int64_t>(variable_ptr.size()) - 1; }

 private:
  static void accumulate(std::vector<std::int64_t>& counts) {
    for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
  }
};

// The components of each pattern, of those with `most` variables or fewer (256 at the most);
// patterns by their first components.
std::vector<std::vector<std::int64_t>> patterns_of(const Factors& f, const ConnectedParts& c,
                                                   std::int64_t most, int threads);

}  // namespace crfkit
