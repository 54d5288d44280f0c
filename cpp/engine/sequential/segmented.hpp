// What the rows of sequences stand for that are cut into segments (shared/live.hpp), and where
// their gold segments begin; checked once.
#pragma once

#include <string>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "shared/live.hpp"

namespace crfkit {

struct Segmented {
  KeptPointers position_ptr;  // [N + 1]
  KeptIntegers begin;         // [P] 1 where a gold segment begins, else 0
  KeptIntegers
      place;  // of each row of a segment: (first position in its sequence) * D + length - 1
  KeptIntegers length_cell;  // (length - 1) * L + label of each length that has a weight
  int longest;               // D
  bool begins, ends;         // whether begins and ends of segments have rows

  Segmented(const KeptPointers& position_ptr_, const KeptIntegers& begin_,
            const KeptIntegers& place_, const KeptIntegers& length_cell_, int longest_,
            bool begins_, bool ends_)
      : position_ptr(position_ptr_),
        begin(begin_),
        place(place_),
        length_cell(length_cell_),
        longest(longest_),
        begins(begins_),
        ends(ends_) {
    if (longest < 1) refuse("longest: expected 1 or more");
    check_pointers(position_ptr, "position_ptr", static_cast<std::int64_t>(begin.size()));
  }

  Segmentation view() const { return {position_ptr.data(), place.data(), longest, begins, ends}; }

  // Calls f(first, length) for the gold segments of a sequence, counted from its first position.
  template <class F>
  void visit_gold(std::int64_t n, F f) const {
    const std::int32_t* starts = begin.data() + position_ptr.data()[n];
    const std::int64_t T = view().positions(n);
    for (std::int64_t p = 0, end; p < T; p = end) {
      for (end = p + 1; end < T && !starts[end];) ++end;
      f(p, end - p);
    }
  }

  // Raises unless every row has a meaning and every gold segment fits.
  void check(Pointers seq_ptr, Integers label) const {
    if (seq_ptr.size() != position_ptr.size()) refuse("position_ptr: one more than sequences");
    const Segmentation s = view();
    const std::int64_t* row = seq_ptr.data();
    for (std::int64_t n = 0; n + 1 < static_cast<std::int64_t>(seq_ptr.size()); ++n) {
      const std::string which = " of sequence " + std::to_string(n);
      const std::int64_t T = s.positions(n), before = s.kinds() * s.position_ptr[n];
      if (row[n + 1] - row[n] < s.kinds() * T || (T == 0 && row[n] < row[n + 1]) ||
          row[n + 1] - s.kinds() * s.position_ptr[n + 1] > static_cast<std::int64_t>(place.size()))
        refuse("rows" + which + " do not match its positions");
      for (std::int64_t p = 0; p < T; ++p)
        if (label.data()[row[n] + p] < 0) refuse("a position" + which + " has no label");
      std::int32_t last = -1;
      for (std::int64_t i = row[n] - before; i < row[n + 1] - before - s.kinds() * T; ++i) {
        const std::int32_t at = place.data()[i];
        if (at <= last || at / longest + at % longest >= T)
          refuse("place[" + std::to_string(i) + "] lies outside" + which + ", or is not in order");
        last = at;
      }
      visit_gold(n, [&](std::int64_t, std::int64_t length) {
        if (length > longest) refuse("a gold segment" + which + " is longer than longest");
      });
    }
  }
};

}  // namespace crfkit
