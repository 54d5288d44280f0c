// The likelihood of a batch for Python: made once, evaluated many times.
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/checked_pairs.hpp"
#include "engine/checks.hpp"
#include "engine/likelihood/evaluator.hpp"
#include "engine/linear/row_plan.hpp"
#include "python/arrays.hpp"
#include "python/checked.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

using Mask = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The rows of a layout; whoever gives them has checked them.
struct BoundRows {
  KeptPointers ptr;
  KeptIntegers column;
  int width;

  std::int64_t attributes() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
  std::int64_t weights() const { return ptr.data()[attributes()]; }
  Rows unweighted() const {
    return {attributes(), width, ptr.data(), column.data(), nullptr, nullptr, 0, nullptr};
  }
};

// An evaluator with the arrays that it refers to.
struct BoundEvaluator {
  BoundRows rows;
  std::optional<BoundRows> edge_rows;
  std::optional<Matrix> soft;
  std::optional<Mask> allowed;
  std::unique_ptr<Evaluator> evaluator;
  std::mutex guard;  // one evaluation at a time

  BoundEvaluator(const BoundRows& rows_, const std::optional<BoundRows>& edge_rows_,
                 const std::optional<Matrix>& soft_, const std::optional<Mask>& allowed_)
      : rows(rows_), edge_rows(edge_rows_), soft(soft_), allowed(allowed_) {}

  std::int64_t weights() const { return rows.weights() + (edge_rows ? edge_rows->weights() : 0); }
  Rows edges() const { return edge_rows ? edge_rows->unweighted() : Rows{}; }
  const double* soft_data() const { return soft ? soft->data() : nullptr; }
  const std::uint8_t* allowed_data() const {
    return allowed ? reinterpret_cast<const std::uint8_t*>(allowed->data()) : nullptr;
  }
};

template <class Given>
void check_matrix(const char* name, const Given& given, std::int64_t rows, std::int64_t columns) {
  check_length(name, given.shape(0), rows);
  check_length((std::string("a row of ") + name).c_str(), given.shape(1), columns);
}

// The rows of segments; without `longest` there are none.  `all`: how many rows there are.
SegmentPlaces segmented(int longest, bool begins, bool ends,
                        const std::optional<KeptPointers>& place, std::int64_t all) {
  if (longest < 0) refuse("longest is " + text(longest) + ", expected 0 or more");
  if (longest == 0 && (begins || ends || place)) refuse("rows of segments need their longest");
  const SegmentPlaces made{longest, begins, ends,
                           place ? static_cast<std::int64_t>(place->size()) : 0,
                           data_or_null(place)};
  if (all < made.count || (all - made.count) % (1 + begins + ends) != 0)
    refuse("attr_ptr does not fit the rows of positions and segments");
  return made;
}

// Places rise, and segments end within the sequence in which they begin.
void check_places(const SegmentPlaces& segments, Pointers seq_ptr, std::int64_t P) {
  std::size_t n = 0;
  for (std::int64_t i = 0; i < segments.count; ++i) {
    const std::int64_t at = segments.place[i], p = at / segments.longest;
    if (at <= (i > 0 ? segments.place[i - 1] : -1) || p >= P)
      refuse("place[" + text(i) + "] is out of range or does not rise");
    while (seq_ptr.data()[n + 1] <= p) ++n;
    if (p + at % segments.longest >= seq_ptr.data()[n + 1])
      refuse("place[" + text(i) + "] is a segment that runs past the end of its sequence");
  }
}

void check_order(int order, int width, int longest, bool edges) {
  if (order < 1 || order > kMaxOrder || (order > 1 && (longest > 0 || edges)))
    refuse("order is " + text(order) + ", expected 1, or up to " + text(kMaxOrder) +
           " for chains without edge attributes");
  if (std::pow(width, order) >= 0x1p31)
    refuse("2^31 label tuples or more: lower the order or the number of labels");
}

