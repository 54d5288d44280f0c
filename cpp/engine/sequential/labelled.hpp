// Labelled sequences and the places of their weights, as methods take them that learn sequence by
// sequence; checked once.
//
// Weights lie in the order of the layout: attribute by attribute, transitions, start, stop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "shared/rows.hpp"

namespace crfkit {

struct Labelled {
  KeptPointers seq_ptr, attr_ptr;
  KeptIntegers attr;
  std::optional<KeptReals> value;
  KeptIntegers label;
  int labels;  // L
  KeptPointers row_ptr;
  KeptIntegers column, transition_cell;
  bool start, stop;
  std::optional<KeptReals> share;      // [N] weights of the sequences
  std::optional<KeptReals> forbidden;  // [(L + 2) * L] 0 or -inf for transitions, start, stop

  Labelled(const KeptPointers& seq_ptr_, const KeptPointers& attr_ptr_, const KeptIntegers& attr_,
           const std::optional<KeptReals>& value_, const KeptIntegers& label_, int labels_,
           const KeptPointers& row_ptr_, const KeptIntegers& column_,
           const KeptIntegers& transition_cell_, bool start_, bool stop_,
           const std::optional<KeptReals>& share_, const std::optional<KeptReals>& forbidden_)
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
        forbidden(forbidden_) {
    check();
  }

  std::int64_t sequences() const { return static_cast<std::int64_t>(seq_ptr.size()) - 1; }
  std::int64_t positions() const { return static_cast<std::int64_t>(attr_ptr.size()) - 1; }
  std::int64_t attributes() const { return static_cast<std::int64_t>(row_ptr.size()) - 1; }
  std::int64_t node_weights() const { return row_ptr.data()[attributes()]; }
  std::int64_t weights() const {
    return node_weights() + static_cast<std::int64_t>(transition_cell.size()) +
           (static_cast<int>(start) + static_cast<int>(stop)) * labels;
  }
  Occurrences occurrences() const { return {attr_ptr.data(), attr.data(), data_or_null(value)}; }
  double weight(std::int64_t n) const { return share ? (*share)[n] : 1.0; }  // of a sequence
  void check_weights(std::size_t size) const {
    if (static_cast<std::int64_t>(size) != weights())
      refuse(std::to_string(size) + " weights, expected " + std::to_string(weights()));
  }

  // Calls f(weight, row, label) for the weights that belong to no attribute; row L is start, L + 1
  // stop.
  template <class F>
  void visit_small(F f) const {
    std::int64_t k = node_weights();
    for (std::size_t i = 0; i < transition_cell.size(); ++i, ++k)
      f(k, transition_cell.data()[i] / labels, transition_cell.data()[i] % labels);
    for (int j = 0; start && j < labels; ++j, ++k) f(k, labels, j);
    for (int j = 0; stop && j < labels; ++j, ++k) f(k, labels + 1, j);
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
    check_range(label, labels, "label");
    check_range(column, labels, "column");
    check_range(transition_cell, labels * labels, "transition_cell");
    if (share && static_cast<std::int64_t>(share->size()) != sequences())
      refuse("weight: one per sequence");
    if (forbidden && static_cast<int>(forbidden->size()) != (labels + 2) * labels)
      refuse("forbidden: (L + 2) * L entries");
  }
  static void check_range(Integers a, int end, const char* name) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a.data()[i] < 0 || a.data()[i] >= end)
        refuse(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(a.data()[i]) +
               ", expected 0 to " + std::to_string(end - 1));
  }
};

}  // namespace crfkit
