// Graphs for Python: variables and groups of factors, checked once.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/graph.hpp"

namespace crfkit {

void bind_graph(nb::module_& m) {
  nb::class_<KeptFactors>(m, "Factors")
      .def(nb::init<KeptIntegers, KeptIntegers, KeptReals>(), "width"_a, "graph"_a, "constant"_a)
      .def("add", &KeptFactors::add, "name"_a, "scope"_a, "shape"_a, "table"_a,
           "which"_a.none() = nb::none(), "scale"_a.none() = nb::none())
      .def_prop_ro("variables", [](const KeptFactors& f) { return f.view().variables; })
      .def_prop_ro("groups", [](const KeptFactors& f) { return f.view().groups; });
}

}  // namespace crfkit
