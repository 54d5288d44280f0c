// Mean field, Gibbs sampling and annealing for Python.
#include <nanobind/stl/optional.h>

#include "engine/checks.hpp"
#include "graph/sampling/first_labeling.hpp"
#include "graph/sampling/gibbs.hpp"
#include "graph/sampling/mean_field.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {

namespace {

// A labeling of each graph to start from, -1 where there is none, and how the search ended.
Tuple<Given<std::int32_t>, Given<std::uint8_t>> first_labeling(const KeptFactors& factors,
                                                               bool random, std::uint64_t seed,
                                                               std::int64_t budget) {
  const Factors& f = factors.view();
  std::vector<std::int32_t> label(f.variables);
  std::vector<std::uint8_t> end(f.graphs);
  {
    Released release;
    LabelingSearch search(f);
    const auto ends = search.find(random, seed, budget, label.data());
    for (std::int64_t n = 0; n < f.graphs; ++n) end[n] = static_cast<std::uint8_t>(ends[n]);
  }
  return nb::make_tuple(give(std::move(label)), give(std::move(end)));
}

void check_start(const Factors& f, Integers start, std::int64_t chains, int threads) {
  check_threads(threads);
  if (chains < 1) refuse("chains is " + text(chains) + ", expected 1 or more");
  check_length("start", start.size(), chains * f.variables);
  for (std::int64_t i = 0; i < chains * f.variables; ++i)
    if (start[i] < -1 || start[i] >= f.width[i % f.variables])
      refuse("start[" + text(i) + "] is " + text(start[i]) + ", which is not a label");
}

void check_steps(const char* name, std::int64_t given, std::int64_t least) {
  if (given < least || given > (std::int64_t{1} << 40))
    refuse(std::string(name) + " is " + text(given) + ", expected " + text(least) + " to 2^40");
}

Parts gibbs_marginals(const Kernels& kernels, const KeptFactors& factors, const Blocks& blocks,
                      Integers start, std::int64_t chains, std::int64_t burn, std::int64_t sweeps,
                      std::uint64_t seed, bool cliques, int threads) {
  const Factors& f = factors.view();
  check_start(f, start, chains, threads);
  check_steps("burn", burn, 0);
  check_steps("sweeps", sweeps, 1);
  std::vector<double> node(f.label_ptr[f.variables]), clique;
  std::optional<Halves> halves;
  {
    Released release;
    VisitPlan plan(f, blocks);
    if (cliques) clique.resize(plan.clique_cells);
    halves = Chains(*kernels.sampling, plan, seed)
                 .marginals(start.data(), chains, burn, sweeps, threads, node.data(),
                            cliques ? clique.data() : nullptr);
  }
  Parts result;
  result["node"] = give(std::move(node));
  result["clique"] = give(std::move(clique));
  result["sum"] = give(std::move(halves->sum));
  result["first"] = give(std::move(halves->first));
  return result;
}

Parts gibbs_sample(const Kernels& kernels, const KeptFactors& factors, const Blocks& blocks,
                   Integers start, std::int64_t chains, std::int64_t burn, std::int64_t thin,
                   std::int64_t n, std::uint64_t seed, int threads) {
  const Factors& f = factors.view();
  check_start(f, start, chains, threads);
  check_steps("burn", burn, 0);
  check_steps("thin", thin, 1);
  check_steps("n", n, 1);
  Array<std::int32_t> label({static_cast<std::size_t>(n), static_cast<std::size_t>(f.variables)});
  std::optional<Halves> halves;
  {
    Released release;
    VisitPlan plan(f, blocks);
    halves = Chains(*kernels.sampling, plan, seed)
                 .sample(start.data(), chains, burn, thin, n, threads, label.data.get());
  }
  Parts result;
  result["label"] = label.give();
  result["sum"] = give(std::move(halves->sum));
  result["first"] = give(std::move(halves->first));
  return result;
}

Tuple<Given<std::int32_t>, Given<double>, Given<std::uint8_t>> anneal(
    const Kernels& kernels, const KeptFactors& factors, const Blocks& blocks, Integers start,
    std::int64_t restarts, Reals temperature, std::int64_t most, std::uint64_t seed, int threads) {
  const Factors& f = factors.view();
  check_start(f, start, restarts, threads);
  if (blocks.trees) refuse("annealing needs blocks of single variables");
  for (const double t : temperature)
    if (!(t > 0.0)) refuse("temperatures must be above 0");
  std::vector<std::int32_t> label(f.variables);
  std::vector<double> score(f.graphs);
  std::vector<std::uint8_t> still(f.graphs);
  {
    Released release;
    VisitPlan plan(f, blocks);
    Chains(*kernels.sampling, plan, seed)
        .anneal(start.data(), restarts, temperature.data(),
                static_cast<std::int64_t>(temperature.size()), most, threads, label.data(),
                score.data(), still.data());
  }
  return nb::make_tuple(give(std::move(label)), give(std::move(score)), give(std::move(still)));
}

Parts average(const Kernels& kernels, const KeptFactors& factors, const Blocks& blocks, Reals start,
              double tolerance, std::int64_t most, bool cliques, int threads) {
  const Factors& f = factors.view();
  check_threads(threads);
  check_length("start", start.size(), f.label_ptr[f.variables]);
  MeanFieldResult found;
  {
    Released release;
    const VisitPlan plan(f, blocks);
    found = mean_field(*kernels.sampling, plan, start.data(), tolerance, most, cliques, threads);
  }
  Parts result;
  result["node"] = give(std::move(found.node));
  result["clique"] = give(std::move(found.clique));
  result["bound"] = give(std::move(found.bound));
  result["sweeps"] = give(std::move(found.sweeps));
  result["converged"] = give(std::move(found.converged));
  result["exact"] = give(std::move(found.exact));
  return result;
}

}  // namespace

void bind_sampling(nb::module_& m) {
  nb::class_<Blocks>(m, "Blocks")
      .def(
          "__init__",
          [](Blocks* self, const KeptFactors& factors, bool trees) {
            new (self) Blocks(factors.view(), trees);
          },
          "factors"_a, "trees"_a)
      .def_prop_ro("blocks", [](const Blocks& b) { return b.block_ptr.size() - 1; })
      .def_prop_ro("classes", [](const Blocks& b) { return b.class_ptr.size() - 1; });
  m.def("first_labeling", &first_labeling, "factors"_a, "random"_a, "seed"_a, "budget"_a);
  m.def("gibbs_marginals", &gibbs_marginals, "kernels"_a, "factors"_a, "blocks"_a, "start"_a,
        "chains"_a, "burn"_a, "sweeps"_a, "seed"_a, "cliques"_a, "threads"_a);
  m.def("gibbs_sample", &gibbs_sample, "kernels"_a, "factors"_a, "blocks"_a, "start"_a, "chains"_a,
        "burn"_a, "thin"_a, "n"_a, "seed"_a, "threads"_a);
  m.def("anneal", &anneal, "kernels"_a, "factors"_a, "blocks"_a, "start"_a, "restarts"_a,
        "temperature"_a, "most"_a, "seed"_a, "threads"_a);
  m.def("mean_field", &average, "kernels"_a, "factors"_a, "blocks"_a, "start"_a, "tolerance"_a,
        "most"_a, "cliques"_a, "threads"_a);
}

}  // namespace crfkit
