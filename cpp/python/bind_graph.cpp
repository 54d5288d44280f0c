// Graphs for Python: variables and groups of factors, checked once.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "engine/checks.hpp"
#include "graph/conditionals.hpp"
#include "graph/labeling_scores.hpp"
#include "graph/union_find.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

using Scope = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The component of each variable, by scopes [M, arity].
Given<std::int32_t> components(std::int64_t variables, const std::vector<Scope>& scopes) {
  if (variables < 0) refuse("variables is " + text(variables) + ", expected 0 or more");
  std::vector<std::int32_t> of;
  {
    const Released release;
    UnionFind joined(variables);
    for (const Scope& scope : scopes) {
      for (std::size_t i = 0; i < scope.size(); ++i)
        if (const std::int64_t v = scope.data()[i]; v < 0 || v >= variables)
          refuse("a scope has variable " + text(v) + ", expected 0 to " + text(variables - 1));
      joined.join_rows(scope.data(), static_cast<std::int64_t>(scope.shape(0)),
                       static_cast<std::int64_t>(scope.shape(1)));
    }
    of = std::move(joined).components();
  }
  return give(std::move(of));
}

Given<double> labeling_scores(const KeptFactors& factors, Integers label, std::int64_t rows) {
  std::vector<double> scores;
  {
    const Released release;
    scores = scores_of_labelings(factors.view(), label, rows);
  }
  return give(std::move(scores));
}

using Gradients = nb::typed<nb::list, nb::ndarray<nb::numpy, double>>;

Tuple<double, Gradients> conditional_loss(const Kernels& kernels, const KeptFactors& factors,
                                          const Incidence* incidence, Integers label, Reals weight,
                                          const std::string& terms, int threads) {
  const Terms asked =
      terms == "labels"    ? Terms::labels
      : terms == "factors" ? Terms::factors
      : terms == "each"
          ? Terms::each
          : (refuse("terms is " + terms + ", expected labels, factors or each"), Terms::each);
  const Factors& f = factors.view();
  if (asked == Terms::labels) {
    if (!incidence) refuse("the terms of labels need incidence");
    std::int64_t entries = 0;
    for (std::int64_t g = 0; g < f.groups; ++g) entries += f.group[g].count * f.group[g].arity;
    check_length("incidence", incidence->ptr.size(), f.variables + 1);
    check_length("incidence", incidence->entry.size(), entries);
  }
  double value;
  std::vector<std::vector<double>> gradient;
  {
    const Released release;
    ConditionalLoss loss(*kernels.conditionals, f, incidence, label, weight, asked, threads);
    value = loss.value;
    gradient = std::move(loss.gradient);
  }
  nb::list parts;
  for (std::vector<double>& part : gradient) parts.append(give(std::move(part)));
  return nb::make_tuple(value, parts);
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<KeptFactors>(m, "Factors")
      .def(nb::init<KeptIntegers, KeptIntegers, KeptReals>(), "width"_a, "graph"_a, "constant"_a)
      .def("add", &KeptFactors::add, "name"_a, "scope"_a, "shape"_a, "table"_a,
           "which"_a.none() = nb::none(), "scale"_a.none() = nb::none())
      .def("labeling_scores", &labeling_scores, "label"_a, "rows"_a)
      .def_prop_ro("variables", [](const KeptFactors& f) { return f.view().variables; })
      .def_prop_ro("groups", [](const KeptFactors& f) { return f.view().groups; });
  m.def("components", components, "variables"_a, "scopes"_a);
  nb::class_<Incidence>(m, "Incidence")
      .def(
          "__init__",
          [](Incidence* self, const KeptFactors& factors) {
            const Released release;
            new (self) Incidence(factors.view());
          },
          "factors"_a);
  m.def("conditional_loss", conditional_loss, "kernels"_a, "factors"_a, "incidence"_a.none(),
        "label"_a, "weight"_a, "terms"_a, "threads"_a);
}

}  // namespace crfkit
