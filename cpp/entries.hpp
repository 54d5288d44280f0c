// The occurrences of a batch as entries of live weights (live.hpp): for every position and shard
// the places of the rows that its attributes have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "live.hpp"
#include "rows.hpp"
#include "table.hpp"

namespace crfkit {

// How often each of A attributes occurs.
inline std::vector<std::int64_t> count_occurrences(const Occurrences& o, std::int64_t positions,
                                                   std::int64_t attributes) {
  std::vector<std::int64_t> count(attributes, 0);
  for (std::int64_t i = 0; i < o.ptr[positions]; ++i)
    if (static_cast<std::uint32_t>(o.attr[i]) < static_cast<std::uint64_t>(attributes))
      ++count[o.attr[i]];
  return count;
}

class Entries {
 public:
  static constexpr int kShards = 2;

  Entries() = default;
  // `place` [A]: 2 * row, or 2 * first cell + 1, or below 0 for attributes without either.
  Entries(const Occurrences& o, std::int64_t positions, const std::vector<std::int64_t>& place,
          const std::vector<std::int64_t>& count)
      : values_(o.value != nullptr) {
    choose_shards(place, count);
    write(o, positions, place);
    shard_ = {};
  }

  template <class Real>
  void show(LiveOf<Real>& live) const {
    live.shards = kShards;
    live.row_ptr = wide_.ptr.data();
    live.row = wide_.place.data();
    live.row_value = wide_.value.data();
    live.short_ptr = short_.ptr.data();
    live.first = short_.place.data();
    live.short_value = short_.value.data();
    live.values = values_;
  }

 private:
  struct Lists {
    std::vector<std::int64_t> ptr;     // [P * K + 1]
    std::vector<std::uint32_t> place;  // row, or first cell
    std::vector<double> value;

    void add(std::int64_t at, const double* x) {
      place.push_back(static_cast<std::uint32_t>(at));
      if (x) value.push_back(*x);
    }
    void append(Lists& later) {
      place.insert(place.end(), later.place.begin(), later.place.end());
      value.insert(value.end(), later.value.begin(), later.value.end());
      later.place.clear();
      later.value.clear();
    }
    void close() { ptr.push_back(static_cast<std::int64_t>(place.size())); }
  };

  // Attributes in their order, each to the shard with the least work so far.
  void choose_shards(const std::vector<std::int64_t>& place,
                     const std::vector<std::int64_t>& count) {
    std::int64_t work[kShards] = {};
    shard_.assign(place.size(), 0);
    for (std::size_t a = 0; a < place.size(); ++a) {
      if (place[a] < 0) continue;
      const int k = static_cast<int>(std::min_element(work, work + kShards) - work);
      shard_[a] = static_cast<std::uint8_t>(k);
      work[k] += count[a];
    }
  }

  void write(const Occurrences& o, std::int64_t positions, const std::vector<std::int64_t>& place) {
    for (Lists* lists : {&wide_, &short_}) {
      reserve_large(lists->ptr, positions * kShards + 1);
      lists->close();
    }
    reserve_large(wide_.place, o.ptr[positions]);
    Lists later[2][kShards];  // of the other shards of one position
    for (std::int64_t p = 0; p < positions; ++p) {
      for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
        const std::uint32_t a = static_cast<std::uint32_t>(o.attr[i]);
        if (a >= place.size() || place[a] < 0) continue;
        const bool cells = place[a] & 1;
        Lists& to = shard_[a] ? later[cells][shard_[a]] : cells ? short_ : wide_;
        to.add(place[a] >> 1, o.value ? o.value + i : nullptr);
      }
      for (int k = 0; k < kShards; ++k) {
        if (k > 0) {
          wide_.append(later[0][k]);
          short_.append(later[1][k]);
        }
        wide_.close();
        short_.close();
      }
    }
  }

  bool values_ = false;
  Lists wide_, short_;
  std::vector<std::uint8_t> shard_;  // [A], while entries are written
};

}  // namespace crfkit
