// Pseudo-likelihood and piecewise training for Python.
#include <nanobind/stl/string.h>

#include "engine/checks.hpp"
#include "graph/conditionals.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {

namespace {

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

void bind_conditionals(nb::module_& m) {
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
