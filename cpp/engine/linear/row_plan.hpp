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
    bool rising = true;
    for (std::int64_t a = 0; a < attributes(); ++a) rising &= ptr.data()[a] <= ptr.data()[a + 1];
    for (std::int64_t a = 0; !rising && a < attributes(); ++a)
      if (ptr.data()[a + 1] < ptr.data()[a])
        refuse("the row of attribute " + text(a) + " has a negative length");
    check_length("the columns of a layout", column.size(), weights());
  }
  // Rows are short and of any length, so that loops over them are guessed wrong: columns may fall
  // as often as they do where a row begins.
  bool columns_rise() const {
    const std::int32_t* c = column.data();
    const std::int64_t n = weights();
    std::int64_t falls = 0, begins = 0;
    bool inside = true;
    for (std::int64_t k = 0; k < n; ++k) inside &= (c[k] >= 0) & (c[k] < width);
    for (std::int64_t k = 1; k < n; ++k) falls += c[k] <= c[k - 1];
    for (std::int64_t a = 0; n > 0 && a < attributes(); ++a) {
      const std::int64_t first = ptr.data()[a], k = std::min(first, n - 1);
      begins += (k > 0) & (ptr.data()[a + 1] > first) & (c[k] <= c[k - (k > 0)]);
    }
    return inside && falls == begins;
  }
  void check_columns() const {
    if (columns_rise()) return;
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
    const auto size = [this](std::int64_t a) { return ptr.data()[a + 1] - ptr.data()[a]; };
    const auto in_table = [&](std::int64_t a) { return (size(a) > kNarrow) & (size(a) < width); };
    std::int64_t full = 0, count = 0;
    for (std::int64_t a = 0; a < attributes(); ++a) full += size(a) == width, count += in_table(a);
    if (full == attributes()) return;
    if (count * step() * 8 <= budget) {
      wide.resize(count);
      for (std::int64_t a = 0, w = 0; w < count; ++a) {
        wide[w] = static_cast<std::int32_t>(a);
        w += in_table(a);
      }
    }
    place.resize(attributes());
    std::size_t w = 0;
    for (std::int64_t a = 0; a < attributes(); ++a) {
      const std::int64_t first = ptr.data()[a], n = size(a);
      const bool is_wide = !wide.empty() && in_table(a);
      const std::int64_t other =
          is_wide ? Place::wide(static_cast<std::int64_t>(w) * step()) : Place::narrow(first, n);
      place[a] = n == width ? Place::full(first) : other;
      w += is_wide;
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
