// Chains whose scores lie in tensors of somebody else, as floats or doubles with any strides.
//
// Position n of sequence b is row `row(b, n)` of the tensor: n itself, the entry of an index (masks
// with holes), or `first[b] + n` (packed).  Sweeps read doubles side by side, so the rows of a few
// sequences at a time are copied out (chunk.hpp): as much as fits a cache, never the whole tensor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "shared/problem.hpp"

namespace crfkit {

// Rows of numbers that lie next to each other.
struct RowTensor {
  void* data = nullptr;
  bool wide = false;                              // doubles, else floats
  std::int64_t by_sequence = 0, by_position = 0;  // strides, in numbers

  explicit operator bool() const { return data != nullptr; }

  // Calls f(pointer to the first number of a row).
  template <class F>
  auto at(std::int64_t b, std::int64_t row, F f) const {
    const std::int64_t offset = b * by_sequence + row * by_position;
    return wide ? f(static_cast<double*>(data) + offset) : f(static_cast<float*>(data) + offset);
  }
};

struct TensorChains {
  std::int64_t sequences = 0;  // B
  std::int64_t places = 0;     // T of a padded tensor, P of a packed one
  int labels = 0, order = 1;
  RowTensor node;                        // rows of L
  RowTensor edge;                        // rows of L * L by position, or none: `tables` are shared
  bool between = false;                  // entry t of `edge` is the step from row t to row t + 1
  const std::int32_t* length = nullptr;  // [B]
  const std::int64_t* first = nullptr;   // [B], packed only
  const std::int32_t* index = nullptr;   // rows of T, or null
  std::int64_t index_step = 0;
  const double *start = nullptr, *stop = nullptr;  // [L]
  std::vector<const double*> tables;               // table h of [L, ..., L] with h + 1 axes

  std::int64_t row(std::int64_t b, std::int64_t n) const {
    return first ? first[b] + n : index ? index[b * index_step + n] : n;
  }
  std::int64_t edge_row(std::int64_t b, std::int64_t n) const { return row(b, n) - between; }

  // What all chunks have: everything but sequences and their rows.
  Problem problem() const {
    Problem p = {};
    p.shape = Shape::chain;
    p.labels = labels;
    p.order = order;
    p.start = start;
    p.stop = stop;
    for (std::size_t h = 0; h < tables.size(); ++h) p.edge[h] = tables[h];
    p.edge_step = edge ? static_cast<std::int64_t>(labels) * labels : 0;
    return p;
  }

  // Every row that a chain names exists.
  void check() const {
    for (std::int64_t b = 0; b < sequences; ++b) {
      const std::int64_t T = length[b], begin = first ? first[b] : 0;
      const auto at = [b](const char* name) { return std::string(name) + "[" + text(b) + "]"; };
      if (T < 0 || T > places)
        refuse(at("length") + " is " + text(T) + ", expected 0 to " + text(places));
      if (T > 0 && (begin < 0 || begin > places - T))
        refuse(at("first") + " is " + text(begin) + " with " + text(T) +
               " positions, but node has " + text(places) + " rows");
      for (std::int64_t n = 0; index && n < T; ++n)
        if (row(b, n) < (between && n > 0) || row(b, n) >= places)
          refuse(at("index") + "[" + text(n) + "] is " + text(row(b, n)) + ", expected " +
                 text(between && n > 0) + " to " + text(places - 1));
    }
  }

  // Sequences of a packed tensor have rows of their own, so that threads can write gradients there.
  void check_disjoint() const {
    if (!first) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (std::int64_t b = 0; b < sequences; ++b)
      if (length[b] > 0) spans.emplace_back(first[b], first[b] + length[b]);
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].first < spans[i - 1].second)
        refuse("two packed sequences share row " + text(spans[i].first) + " of node");
  }
};

// Labels at the rows of node.
struct LabelTensor {
  const std::int64_t* data = nullptr;
  std::int64_t by_sequence = 0, by_position = 0;

  std::int64_t at(std::int64_t b, std::int64_t row) const {
    return data[b * by_sequence + row * by_position];
  }

  // Every label of a chain is one, or says that it is not known.
  void check(const TensorChains& c) const {
    for (std::int64_t b = 0; b < c.sequences; ++b)
      for (std::int64_t n = 0; n < c.length[b]; ++n) {
        const std::int64_t row = c.row(b, n), label = at(b, row);
        if (label >= c.labels || (label < -1 && label != -100))
          refuse("sequence " + text(b) + ", position " + text(c.first ? n : row) +
                 ": the label is " + text(label) + ", expected 0 to " + text(c.labels - 1) +
                 ", or -1 or -100 where it is unknown");
      }
  }
};

// Copies scores, lowered by a number; false where one is NaN or +inf, which are not scores.
template <class Number>
bool copy_scores(const Number* from, std::int64_t n, double by, double* to) {
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(from[i]) - by;
    to[i] = x;
    bad |= !(x < std::numeric_limits<double>::infinity());
  }
  return !bad;
}

inline bool are_scores(const double* x, std::int64_t n) {
  return std::all_of(x, x + n,
                     [](double s) { return s < std::numeric_limits<double>::infinity(); });
}

}  // namespace crfkit
