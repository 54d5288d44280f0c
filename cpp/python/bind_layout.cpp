// Layouts for Python: rows of weights, transposed indices, scores, gradients, observed pairs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/linear/transpose.hpp"
#include "engine/threads/pool.hpp"
#include "python/arrays.hpp"
#include "python/ready_rows.hpp"

namespace crfkit {
namespace {

// ---- scores

std::unique_ptr<ReadyRows> make_ready(const Kernels& kernels, const RowPlan& plan, Reals weights,
                                      std::int64_t offset, int threads) {
  check_threads(threads);
  return std::make_unique<ReadyRows>(kernels, plan, std::move(weights), offset, threads);
}

// Scores of positions [first, last) into out[last - first, width]; false when one is not finite.
bool score(const Kernels& kernels, const ReadyRows& ready, const Pointers& ptr,
           const Integers& attr, const std::optional<Reals>& value,
           const std::optional<Reals>& base, std::int64_t first, std::int64_t last,
           const WrittenMatrix& out, int threads) {
  check_threads(threads);
  const Rows& rows = ready.view();
  const Occurrences o = occurrences(ptr, attr, value);
  if (first < 0 || last < first || last >= static_cast<std::int64_t>(ptr.size()))
    refuse("positions " + text(first) + " to " + text(last) + " are not in the batch");
  if (base) check_length("base", base->size(), rows.width);
  check_length("out", out.shape(0), last - first);
  check_length("a row of out", out.shape(1), rows.width);
  nb::gil_scoped_release release;
  std::atomic<bool> finite{true};
  parallel_for((last - first + kScoreBlock - 1) / kScoreBlock, threads, [&](std::int64_t b) {
    const std::int64_t from = first + b * kScoreBlock, to = std::min(from + kScoreBlock, last);
    if (!kernels.score(rows, o, base ? base->data() : nullptr, from, to,
                       out.data() + (from - first) * rows.width, nullptr))
      finite = false;
  });
  return finite;
}

// ---- gradients

std::unique_ptr<Transpose> make_transpose(const Pointers& ptr, const Integers& attr,
                                          const std::optional<Reals>& value,
                                          std::int64_t attributes, int width) {
  if (attributes < 0) refuse("attributes is negative");
  if (width < 1 || width >= kWidest) refuse("a row has " + text(width) + " columns");
  const Occurrences o = occurrences(ptr, attr, value);
  nb::gil_scoped_release release;
  return std::make_unique<Transpose>(o, static_cast<std::int64_t>(ptr.size()) - 1, attributes,
                                     width);
}

void scatter(const Kernels& kernels, const RowPlan& plan, const Transpose& transpose,
             const Matrix& credit, const Written& gradient, std::int64_t offset, bool add,
             int threads) {
  check_threads(threads);
  if (transpose.step != plan.step()) refuse("the transposed index is of rows of another width");
  if (transpose.attributes() != plan.attributes())
    refuse("the transposed index is of " + text(transpose.attributes()) +
           " attributes, the layout has " + text(plan.attributes()));
  check_length("credit", credit.shape(0), transpose.positions);
  check_length("a row of credit", credit.shape(1), plan.width);
  if (offset < 0 || offset + plan.weights() > static_cast<std::int64_t>(gradient.size()))
    refuse("the gradient is shorter than the weights of the layout");
  nb::gil_scoped_release release;
  const Rows rows = plan.view(nullptr, 0, nullptr);
  const Transposed view = transpose.view();
  double* out = gradient.data() + offset;
  const std::int64_t size = transpose.sum_size();
  Table sums(size * transpose.sum_tasks);
  parallel_for(static_cast<std::int64_t>(transpose.tasks.size()), threads, [&](std::int64_t i) {
    const Transpose::Task& task = transpose.tasks[i];
    if (task.sums < 0) {
      kernels.scatter(rows, view, credit.data(), transpose.positions, task.first, task.last, add,
                      out);
    } else {
      double* own = sums.data() + task.sums * size;
      std::fill_n(own, size, 0.0);
      kernels.sum_runs(rows, credit.data(), transpose.positions, transpose.view(task), own);
    }
  });
  for (std::size_t slot = 0; slot < transpose.frequent.size(); ++slot) {
    const std::int32_t a = transpose.frequent[slot];
    const double* first = sums.data() + static_cast<std::int64_t>(slot) * transpose.step;
    for (std::int64_t k = rows.ptr[a]; k < rows.ptr[a + 1]; ++k) {
      double sum = 0.0;
      for (std::int64_t t = 0; t < transpose.sum_tasks; ++t)
        sum += first[t * size + rows.column[k]];
      out[k] = add ? out[k] + sum : sum;
    }
  }
}

// ---- observed pairs

void check_cells(const Integers& cell, int width) {
  for (std::size_t p = 0; p < cell.size(); ++p)
    if (cell.data()[p] < -1 || cell.data()[p] >= width)
      refuse("label[" + text(static_cast<std::int64_t>(p)) + "] is out of range");
}

// Which columns each attribute is seen with often enough.  cell[p] is the column of position p, or
// -1; without `weight` occurrences are counted, with it weight[p] * value is added up.  Returns the
// row pointers, or with `ptr` the columns of rows that have them.
nb::object observed(const Transpose& t, const Integers& cell, const std::optional<Reals>& weight,
                    int width, double minimum, const std::optional<Pointers>& ptr, int threads) {
  check_threads(threads);
  const std::int64_t A = t.attributes(), block = 1024;
  check_length("cell", cell.size(), t.positions);
  if (weight) check_length("weight", weight->size(), t.positions);
  check_cells(cell, width);
  if (ptr) {
    check_length("ptr", ptr->size(), A + 1);
    check_pointers(*ptr, "ptr", ptr->data()[A]);
  }
  std::vector<std::int64_t> found(ptr ? 0 : A + 1);
  std::vector<std::int32_t> columns(ptr ? ptr->data()[A] : 0);
  {
    nb::gil_scoped_release release;
    parallel_for((A + block - 1) / block, threads, [&](std::int64_t b) {
      std::vector<double> sum(width, 0.0);
      std::vector<char> met(width, 0);
      std::vector<std::int32_t> list;
      for (std::int64_t a = b * block; a < std::min(A, (b + 1) * block); ++a) {
        for (std::int64_t i = t.ptr[a]; i < t.ptr[a + 1]; ++i) {
          const std::int32_t p = t.position[i], c = cell.data()[p];
          if (c < 0) continue;
          if (!met[c]) met[c] = 1, list.push_back(c);
          sum[c] += weight ? weight->data()[p] * (t.value.empty() ? 1.0 : t.value[i]) : 1.0;
        }
        const auto rare = [&](std::int32_t c) { return minimum > 0.0 && !(sum[c] >= minimum); };
        std::int64_t kept = 0;
        if (ptr) std::sort(list.begin(), list.end());
        for (const std::int32_t c : list) {
          if (!rare(c)) {
            if (ptr) columns[ptr->data()[a] + kept] = c;
            ++kept;
          }
          sum[c] = 0.0, met[c] = 0;
        }
        list.clear();
        if (!ptr) found[a + 1] = kept;
      }
    });
    for (std::size_t a = 1; a < found.size(); ++a) found[a] += found[a - 1];
  }
  return ptr ? give(std::move(columns)) : give(std::move(found));
}

// The same where once is often enough, in one walk over the positions: a bit for each pair. Returns
// row pointers and columns.
nb::tuple seen_pairs(const Pointers& ptr, const Integers& attr, const Integers& cell,
                     std::int64_t attributes, int width, int threads) {
  check_threads(threads);
  if (width < 1) refuse("width is " + text(width) + ", expected 1 or more");
  if (attributes < 0) refuse("attributes is " + text(attributes) + ", expected 0 or more");
  const std::int64_t positions = static_cast<std::int64_t>(cell.size());
  check_length("ptr", ptr.size(), positions + 1);
  check_pointers(ptr, "ptr", static_cast<std::int64_t>(attr.size()));
  check_cells(cell, width);
  const std::int64_t words = (width + 63) / 64;
  std::vector<std::int64_t> first(attributes + 1, 0);
  std::vector<std::int32_t> column;
  {
    nb::gil_scoped_release release;
    std::vector<std::vector<std::uint64_t>> bits(threads);
    parallel_for(threads, threads, [&](std::int64_t k) {
      bits[k].assign(attributes * words, 0);
      for (std::int64_t p = positions * k / threads; p < positions * (k + 1) / threads; ++p) {
        const std::int32_t c = cell.data()[p];
        if (c < 0) continue;
        for (std::int64_t i = ptr.data()[p]; i < ptr.data()[p + 1]; ++i) {
          const std::uint32_t a = static_cast<std::uint32_t>(attr.data()[i]);
          if (a < static_cast<std::uint64_t>(attributes))
            bits[k][a * words + c / 64] |= std::uint64_t{1} << (c % 64);
        }
      }
    });
    std::vector<std::uint64_t>& all = bits[0];
    for (std::size_t k = 1; k < bits.size(); ++k)
      for (std::size_t i = 0; i < all.size(); ++i) all[i] |= bits[k][i];
    for (std::int64_t a = 0; a < attributes; ++a) {
      first[a + 1] = first[a];
      for (std::int64_t i = a * words; i < (a + 1) * words; ++i)
        first[a + 1] += std::popcount(all[i]);
    }
    column.reserve(first[attributes]);
    for (std::int64_t i = 0; i < attributes * words; ++i)
      for (std::uint64_t left = all[i]; left; left &= left - 1)
        column.push_back(static_cast<std::int32_t>(i % words * 64 + std::countr_zero(left)));
  }
  return nb::make_tuple(give(std::move(first)), give(std::move(column)));
}

// ---- some of the rows

// Calls f(first weight among all, first weight among the chosen, count) for the chosen rows.
template <class F>
void each_row(const Pointers& ptr, const Integers& chosen, std::size_t whole, std::size_t part,
              F f) {
  const std::int64_t A = static_cast<std::int64_t>(ptr.size()) - 1;
  std::int64_t to = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::int32_t a = chosen.data()[i];
    if (a < 0 || a >= A) refuse("chosen[" + text(static_cast<std::int64_t>(i)) + "] is no row");
    const std::int64_t first = ptr.data()[a], n = ptr.data()[a + 1] - first;
    if (first < 0 || n < 0 || first + n > static_cast<std::int64_t>(whole) ||
        to + n > static_cast<std::int64_t>(part))
      refuse("the rows are longer than the weights");
    f(first, to, n);
    to += n;
  }
}

void take_rows(const Pointers& ptr, const Integers& chosen, const Reals& weights,
               const Written& out) {
  each_row(ptr, chosen, weights.size(), out.size(),
           [&](std::int64_t first, std::int64_t to, std::int64_t n) {
             std::copy_n(weights.data() + first, n, out.data() + to);
           });
}

void add_rows(const Pointers& ptr, const Integers& chosen, const Reals& part, const Written& out) {
  each_row(ptr, chosen, out.size(), part.size(),
           [&](std::int64_t first, std::int64_t to, std::int64_t n) {
             for (std::int64_t k = 0; k < n; ++k) out.data()[first + k] += part.data()[to + k];
           });
}

}  // namespace

