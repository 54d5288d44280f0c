// Many small graphs in lanes, and sequences of slices in lanes, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "engine/checks.hpp"
#include "graph/lanes/slices.hpp"
#include "graph/lanes/small_graphs.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

using Filled = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FilledLabels = std::span<std::int32_t>;

void marginals(const SmallGraphs& graphs, const Kernels& kernels, const KeptFactors& kept,
               Written value, Written node, const std::vector<Filled>& clique, int threads) {
  const Factors& f = kept.view();
  check_length("value", value.size(), f.graphs);
  check_length("node", node.size(), f.label_ptr[f.variables]);
  if (!clique.empty()) check_length("clique", clique.size(), f.groups);
  std::vector<double*> places;
  for (std::size_t g = 0; g < clique.size(); ++g) {
    check_length("an array of clique", clique[g].size(), f.group[g].count * f.group[g].cells);
    places.push_back(clique[g].data());
  }
  const Released unlocked;
  graphs.sums(*kernels.small_graphs, f, threads, value.data(), node.data(),
              places.empty() ? nullptr : places.data());
}

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

void bind_lanes(nb::module_& m) {
  nb::class_<SmallGraphs>(m, "SmallGraphs")
      .def(
          "__init__",
          [](SmallGraphs* self, const KeptFactors& factors, std::int64_t least_share, int threads) {
            new (self) SmallGraphs(factors.view(), least_share, threads);
          },
          "factors"_a, "least_share"_a, "threads"_a, Unlocked())
      .def("covered", [](const SmallGraphs& graphs) { return flags(graphs.covered()); })
      .def(
          "cells",
          [](const SmallGraphs& graphs, const KeptFactors& factors) {
            return give(graphs.cells(factors.view()));
          },
          "factors"_a)
      .def_prop_ro("covers_all", &SmallGraphs::covers_all)
      .def_prop_ro("components", &SmallGraphs::components)
      .def_prop_ro("patterns", &SmallGraphs::patterns)
      .def(
          "log_partition",
          [](const SmallGraphs& graphs, const Kernels& kernels, const KeptFactors& factors,
             Written value, int threads) {
            check_length("value", value.size(), factors.view().graphs);
            graphs.sums(*kernels.small_graphs, factors.view(), threads, value.data(), nullptr,
                        nullptr);
          },
          "kernels"_a, "factors"_a, "value"_a, "threads"_a, Unlocked())
      .def("marginals", marginals, "kernels"_a, "factors"_a, "value"_a, "node"_a,
           "clique"_a.noconvert(), "threads"_a)
      .def(
          "best",
          [](const SmallGraphs& graphs, const Kernels& kernels, const KeptFactors& factors,
             Written value, FilledLabels label, int threads) {
            check_length("value", value.size(), factors.view().graphs);
            check_length("label", label.size(), factors.view().variables);
            graphs.best(*kernels.small_graphs, factors.view(), threads, value.data(), label.data());
          },
          "kernels"_a, "factors"_a, "value"_a, "label"_a, "threads"_a, Unlocked());

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
