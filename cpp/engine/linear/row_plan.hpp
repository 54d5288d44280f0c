// The rows of a layout, checked, and how each is read when scores are made.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "shared/padded.hpp"
#include "shared/rows.hpp"

namespace crfkit {

inline constexpr std::int64_t kNarrow = 1;  // weights of a narrow row, at the most; 4: 40 % slower

// Bytes of a table of so many weights, at the most: two weights of a row of 4,000 labels become 32
// KB, so that a small file of a stranger could ask for much memory.
constexpr std::int64_t most_table_bytes(std::int64_t weights) {
  return (std::int64_t{64} << 20) + 64 * 8 * weights;
}

inline constexpr int kWidest = 1 << Place::kCountBits;

// The rows of a layout and how each is read.
struct RowPlan {
  KeptPointers ptr;
  KeptIntegers column;
  int width;
  std::vector<std::int64_t> place;  // empty when every row is full
  std::vector<std::int32_t> wide;   // attributes with a row in the table

  RowPlan(int width_, KeptPointers ptr_, KeptIntegers column_, std::int64_t table_bytes)
      : ptr(std::move(ptr_)), column(std::move(column_)), width(width_) {
    if (width < 1 || width >= kWidest)
      refuse("a row has " + text(width) + " columns, expected 1 to " + text(kWidest - 1));
    if (attributes() >= std::int64_t{1} << 31) refuse("2^31 attributes or more");
    check_row_pointers();
    check_columns();
    plan(table_bytes);
  }

  std::int64_t attributes() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
  std::int64_t weights() const { return ptr.data()[attributes()]; }
  std::int64_t step() const { return padded(width); }
  std::int64_t table_bytes() const { return static_cast<std::int64_t>(wide.size()) * step() * 8; }

  Rows view(const double* weight, std::int64_t readable, const double* table) const {
    return {
        attributes(), width,    ptr.data(), column.data(), place.empty() ? nullptr : place.data(),
        weight,       readable, table};
  }

 private:
  void check_row_pointers() const {
    if (ptr.size() == 0 || ptr.data()[0] != 0) refuse("the rows of a layout must begin with 0");
    for (std::int64_t a = 0; a < attributes(); ++a)
      if (ptr.data()[a + 1] < ptr.data()[a])
        refuse("the row of attribute " + text(a) + " has a negative length");
    check_length("the columns of a layout", column.size(), weights());
  }
  void check_columns() const {
    for (std::int64_t a = 0; a < attributes(); ++a) {
      std::int32_t before = -1;
      for (std::int64_t k = ptr.data()[a]; k < ptr.data()[a + 1]; ++k) {
        if (column.data()[k] <= before || column.data()[k] >= width)
          refuse("weight " + text(k) + " of attribute " + text(a) + " is in column " +
                 text(column.data()[k]) + "; columns rise and lie in 0 to " + text(width - 1));
        before = column.data()[k];
      }
    }
  }
  void plan(std::int64_t budget) {
    budget = std::min(budget, most_table_bytes(weights()));
    std::int64_t full = 0;
    for (std::int64_t a = 0; a < attributes(); ++a) {
      const std::int64_t n = ptr.data()[a + 1] - ptr.data()[a];
      full += n == width;
      if (n > kNarrow && n < width) wide.push_back(static_cast<std::int32_t>(a));
    }
    if (full == attributes()) return;
    if (table_bytes() > budget) wide.clear();
    wide.shrink_to_fit();
    place.resize(attributes());
    std::size_t w = 0;
    for (std::int64_t a = 0; a < attributes(); ++a) {
      const std::int64_t first = ptr.data()[a], n = ptr.data()[a + 1] - first;
      if (n == width) {
        place[a] = Place::full(first);
      } else if (w < wide.size() && wide[w] == a) {
        place[a] = Place::wide(static_cast<std::int64_t>(w++) * step());
      } else {
        place[a] = Place::narrow(first, n);
      }
    }
  }
};

inline Occurrences occurrences(Pointers ptr, Integers attr, const std::optional<KeptReals>& value) {
  if (ptr.size() == 0) refuse("attr_ptr is empty; it needs a first entry 0");
  const std::int64_t P = static_cast<std::int64_t>(ptr.size()) - 1;
  check_pointers(ptr, "attr_ptr", static_cast<std::int64_t>(attr.size()));
  if (P >= std::int64_t{1} << 31) refuse("a batch has 2^31 positions or more: use several");
  if (value) check_length("value", value->size(), static_cast<std::int64_t>(attr.size()));
  return {ptr.data(), attr.data(), data_or_null(value)};
}

}  // namespace crfkit