void bind_layout(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<RowPlan>(m, "Rows")
      .def(nb::init<int, Pointers, Integers, std::int64_t>(), "width"_a, "ptr"_a, "column"_a,
           "table_bytes"_a)
      .def_prop_ro("table_bytes", &RowPlan::table_bytes)
      .def_prop_ro_static("narrow", [](nb::handle) { return kNarrow; });
  nb::class_<Transpose>(m, "Transpose")
      .def_static("of", &make_transpose, "ptr"_a, "attr"_a, "value"_a.none(), "attributes"_a,
                  "width"_a)
      .def_prop_ro("attributes", &Transpose::attributes)
      .def_ro("positions", &Transpose::positions)
      .def("observed", &observed, "cell"_a, "weight"_a.none(), "width"_a, "minimum"_a,
           "ptr"_a.none(), "threads"_a);
  m.def("seen_pairs", &seen_pairs, "ptr"_a, "attr"_a, "cell"_a, "attributes"_a, "width"_a,
        "threads"_a);
  m.def("take_rows", &take_rows, "ptr"_a, "chosen"_a, "weights"_a, "out"_a);
  m.def("add_rows", &add_rows, "ptr"_a, "chosen"_a, "part"_a, "out"_a);
  nb::class_<ReadyRows>(m, "ReadyRows")
      .def_static("of", &make_ready, "kernels"_a, "rows"_a, "weights"_a, "offset"_a, "threads"_a,
                  nb::keep_alive<0, 2>());
  m.def("score", &score, "kernels"_a, "rows"_a, "ptr"_a, "attr"_a, "value"_a.none(),
        "base"_a.none(), "first"_a, "last"_a, "out"_a, "threads"_a);
  m.def("scatter", &scatter, "kernels"_a, "rows"_a, "transpose"_a, "credit"_a, "gradient"_a,
        "offset"_a, "add"_a, "threads"_a);
}

}  // namespace crfkit
