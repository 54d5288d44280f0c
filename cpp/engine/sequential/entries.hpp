// The occurrences of a batch as entries of live weights (live.hpp): for every position and shard
// the places of the rows that its attributes have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/linear/large_pages.hpp"
#include "engine/threads/parallel.hpp"
#include "shared/live.hpp"
#include "shared/rows.hpp"

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
          const std::vector<std::int64_t>& count, int threads = 1)
      : values_(o.value != nullptr) {
    const std::vector<std::int64_t> code = coded(place, count);
    std::vector<Piece> piece(std::max(threads, 1));
    const std::int64_t pieces = static_cast<std::int64_t>(piece.size());
    parallel_for(pieces, threads, [&](std::int64_t k) {
      piece[k].write(o, positions * k / pieces, positions * (k + 1) / pieces, code);
    });
    wide_ = std::move(piece[0].wide);
    cells_ = std::move(piece[0].cells);
    for (std::int64_t k = 1; k < pieces; ++k) {
      wide_.append(piece[k].wide);
      cells_.append(piece[k].cells);
    }
  }

  template <class Real>
  void show(LiveOf<Real>& live) const {
    live.shards = kShards;
    live.row_ptr = wide_.ptr.data();
    live.row = wide_.place.data();
    live.row_value = wide_.value.data();
    live.short_ptr = cells_.ptr.data();
    live.first = cells_.place.data();
    live.short_value = cells_.value.data();
    live.values = values_;
  }

 private:
  struct Lists {
    std::vector<std::int64_t> ptr;     // [P * K + 1]
    std::vector<std::uint32_t> place;  // row, or first cell
    std::vector<double> value;

    void reserve(std::int64_t positions, std::int64_t entries, bool values) {
      reserve_large(ptr, positions * kShards + 1);
      reserve_large(place, entries);
      if (values) reserve_large(value, entries);
      close();
    }
    void add(std::int64_t at, const double* x) {
      place.push_back(static_cast<std::uint32_t>(at));
      if (x) value.push_back(*x);
    }
    void close() { ptr.push_back(static_cast<std::int64_t>(place.size())); }
    // The lists of the positions that follow.
    void append(const Lists& next) {
      const std::int64_t before = static_cast<std::int64_t>(place.size());
      for (std::size_t i = 1; i < next.ptr.size(); ++i) ptr.push_back(before + next.ptr[i]);
      place.insert(place.end(), next.place.begin(), next.place.end());
      value.insert(value.end(), next.value.begin(), next.value.end());
    }
  };

  // The lists of some positions.
  struct Piece {
    Lists wide, cells;

    void write(const Occurrences& o, std::int64_t first, std::int64_t last,
               const std::vector<std::int64_t>& code) {
      const std::int64_t entries = o.ptr[last] - o.ptr[first];
      wide.reserve(last - first, entries, o.value != nullptr);
      cells.reserve(last - first, 0, false);
      struct Found {
        std::int64_t place;
        const double* value;
      };
      std::vector<Found> found[kShards];
      for (std::int64_t p = first; p < last; ++p) {
        for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
          const std::uint32_t a = static_cast<std::uint32_t>(o.attr[i]);
          if (a >= code.size() || code[a] < 0) continue;
          found[code[a] % kShards].push_back({code[a] / kShards, o.value ? o.value + i : nullptr});
        }
        for (std::vector<Found>& shard : found) {
          for (const Found& one : shard)
            (one.place & 1 ? cells : wide).add(one.place >> 1, one.value);
          wide.close();
          cells.close();
          shard.clear();
        }
      }
    }
  };

  // place * shards + shard of each attribute, -1 without a place: attributes in their order, each
  // to the shard with the least work so far.
  static std::vector<std::int64_t> coded(const std::vector<std::int64_t>& place,
                                         const std::vector<std::int64_t>& count) {
    std::int64_t work[kShards] = {};
    std::vector<std::int64_t> code(place.size(), -1);
    for (std::size_t a = 0; a < place.size(); ++a) {
      if (place[a] < 0) continue;
      const int k = static_cast<int>(std::min_element(work, work + kShards) - work);
      code[a] = place[a] * kShards + k;
      work[k] += count[a];
    }
    return code;
  }

  bool values_ = false;
  Lists wide_, cells_;
};

}  // namespace crfkit