std::unique_ptr<BoundEvaluator> make_evaluator(
    const Kernels& kernels, int order, const RowPlan& rows, Pointers seq_ptr, Pointers attr_ptr,
    Integers attr, const std::optional<KeptReals>& value, const std::optional<KeptReals>& weight,
    const std::optional<KeptIntegers>& label, const std::optional<Matrix>& soft,
    const std::optional<Mask>& allowed, const RowPlan* edge_rows,
    const std::optional<KeptPointers>& edge_ptr, const std::optional<KeptIntegers>& edge_attr,
    const std::optional<KeptReals>& edge_value, int longest, bool begins, bool ends,
    const std::optional<KeptPointers>& place, const std::optional<KeptIntegers>& pair_ptr,
    const std::optional<KeptIntegers>& pair_from, std::int64_t table_bytes,
    std::int64_t row_bytes) {
  const Occurrences o = occurrences(attr_ptr, attr, value);
  const std::int64_t all = static_cast<std::int64_t>(attr_ptr.size()) - 1;
  const SegmentPlaces segments = segmented(longest, begins, ends, place, all);
  const std::int64_t P = (all - segments.count) / (1 + segments.begins + segments.ends);
  check_pointers(seq_ptr, "seq_ptr", P);
  check_places(segments, seq_ptr, P);
  const std::int64_t N = static_cast<std::int64_t>(seq_ptr.size()) - 1;
  check_order(order, rows.width, longest, edge_rows);
  if (rows.weights() >= std::int64_t{1} << 31) refuse("2^31 node weights or more");
  if (label.has_value() + soft.has_value() + allowed.has_value() != 1)
    refuse("gold is one of label, soft and allowed");
  Occurrences edges = {};
  if (edge_rows) {
    if (!edge_ptr || !edge_attr) refuse("edge rows need edge_ptr and edge_attr");
    check_length("edge_ptr", edge_ptr->size(), P + 1);
    if (edge_rows->width != rows.width * rows.width) refuse("edge rows are not of labels squared");
    edges = occurrences(*edge_ptr, *edge_attr, edge_value);
  }
  if (weight) check_length("weight", weight->size(), N);
  if (soft) check_matrix("soft", *soft, P, rows.width);
  if (allowed) check_matrix("allowed", *allowed, P, rows.width);
  if (label) {
    check_length("label", label->size(), all);
    for (std::int64_t p = 0; p < all; ++p)
      if (label->data()[p] < (p < P ? 0 : -1) || label->data()[p] >= rows.width)
        refuse("label[" + text(p) + "] is out of range");
  }
  std::optional<BoundRows> bound_edges;
  if (edge_rows) bound_edges = BoundRows{edge_rows->ptr, edge_rows->column, edge_rows->width};
  auto made = std::make_unique<BoundEvaluator>(BoundRows{rows.ptr, rows.column, rows.width},
                                               bound_edges, soft, allowed);
  const Batched batch{
      N,
      seq_ptr.data(),
      o,
      edges,
      data_or_null(weight),
      data_or_null(label),
      made->soft_data(),
      made->allowed_data(),
      checked_pairs(pair_ptr, pair_from, rows.width, edge_rows || longest > 0 || order > 1),
      segments};
  Released release;
  made->evaluator = std::make_unique<Evaluator>(kernels, batch, order, made->rows.unweighted(),
                                                made->edges(), table_bytes, row_bytes);
  return made;
}

using Bytes = std::span<const std::uint8_t>;
using WrittenBytes = std::span<std::uint8_t>;

std::uint64_t packed_size(const BoundEvaluator& bound) {
  ArchiveWriter counter(nullptr);
  bound.evaluator->pack(counter);
  return counter.bytes();
}

void pack(const BoundEvaluator& bound, WrittenBytes out) {
  check_length("out", out.size(), static_cast<std::int64_t>(packed_size(bound)));
  Released release;
  ArchiveWriter writer(out.data());
  bound.evaluator->pack(writer);
}

// What `pack` wrote in this process, for the same rows and gold, which were checked then.
std::unique_ptr<BoundEvaluator> unpack(const Kernels& kernels, int order, int width,
                                       const KeptPointers& ptr, const KeptIntegers& column,
                                       const std::optional<KeptPointers>& edge_row_ptr,
                                       const std::optional<KeptIntegers>& edge_column,
                                       const std::optional<Matrix>& soft,
                                       const std::optional<Mask>& allowed, Bytes packed) {
  if (edge_row_ptr.has_value() != edge_column.has_value())
    refuse("edge_row_ptr and edge_column go together");
  check_order(order, width, 0, edge_row_ptr.has_value());
  std::optional<BoundRows> edges;
  if (edge_row_ptr) edges = BoundRows{*edge_row_ptr, *edge_column, width * width};
  auto made = std::make_unique<BoundEvaluator>(BoundRows{ptr, column, width}, edges, soft, allowed);
  {
    Released release;
    made->evaluator = std::make_unique<Evaluator>(
        kernels, ArchiveReader(packed.data(), packed.size()), order, made->soft_data(),
        made->allowed_data(), made->rows.unweighted(), made->edges());
  }
  if (soft) check_matrix("soft", *soft, made->evaluator->positions(), width);
  if (allowed) check_matrix("allowed", *allowed, made->evaluator->positions(), width);
  return made;
}

