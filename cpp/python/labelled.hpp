// Labelled sequences and the places of their weights, as online training takes them from Python;
// checked once.
//
// Weights lie in the order of the layout: attribute by attribute, transitions, start, stop.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>
#include <vector>

#include "python/checked.hpp"
#include "shared/rows.hpp"

namespace crfkit {

using Reals = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Written = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Labelled {
  Pointers seq_ptr, attr_ptr;
  Integers attr;
  std::optional<Reals> value;
  Integers label;
  int labels;  // L
  Pointers row_ptr;
  Integers column, transition_cell;
  bool start, stop;
  std::optional<Reals> share;      // [N] weights of the sequences
  std::optional<Reals> forbidden;  // [(L + 2) * L] 0 or -inf for transitions, start, stop

  Labelled(const Pointers& seq_ptr_, const Pointers& attr_ptr_, const Integers& attr_,
           const std::optional<Reals>& value_, const Integers& label_, int labels_,
           const Pointers& row_ptr_, const Integers& column_, const Integers& transition_cell_,
           bool start_, bool stop_, const std::optional<Reals>& share_,
           const std::optional<Reals>& forbidden_)
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
  Occurrences occurrences() const {
    return {attr_ptr.data(), attr.data(), value ? value->data() : nullptr};
  }
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
  static void check_range(const Integers& a, int end, const char* name) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a.data()[i] < 0 || a.data()[i] >= end)
        refuse(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(a.data()[i]) +
               ", expected 0 to " + std::to_string(end - 1));
  }
};

}  // namespace crfkit
