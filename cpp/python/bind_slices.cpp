// Sequences of slices in lanes, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "engine/checks.hpp"
#include "graph/lanes/slices.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

Given<bool> flags(const std::vector<bool>& values) {
  Array<bool> made({values.size()});
  std::copy(values.begin(), values.end(), made.data.get());
  return made.give();
}

// log Z is added to `value` [N].  With weights [N]: the gradient of sum weight log Z by scores, for
// each group [1, cells] where all factors share a table, else [M, cells]; without: an empty list.
// And which variables [V] got nothing, as sums of scaled numbers would not be exact.
Tuple<nb::typed<nb::list, AnyArray>, Given<bool>> sum(const Slices& slices, const Kernels& kernels,
                                                      const KeptFactors& kept,
                                                      std::optional<Reals> weight, Written value,
                                                      int threads) {
  check_threads(threads);
  const Factors& f = kept.view();
  check_length("value", value.size(), f.graphs);
  if (weight) check_length("weight", weight->size(), f.graphs);
  std::vector<Array<double>> made;
  std::vector<bool> lost;
  {
    const Released unlocked;
    std::vector<double> sums(slices.pooled_cells());
    std::vector<double*> row;
    for (std::int64_t g = 0; weight && g < f.groups; ++g) {
      const std::size_t M = slices.pooled()[g] >= 0 ? 1 : f.group[g].count;
      row.push_back(
          made.emplace_back(std::vector<std::size_t>{M, static_cast<std::size_t>(f.group[g].cells)})
              .data.get());
    }
    lost = slices.sum(*kernels.slices, f, weight ? weight->data() : nullptr, threads, value.data(),
                      sums.data(), row.data());
    for (std::int64_t g = 0; weight && g < f.groups; ++g)
      if (slices.pooled()[g] >= 0)
        std::copy_n(sums.data() + slices.pooled()[g], f.group[g].cells, row[g]);
  }
  nb::list tables;
  for (Array<double>& each : made) tables.append(each.give());
  return Tuple<nb::typed<nb::list, AnyArray>, Given<bool>>(nb::make_tuple(tables, flags(lost)));
}

}  // namespace

void bind_slices(nb::module_& m) {
  nb::class_<Slices>(m, "Slices")
      .def(
          "__init__",
          [](Slices* self, const KeptFactors& factors, const std::vector<std::int32_t>& steps,
             double budget) { new (self) Slices(factors.view(), steps, budget); },
          "factors"_a, "steps"_a, "budget"_a, Unlocked())
      .def("covered", [](const Slices& slices) { return flags(slices.covered()); })
      .def(
          "cells",
          [](const Slices& slices, const KeptFactors& factors) {
            return give(slices.cells(factors.view()));
          },
          "factors"_a)
      .def_prop_ro("components", &Slices::components)
      .def("sum", sum, "kernels"_a, "factors"_a, "weight"_a.none(), "value"_a, "threads"_a);
}

}  // namespace crfkit
