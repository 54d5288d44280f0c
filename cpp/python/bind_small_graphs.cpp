// Many small graphs in lanes, for Python.
#include <nanobind/stl/vector.h>

#include "engine/checks.hpp"
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

}  // namespace

void bind_small_graphs(nb::module_& m) {
  nb::class_<SmallGraphs>(m, "SmallGraphs")
      .def(
          "__init__",
          [](SmallGraphs* self, const KeptFactors& factors, std::int64_t least_share, int threads) {
            new (self) SmallGraphs(factors.view(), least_share, threads);
          },
          "factors"_a, "least_share"_a, "threads"_a, Unlocked())
      .def("covered",
           [](const SmallGraphs& graphs) {
             Array<bool> made({graphs.covered().size()});
             std::copy(graphs.covered().begin(), graphs.covered().end(), made.data.get());
             return made.give();
           })
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
}

}  // namespace crfkit
