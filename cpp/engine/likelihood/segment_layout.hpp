// Where the rows of segments lie, group by group: made once.
//
// Given are the rows of positions, then those of positions as beginnings and as ends, where there
// are such, then those of single segments by rising place.  A group has them in the same order,
// for its own positions; the sweep finds those of segments by where they begin and where they end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shared/evaluation.hpp"

namespace crfkit {

// What is known of the rows beyond those of the P positions.
struct SegmentPlaces {
  int longest;                // D; 0: a chain, which has none
  bool begins, ends;          // whether P rows of beginnings, and P of ends, follow
  std::int64_t count;         // single segments
  const std::int64_t* place;  // [count] p * D + d - 1 of the segment of d positions from p on
};

class SegmentLayout {
 public:
  SegmentLayout() = default;
  explicit SegmentLayout(const SegmentPlaces& given)
      : longest_(given.longest), begins_(given.begins), ends_(given.ends) {}

  int longest() const { return longest_; }
  std::int64_t nodes() const { return static_cast<std::int64_t>(begin_ptr_.size()) - 1; }

  // Adds the rows of a group to `source`, where those of its positions lie from `first` on.
  // `P`: all positions; `found` [P] is scratch.
  void add_group(const SegmentPlaces& given, std::int64_t P, std::int64_t first,
                 std::vector<std::int32_t>* source, std::vector<std::int32_t>* found) {
    const std::int64_t here = static_cast<std::int64_t>(source->size()) - first;
    node_.push_back(nodes());
    for (std::int64_t i = 0; i < here; ++i)
      (*found)[(*source)[first + i]] = static_cast<std::int32_t>(i);
    std::int64_t base = P;
    for (const bool has : {begins_, ends_}) {
      for (std::int64_t i = 0; has && i < here; ++i)
        source->push_back(static_cast<std::int32_t>(base + (*source)[first + i]));
      base += has ? P : 0;
    }
    struct Ending {
      std::int32_t end;
      SegmentRow row;
    };
    std::vector<Ending> ending;
    for (std::int64_t i = 0; i < here; ++i) {
      const std::int64_t p = (*source)[first + i];
      const std::int64_t* next =
          std::lower_bound(given.place, given.place + given.count, p * longest_);
      for (; next < given.place + given.count && *next < (p + 1) * longest_; ++next) {
        const std::int32_t d = static_cast<std::int32_t>(*next % longest_);
        const SegmentRow row{d + 1, static_cast<std::int32_t>(source->size() - first)};
        source->push_back(static_cast<std::int32_t>(base + (next - given.place)));
        by_begin_.push_back(row);
        ending.push_back({(*found)[p + d], row});
      }
      begin_ptr_.push_back(static_cast<std::int64_t>(by_begin_.size()));
    }
    std::sort(ending.begin(), ending.end(), [](const Ending& a, const Ending& b) {
      return a.end != b.end ? a.end < b.end : a.row.length < b.row.length;
    });
    auto next = ending.begin();
    for (std::int32_t i = 0; i < here; ++i) {
      for (; next != ending.end() && next->end == i; ++next) by_end_.push_back(next->row);
      end_ptr_.push_back(static_cast<std::int64_t>(by_end_.size()));
    }
  }

  // `length` [D, L]: the scores of lengths.
  SegmentRows view(const double* length, bool counted) const {
    return {longest_,     begins_,           ends_,           length,           counted,
            node_.data(), begin_ptr_.data(), end_ptr_.data(), by_begin_.data(), by_end_.data()};
  }

  template <class Self, class Archive>
  static void each_part(Self& self, Archive& archive) {
    const auto each = [&](auto&... parts) { (archive(parts), ...); };
    each(self.longest_, self.begins_, self.ends_, self.node_, self.begin_ptr_, self.end_ptr_,
         self.by_begin_, self.by_end_);
  }

 private:
  int longest_ = 0;
  bool begins_ = false, ends_ = false;
  std::vector<std::int64_t> node_;                       // [groups] positions before each
  std::vector<std::int64_t> begin_ptr_{0}, end_ptr_{0};  // [positions + 1]
  std::vector<SegmentRow> by_begin_, by_end_;
};

}  // namespace crfkit
