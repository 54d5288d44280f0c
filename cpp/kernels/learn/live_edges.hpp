// The edge attributes of one sequence with live weights, as sums of packed lanes take them
// (edge_factors.hpp): every occurrence is a row of its own, whose weights are copied.
#pragma once

#include "kernels/linear/edge_factors.hpp"
#include "kernels/linear/live_rows.hpp"

namespace crfkit::CRFKIT_ARCH {

// Calls row(value) for the entries of a position, and cell(place in the table or -1, cell or -1,
// column) for the weights of each.  `marked` tables have the form of the weights, and kNoWeight
// where there are none: weights themselves may have become -0.
template <class OfRow, class OfCell>
inline void each_live_cell(const Live& w, const Live& marked, std::int64_t p, OfRow row,
                           OfCell cell) {
  const std::int64_t a = p * w.shards, b = a + w.shards;
  for (std::int64_t i = w.row_ptr[a]; i < w.row_ptr[b]; ++i) {
    row(w.values ? w.row_value[i] : 1.0);
    const std::int64_t at = static_cast<std::int64_t>(w.row[i]) * w.step;
    for (int j = 0; j < w.labels; ++j)
      if (!w.partial || has_weight(marked.table[at + j])) cell(at + j, -1, j);
  }
  for (std::int64_t i = w.short_ptr[a]; i < w.short_ptr[b]; ++i) {
    row(w.values ? w.short_value[i] : 1.0);
    std::int64_t c = w.first[i];
    do cell(-1, c, w.cell[c].column);
    while (!w.cell[c++].last);
  }
}

class LiveEdges {
 public:
  // Of positions [first, last); none at the first of them.  `scale` multiplies the weights; changes
  // go to tables `to` in the places of the weights.
  LiveEdges(const Live& w, const Live& to, double scale, std::int64_t first, std::int64_t last,
            int labels, Arena& arena)
      : w_(w), to_(to), first_(first), last_(last) {
    if (first == last) return;
    const std::int64_t T = last - first, entries = count(w.row_ptr) + count(w.short_ptr);
    std::int64_t cells = 0;
    for (std::int64_t p = first + 1; p < last; ++p)
      each_live_cell(w, to, p, [](double) {}, [&](std::int64_t, std::int64_t, int) { ++cells; });
    std::int64_t* ptr = arena.take<std::int64_t>(T + 1, 0);
    std::int32_t* attribute = arena.take<std::int32_t>(entries + 2 * kAhead, 0) + kAhead;
    EdgeCell* cell = arena.take<EdgeCell>(cells);
    double* weight = arena.take<double>(cells + kPad);
    EdgeRow* row = arena.take<EdgeRow>(entries + 1);
    row[0] = {0, 0, 0.0, 0.0};
    std::int64_t o = 0, k = 0;
    const int step = padded(labels);
    for (std::int64_t p = first + 1; p < last; ++p) {
      double factor = 0.0;
      each_live_cell(
          w, to, p,
          [&](double value) {
            attribute[o] = static_cast<std::int32_t>(o);
            row[o++] = {k, 0, 0.0, 0.0};
            factor = scale * value;
          },
          [&](std::int64_t at, std::int64_t c, int column) {
            const int from = column / labels, to = column % labels;
            cell[k] = {from * step + to, static_cast<std::int16_t>(from),
                       static_cast<std::int16_t>(to)};
            weight[k++] = factor * (at < 0 ? w.cell[c].weight : w.table[at]);
            ++row[o - 1].count;
          });
      ptr[p - first + 1] = o;
    }
    rows_ = {ptr,     attribute,
             nullptr, arena.take<std::int64_t>(entries + 1, -1),
             row,     cell,
             weight,  arena.take<double>(cells + kPad),
             nullptr, arena.take<double>(cells + kPad, 0.0)};
    finite_ = fill_factors(rows_, 0, o);
  }

  const EdgeRows& rows() const { return rows_; }
  bool finite() const { return finite_; }
  // What the gold labels score by these weights.
  double score(const std::int32_t* gold, int step) const {
    double sum = 0.0;
    for (std::int64_t t = 1; t < last_ - first_; ++t)
      for (std::int64_t o = rows_.ptr[t]; o < rows_.ptr[t + 1]; ++o)
        for (std::int64_t k = rows_.row[o].first; k < rows_.row[o].first + rows_.row[o].count; ++k)
          if (rows_.cell[k].at == gold[t - 1] * step + gold[t]) sum += rows_.weight[k];
    return sum;
  }

  // Adds gain * value * (gold - marginals).
  void add_changes(const std::int32_t* gold, int labels, double gain) const {
    std::int64_t k = 0;
    double each = 0.0;
    for (std::int64_t p = first_ + 1; p < last_; ++p) {
      const int right = gold[p - first_ - 1] * labels + gold[p - first_];
      each_live_cell(
          w_, to_, p, [&](double value) { each = gain * value; },
          [&](std::int64_t at, std::int64_t c, int column) {
            const double change = each * ((column == right) - rows_.gradient[k++]);
            (at < 0 ? to_.cell[c].weight : to_.table[at]) += change;
          });
    }
  }

 private:
  std::int64_t count(const std::int64_t* ptr) const {
    return first_ + 1 < last_ ? ptr[last_ * w_.shards] - ptr[(first_ + 1) * w_.shards] : 0;
  }

  const Live &w_, &to_;
  std::int64_t first_, last_;
  EdgeRows rows_ = {};
  bool finite_ = true;
};

}  // namespace crfkit::CRFKIT_ARCH
