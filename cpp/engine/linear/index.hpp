// Lists of ids by position, and their transpose: the positions of each id.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

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
};

// Where each of some things occurs, by rising position; kAhead entries more may be read.
struct Index {
  std::vector<std::int64_t> ptr;
  std::vector<std::int32_t> position;
  std::vector<double> value;  // or empty

  Index() = default;
  Index(const Lists& lists, std::int64_t things) : ptr(things + 1, 0) {
    for (const std::int32_t i : lists.id) ++ptr[i + 1];
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    position.assign(lists.id.size() + kAhead, 0);
    value.resize(lists.value.size());
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (std::size_t p = 0; p + 1 < lists.ptr.size(); ++p) {
      for (std::int64_t i = lists.ptr[p]; i < lists.ptr[p + 1]; ++i) {
        const std::int64_t at = next[lists.id[i]]++;
        position[at] = static_cast<std::int32_t>(p);
        if (!value.empty()) value[at] = lists.value[i];
      }
    }
  }
  std::int64_t size() const { return ptr.empty() ? 0 : static_cast<std::int64_t>(ptr.size()) - 1; }
  std::int64_t count(std::int64_t i) const { return ptr[i + 1] - ptr[i]; }
  Transposed view() const {
    return {ptr.data(), position.data(), value.empty() ? nullptr : value.data(), 0};
  }
};

}  // namespace crfkit
