// Layouts for Python: rows of weights, transposed indices, scores, gradients, observed pairs.
#include <algorithm>
#include <memory>
#include <optional>

#include "engine/checks.hpp"
#include "engine/linear/batch_scores.hpp"
#include "engine/linear/observed.hpp"
#include "engine/linear/ready_rows.hpp"
#include "python/arrays.hpp"
#include "python/checked.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

// ---- scores and gradients

// Scores of positions [first, last) into out[last - first, width]; false when one is not finite.
bool score(const Kernels& kernels, const ReadyRows& ready, Pointers ptr, Integers attr,
           const std::optional<KeptReals>& value, const std::optional<KeptReals>& base,
           std::int64_t first, std::int64_t last, const WrittenMatrix& out, int threads) {
  check_threads(threads);
  const Rows& rows = ready.view();
  const Occurrences o = occurrences(ptr, attr, value);
  if (first < 0 || last < first || last >= static_cast<std::int64_t>(ptr.size()))
    refuse("positions " + text(first) + " to " + text(last) + " are not in the batch");
  if (base) check_length("base", base->size(), rows.width);
  check_length("out", out.shape(0), last - first);
  check_length("a row of out", out.shape(1), rows.width);
  return score_batch(kernels, rows, o, data_or_null(base), first, last, out.data(), threads);
}

std::unique_ptr<Transpose> make_transpose(Pointers ptr, Integers attr,
                                          const std::optional<KeptReals>& value,
                                          std::int64_t attributes, int width) {
  if (attributes < 0) refuse("attributes is negative");
  if (width < 1 || width >= kWidest) refuse("a row has " + text(width) + " columns");
  const Occurrences o = occurrences(ptr, attr, value);
  return std::make_unique<Transpose>(o, static_cast<std::int64_t>(ptr.size()) - 1, attributes,
                                     width);
}

void scatter(const Kernels& kernels, const RowPlan& plan, const Transpose& transpose,
             const Matrix& credit, Written gradient, std::int64_t offset, bool add, int threads) {
  check_threads(threads);
  if (transpose.step != plan.step()) refuse("the transposed index is of rows of another width");
  if (transpose.attributes() != plan.attributes())
    refuse("the transposed index is of " + text(transpose.attributes()) +
           " attributes, the layout has " + text(plan.attributes()));
  check_length("credit", credit.shape(0), transpose.positions);
  check_length("a row of credit", credit.shape(1), plan.width);
  if (offset < 0 || offset + plan.weights() > static_cast<std::int64_t>(gradient.size()))
    refuse("the gradient is shorter than the weights of the layout");
  scatter_batch(kernels, plan, transpose, credit.data(), gradient.data() + offset, add, threads);
}

// ---- observed pairs

nb::typed<nb::object, AnyArray> give_observed(const Transpose& t, Integers cell,
                                              const std::optional<KeptReals>& weight, int width,
                                              double minimum,
                                              const std::optional<KeptPointers>& ptr, int threads) {
  SeenPairs found;
  {
    Released release;
    found = observed(t, cell, weight, width, minimum, ptr, threads);
  }
  if (ptr) return nb::object(give(std::move(found.column)));
  return nb::object(give(std::move(found.ptr)));
}

Tuple<Given<std::int64_t>, Given<std::int32_t>> give_pairs(Pointers ptr, Integers attr,
                                                           Integers cell, std::int64_t attributes,
                                                           int width, int threads) {
  SeenPairs found;
  {
    Released release;
    found = seen_pairs(ptr, attr, cell, attributes, width, threads);
  }
  return nb::make_tuple(give(std::move(found.ptr)), give(std::move(found.column)));
}

// ---- some of the rows

// Calls f(first weight among all, first weight among the chosen, count) for the chosen rows.
template <class F>
void each_row(Pointers ptr, Integers chosen, std::size_t whole, std::size_t part, F f) {
  const std::int64_t A = static_cast<std::int64_t>(ptr.size()) - 1;
  std::int64_t to = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::int32_t a = chosen.data()[i];
    if (a < 0 || a >= A) refuse("chosen[" + text(static_cast<std::int64_t>(i)) + "] is not a row");
    const std::int64_t first = ptr.data()[a], n = ptr.data()[a + 1] - first;
    if (first < 0 || n < 0 || first + n > static_cast<std::int64_t>(whole) ||
        to + n > static_cast<std::int64_t>(part))
      refuse("the rows are longer than the weights");
    f(first, to, n);
    to += n;
  }
}

void take_rows(Pointers ptr, Integers chosen, Reals weights, Written out) {
  each_row(ptr, chosen, weights.size(), out.size(),
           [&](std::int64_t first, std::int64_t to, std::int64_t n) {
             std::copy_n(weights.data() + first, n, out.data() + to);
           });
}

void add_rows(Pointers ptr, Integers chosen, Reals part, Written out) {
  each_row(ptr, chosen, out.size(), part.size(),
           [&](std::int64_t first, std::int64_t to, std::int64_t n) {
             for (std::int64_t k = 0; k < n; ++k) out.data()[first + k] += part.data()[to + k];
           });
}

}  // namespace

void bind_layout(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<RowPlan>(m, "Rows")
      .def(nb::init<int, KeptPointers, KeptIntegers, std::int64_t>(), "width"_a, "ptr"_a,
           "column"_a, "table_bytes"_a)
      .def_prop_ro("table_bytes", &RowPlan::table_bytes)
      .def_static("most_table_bytes", &most_table_bytes, "weights"_a)
      .def_prop_ro_static("narrow", [](nb::handle) { return kNarrow; });
  nb::class_<Transpose>(m, "Transpose")
      .def_static("of", &make_transpose, "ptr"_a, "attr"_a, "value"_a.none(), "attributes"_a,
                  "width"_a, Unlocked())
      .def("observed", &give_observed, "cell"_a, "weight"_a.none(), "width"_a, "minimum"_a,
           "ptr"_a.none(), "threads"_a);
  m.def("seen_pairs", &give_pairs, "ptr"_a, "attr"_a, "cell"_a, "attributes"_a, "width"_a,
        "threads"_a);
  m.def("take_rows", &take_rows, "ptr"_a, "chosen"_a, "weights"_a, "out"_a);
  m.def("add_rows", &add_rows, "ptr"_a, "chosen"_a, "part"_a, "out"_a);
  nb::class_<ReadyRows>(m, "ReadyRows")
      .def_static(
          "of",
          [](const Kernels& kernels, const RowPlan& rows, KeptReals weights, std::int64_t offset,
             int threads) {
            return std::make_unique<ReadyRows>(kernels, rows, std::move(weights), offset, threads);
          },
          "kernels"_a, "rows"_a, "weights"_a, "offset"_a, "threads"_a, nb::keep_alive<0, 2>(),
          Unlocked());
  m.def("score", &score, "kernels"_a, "rows"_a, "ptr"_a, "attr"_a, "value"_a.none(),
        "base"_a.none(), "first"_a, "last"_a, "out"_a, "threads"_a, Unlocked());
  m.def("scatter", &scatter, "kernels"_a, "rows"_a, "transpose"_a, "credit"_a, "gradient"_a,
        "offset"_a, "add"_a, "threads"_a, Unlocked());
}

}  // namespace crfkit
