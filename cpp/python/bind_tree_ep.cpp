// Expectation propagation with trees for Python.
#include <nanobind/stl/optional.h>

#include "engine/checks.hpp"
#include "graph/tree_ep/tree_ep.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {

namespace {

// Refuses before it begins where a sweep would compute more than `budget` cells.
Parts tree_ep(const KeptFactors& factors, double tolerance, std::int64_t most, double budget,
              bool cliques, int threads) {
  check_threads(threads);
  TreeEPResult found;
  double work = 0.0;
  {
    Released release;
    const SpanningForest forest(factors.view());
    TreeEP ep(forest, budget);
    work = ep.work();
    if (work <= budget) found = ep.run(tolerance, most, cliques, threads);
  }
  Parts result;
  result["work"] = work;
  result["node"] = give(std::move(found.node));
  result["clique"] = give(std::move(found.clique));
  result["value"] = give(std::move(found.value));
  result["sweeps"] = give(std::move(found.sweeps));
  result["converged"] = give(std::move(found.converged));
  result["exact"] = give(std::move(found.exact));
  return result;
}

}  // namespace

void bind_tree_ep(nb::module_& m) {
  m.def("tree_ep", &tree_ep, "factors"_a, "tolerance"_a, "most"_a, "budget"_a, "cliques"_a,
        "threads"_a);
}

}  // namespace crfkit
