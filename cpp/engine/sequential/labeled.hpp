// Labeled sequences and the places of their weights, as methods take them that learn sequence by
// sequence; checked once.
//
// Weights lie in the order of the layout: attribute by attribute, edge attribute by edge attribute,
// transitions, start, stop, lengths. A chain has a row of scores for each position; segments have
// further ones (segmented.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "engine/sequential/edge_occurrences.hpp"
#include "engine/sequential/segmented.hpp"
#include "shared/rows.hpp"

namespace crfkit {

struct Labeled {
  KeptPointers seq_ptr, attr_ptr;
  KeptIntegers attr;
  std::optional<KeptReals> value;
  KeptIntegers label;  // of each row; -1 for a row that the gold does not have, segments only
  int labels;          // L
  KeptPointers row_ptr;
  KeptIntegers column, transition_cell;
  bool start, stop;
  std::optional<KeptReals> share;  // [N] weights of the sequences
  // [(tables + 2) * L] 0 or -inf for transitions (and lengths), start, stop
  std::optional<KeptReals> forbidden;
  std::optional<Segmented> segments;     // none: chains
  int order;                             // k: labels before that a transition looks at
  std::optional<EdgeOccurrences> edges;  // chains of order 1

  Labeled(const KeptPointers& seq_ptr_, const KeptPointers& attr_ptr_, const KeptIntegers& attr_,
          const std::optional<KeptReals>& value_, const KeptIntegers& label_, int labels_,
          const KeptPointers& row_ptr_, const KeptIntegers& column_,
          const KeptIntegers& transition_cell_, bool start_, bool stop_,
          const std::optional<KeptReals>& share_, const std::optional<KeptReals>& forbidden_,
          const std::optional<Segmented>& segments_, int order_,
          const std::optional<EdgeOccurrences>& edges_)
      : seq_ptr(seq_ptr_),
        attr_ptr(attr_ptr_),
        attr(attr_),
        value(value_),
        label(label_),
        labels(labels_),
        row_ptr(row_ptr_),
        column(column_),
        transition_cell(transition_cell_),
        start(start_),
        stop(stop_),
        share(share_),
        forbidden(forbidden_),
        segments(segments_),
        order(order_),
        edges(edges_) {
    check();
  }

  std::int64_t sequences() const { return static_cast<std::int64_t>(seq_ptr.size()) - 1; }
  std::int64_t positions() const { return static_cast<std::int64_t>(attr_ptr.size()) - 1; }
  std::int64_t attributes() const { return static_cast<std::int64_t>(row_ptr.size()) - 1; }
  // Rows of the tables that all places share: label n-grams without their last label, and lengths
  // of segments.
  int tables() const {
    std::int64_t rows = labels, sum = labels;
    for (int h = 2; h <= order; ++h) sum += rows *= labels;
    return static_cast<int>(sum) + (segments ? segments->longest : 0);
  }
  std::int64_t node_weights() const { return row_ptr.data()[attributes()]; }
  std::int64_t attribute_weights() const { return node_weights() + (edges ? edges->weights() : 0); }
  std::int64_t weights() const {
    return attribute_weights() + static_cast<std::int64_t>(transition_cell.size()) +
           (static_cast<int>(start) + static_cast<int>(stop)) * labels +
           (segments ? static_cast<std::int64_t>(segments->length_cell.size()) : 0);
  }
  Occurrences occurrences() const { return {attr_ptr.data(), attr.data(), data_or_null(value)}; }
  double weight(std::int64_t n) const { return share ? (*share)[n] : 1.0; }  // of a sequence
  void check_weights(std::size_t size) const {
    if (static_cast<std::int64_t>(size) != weights())
      refuse(std::to_string(size) + " weights, expected " + std::to_string(weights()));
  }

  void check_chains() const {
    if (segments) refuse("this method is for chains, not for segments");
  }
  void check_without_edges() const {
    if (edges) refuse("this method does not take edge attributes");
  }
  void check_plain() const {
    check_without_edges();
    if (order > 1) refuse("this method is for chains of order 1");
  }

