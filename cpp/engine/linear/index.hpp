// Where each of some things occurs: the transpose of ids by position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/checks.hpp"
#include "shared/interrupts.hpp"
#include "shared/rows.hpp"

namespace crfkit {

// Occurrences by position, in the order of the sweep.
struct Lists {
  std::vector<std::int64_t> ptr{0};
  std::vector<std::int32_t> id;
  std::vector<double> value;  // or empty

  void add(std::int32_t i, const double* v) {
    id.push_back(i);
    if (v) value.push_back(*v);
  }
  void close() { ptr.push_back(static_cast<std::int64_t>(id.size())); }
  void reserve(std::int64_t positions, std::int64_t entries, bool values) {
    ptr.reserve(positions + 1);
    id.reserve(entries);
    if (values) value.reserve(entries);
  }
  std::int64_t positions() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
  Occurrences view() const {
    return {ptr.data(), id.data(), value.empty() ? nullptr : value.data()};
  }
};

// The positions of each thing, rising; kAhead entries more may be read.
struct Index {
  std::vector<std::int64_t> ptr;       // [things + 1]
  std::vector<std::int32_t> position;  // [nnz + kAhead]
  std::vector<double> value;           // [nnz] or empty

  Index() = default;
  // Ids outside [0, things) are unknown and ignored.
  Index(const Occurrences& o, std::int64_t positions, std::int64_t things) : ptr(things + 1, 0) {
    if (positions >= std::int64_t{1} << 31)
      refuse("a batch has 2^31 positions or more: use several");
    const std::uint64_t known = static_cast<std::uint64_t>(things);
    const auto id = [&](std::int64_t i) { return static_cast<std::uint32_t>(o.attr[i]); };
    for (std::int64_t i = 0; i < o.ptr[positions]; ++i)
      if (id(i) < known) ++ptr[id(i) + 1];
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    position.assign(ptr[things] + kAhead, 0);
    if (o.value) value.resize(ptr[things]);
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (std::int64_t p = 0; p < positions; ++p) {
      if (p % 1024 == 0) worked(o.ptr[std::min(p + 1024, positions)] - o.ptr[p]);
      for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
        if (id(i) >= known) continue;
        const std::int64_t at = next[id(i)]++;
        position[at] = static_cast<std::int32_t>(p);
        if (o.value) value[at] = o.value[i];
      }
    }
  }
  Index(const Lists& lists, std::int64_t things) : Index(lists.view(), lists.positions(), things) {}

  // One more position of the thing that `close` closes; `end` ends the last one.
  void add(std::int64_t p, const double* v) {
    position.push_back(static_cast<std::int32_t>(p));
    if (v) value.push_back(*v);
  }
  void close() { ptr.push_back(static_cast<std::int64_t>(position.size())); }
  void end() { position.resize(position.size() + kAhead, 0); }

  template <class Self, class Archive>
  static void each_part(Self& self, Archive& archive) {
    archive(self.ptr), archive(self.position), archive(self.value);
  }

  std::int64_t size() const { return ptr.empty() ? 0 : static_cast<std::int64_t>(ptr.size()) - 1; }
  std::int64_t count(std::int64_t i) const { return ptr[i + 1] - ptr[i]; }
  double value_at(std::int64_t i) const { return value.empty() ? 1.0 : value[i]; }
  Transposed view() const {
    return {ptr.data(), position.data(), value.empty() ? nullptr : value.data(), 0};
  }
};

}  // namespace crfkit