// Loss and gradient; returns (loss, whether all scores are finite, a sequence without labeling).
Tuple<double, bool, std::int64_t> evaluate(BoundEvaluator& bound, Reals weights, const Scores& edge,
                                           const std::optional<Scores>& start,
                                           const std::optional<Scores>& stop, Written gradient,
                                           Written start_credit, Written stop_credit,
                                           Written edge_credit, const std::optional<Scores>& length,
                                           const std::optional<WrittenMatrix>& length_credit,
                                           int threads) {
  check_threads(threads);
  const std::int64_t L = bound.rows.width;
  if (static_cast<std::int64_t>(weights.size()) < bound.weights())
    refuse("the weights are fewer than the layout has");
  check_length("gradient", gradient.size(), static_cast<std::int64_t>(weights.size()));
  check_shape(edge, "edge", {bound.evaluator->ngrams()});
  if (start) check_shape(*start, "start", {L});
  if (stop) check_shape(*stop, "stop", {L});
  check_length("start_credit", start_credit.size(), L);
  check_length("stop_credit", stop_credit.size(), L);
  check_length("edge_credit", edge_credit.size(), bound.evaluator->steps());
  const std::int64_t D = bound.evaluator->longest();
  if (length.has_value() != (D > 0)) refuse("length is for segments, which need it");
  if (length) check_shape(*length, "length", {D, L});
  if (length_credit) check_matrix("length_credit", *length_credit, D, L);
  Loss loss;
  {
    Released release;
    const std::lock_guard<std::mutex> lock(bound.guard);
    const Evaluator::Shared shared{edge.data(),
                                   start ? start->data() : nullptr,
                                   stop ? stop->data() : nullptr,
                                   length ? length->data() : nullptr,
                                   edge_credit.data(),
                                   start_credit.data(),
                                   stop_credit.data(),
                                   length_credit ? length_credit->data() : nullptr};
    loss = bound.evaluator->evaluate(weights.data(), shared, gradient.data(), threads);
  }
  return nb::make_tuple(loss.value, loss.finite, loss.impossible);
}

}  // namespace

void bind_evaluate(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<BoundEvaluator>(m, "Evaluator")
      .def_static("of", &make_evaluator, "kernels"_a, "order"_a, "rows"_a, "seq_ptr"_a,
                  "attr_ptr"_a, "attr"_a, "value"_a.none(), "weight"_a.none(), "label"_a.none(),
                  "soft"_a.none(), "allowed"_a.none(), "edge_rows"_a.none(), "edge_ptr"_a.none(),
                  "edge_attr"_a.none(), "edge_value"_a.none(), "longest"_a, "begins"_a, "ends"_a,
                  "place"_a.none(), "pair_ptr"_a.none(), "pair_from"_a.none(), "table_bytes"_a,
                  "row_bytes"_a)
      .def_static("unpack", &unpack, "kernels"_a, "order"_a, "width"_a, "ptr"_a, "column"_a,
                  "edge_row_ptr"_a.none(), "edge_column"_a.none(), "soft"_a.none(),
                  "allowed"_a.none(), "packed"_a)
      .def_prop_ro("packed_size", &packed_size)
      .def("pack", &pack, "out"_a)
      .def_prop_ro("rows_left", [](const BoundEvaluator& b) { return b.evaluator->rows_left(); })
      .def_prop_ro("rounds", [](const BoundEvaluator& b) { return b.evaluator->rounds(); })
      .def("evaluate", &evaluate, "weights"_a, "edge"_a, "start"_a.none(), "stop"_a.none(),
           "gradient"_a, "start_credit"_a, "stop_credit"_a, "edge_credit"_a, "length"_a.none(),
           "length_credit"_a.none(), "threads"_a);
}

}  // namespace crfkit
