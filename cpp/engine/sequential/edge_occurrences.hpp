// Edge attributes of the positions of chains, and the steps that each has weights for; checked
// once.
#pragma once

#include <optional>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "shared/rows.hpp"

namespace crfkit {

struct EdgeOccurrences {
  KeptPointers ptr;  // [P + 1]
  KeptIntegers attr;
  std::optional<KeptReals> value;
  KeptPointers row_ptr;  // weights of each edge attribute
  KeptIntegers cell;     // step of each, from * L + to

  EdgeOccurrences(const KeptPointers& ptr_, const KeptIntegers& attr_,
                  const std::optional<KeptReals>& value_, const KeptPointers& row_ptr_,
                  const KeptIntegers& cell_)
      : ptr(ptr_), attr(attr_), value(value_), row_ptr(row_ptr_), cell(cell_) {
    check_pointers(ptr, "edge ptr", static_cast<std::int64_t>(attr.size()));
    check_pointers(row_ptr, "edge row_ptr", static_cast<std::int64_t>(cell.size()));
    if (value && value->size() != attr.size()) refuse("edge value and attr differ in length");
  }

  std::int64_t positions() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
  std::int64_t attributes() const { return static_cast<std::int64_t>(row_ptr.size()) - 1; }
  std::int64_t weights() const { return static_cast<std::int64_t>(cell.size()); }
  Occurrences occurrences() const { return {ptr.data(), attr.data(), data_or_null(value)}; }
};

}  // namespace crfkit
