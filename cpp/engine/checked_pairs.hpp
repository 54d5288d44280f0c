// The steps that may score other than the common one (shared/problem.hpp), as arrays give them.
#pragma once

#include <optional>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "shared/problem.hpp"

namespace crfkit {

// Sources of each target rise.  Null pointers without arrays; `others`: there is more than order 1.
inline Pairs checked_pairs(const std::optional<KeptIntegers>& ptr,
                           const std::optional<KeptIntegers>& from, std::int64_t L, bool others) {
  if (ptr.has_value() != from.has_value()) refuse("pair_ptr and pair_from go together");
  if (!ptr) return {};
  if (others) refuse("pairs are for chains of order 1 without edge attributes");
  check_length("pair_ptr", ptr->size(), L + 1);
  const std::int64_t count = static_cast<std::int64_t>(from->size());
  if (ptr->data()[0] != 0 || ptr->data()[L] != count) refuse("pair_ptr does not fit pair_from");
  for (std::int64_t j = 0; j < L; ++j) {
    const std::int32_t first = ptr->data()[j], last = ptr->data()[j + 1];
    if (last < first || last > count) refuse("pair_ptr[" + text(j + 1) + "] is out of range");
    for (std::int32_t k = first; k < last; ++k) {
      const std::int32_t i = from->data()[k];
      if (i >= L || i <= (k > first ? from->data()[k - 1] : -1))
        refuse("pair_from[" + text(k) + "] is out of range or does not rise");
    }
  }
  return {count, ptr->data(), from->data()};
}

}  // namespace crfkit