  // Calls f(weight, row, label) for the weights that belong to no attribute; the rows of start and
  // stop follow those of the tables.
  template <class F>
  void visit_small(F f) const {
    std::int64_t k = attribute_weights();
    for (std::size_t i = 0; i < transition_cell.size(); ++i, ++k)
      f(k, transition_cell.data()[i] / labels, transition_cell.data()[i] % labels);
    for (int j = 0; start && j < labels; ++j, ++k) f(k, tables(), j);
    for (int j = 0; stop && j < labels; ++j, ++k) f(k, tables() + 1, j);
    for (std::size_t i = 0; segments && i < segments->length_cell.size(); ++i, ++k) {
      const std::int32_t cell = segments->length_cell.data()[i];
      f(k, labels + cell / labels, cell % labels);
    }
  }

  // Calls f(row, label) for the cells of the tables that the gold of a sequence takes.
  template <class F>
  void visit_gold(std::int64_t n, F f) const {
    const std::int32_t* gold = label.data() + seq_ptr.data()[n];
    if (!segments) {
      for (std::int64_t t = 1; t < seq_ptr.data()[n + 1] - seq_ptr.data()[n]; ++t) {
        int begin = 0, row = 0, rows = 1;  // of the n-grams of h + 1 labels that end at t
        for (int h = 1; h <= order && h <= t; ++h) {
          row += rows * gold[t - h];
          f(begin + row, gold[t]);
          begin += rows *= labels;
        }
      }
      return;
    }
    segments->visit_gold(n, [&](std::int64_t first, std::int64_t length) {
      if (first > 0) f(gold[first - 1], gold[first]);
      f(labels + static_cast<int>(length) - 1, gold[first]);
    });
  }
  // Rows of the positions of a sequence, which are its first ones.
  std::int64_t positions_of(std::int64_t n) const {
    return segments ? segments->view().positions(n) : seq_ptr.data()[n + 1] - seq_ptr.data()[n];
  }

 private:
  void check() const {
    if (attr_ptr.size() == 0 || row_ptr.size() == 0) refuse("attr_ptr and row_ptr need an entry");
    check_pointers(seq_ptr, "seq_ptr", positions());
    check_pointers(attr_ptr, "attr_ptr", static_cast<std::int64_t>(attr.size()));
    check_pointers(row_ptr, "row_ptr", static_cast<std::int64_t>(column.size()));
    if (value && value->size() != attr.size()) refuse("value and attr differ in length");
    if (labels < 1 || labels >= 1 << 12) refuse("labels: expected 1 to 4095");
    if (static_cast<std::int64_t>(label.size()) != positions()) refuse("label: one per position");
    check_range(label, segments ? -1 : 0, labels, "label");
    check_range(column, 0, labels, "column");
    check_order();
    check_range(transition_cell, 0, tables_of_labels() * labels, "transition_cell");
    if (edges) {
      if (segments || order > 1) refuse("edge attributes are for chains of order 1");
      if (edges->positions() != positions()) refuse("edge ptr: one more than positions");
      check_range(edges->cell, 0, labels * labels, "edge cell");
    }
    if (segments) {
      check_range(segments->length_cell, 0, labels * segments->longest, "length_cell");
      segments->check(seq_ptr, label);
    }
    if (share && static_cast<std::int64_t>(share->size()) != sequences())
      refuse("weight: one per sequence");
    if (forbidden && static_cast<int>(forbidden->size()) != (tables() + 2) * labels)
      refuse("forbidden: (tables + 2) * L entries");
  }
  int tables_of_labels() const { return tables() - (segments ? segments->longest : 0); }
  // Cells are counted by 32 bits.
  void check_order() const {
    if (order < 1 || order > 8 || (order > 1 && segments))
      refuse("order: expected 1 to 8, and 1 for segments");
    std::int64_t cells = labels;
    for (int h = 1; h <= order; ++h)
      if ((cells *= labels) >= std::int64_t{1} << 28)
        refuse("label n-grams: expected fewer than 2^28 of a length");
  }
  static void check_range(Integers a, int first, int end, const char* name) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a.data()[i] < first || a.data()[i] >= end)
        refuse(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(a.data()[i]) +
               ", expected " + std::to_string(first) + " to " + std::to_string(end - 1));
  }
};

}  // namespace crfkit
