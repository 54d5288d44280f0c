// Belief propagation for Python: a plan for some scopes, and runs of it.
#include <nanobind/stl/optional.h>

#include "engine/checks.hpp"
#include "graph/messages/beliefs.hpp"
#include "graph/messages/edge_appearance.hpp"
#include "graph/messages/labels.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

// A run with all that it refers to.
struct KeptRun {
  std::vector<double> weight;
  MessageRun run;

  KeptRun(const Kernels& kernels, const KeptFactors& f, const MessagePlan& plan, bool maxima,
          std::int64_t sweeps, double tolerance, double damping,
          std::optional<std::uint64_t> weight_seed, int threads)
      : weight(weight_seed ? edge_appearance(plan.places, *weight_seed) : std::vector<double>()),
        run(kernels, checked(f.view(), plan, threads), plan,
            {maxima, sweeps, tolerance, damping, weight_seed ? weight.data() : nullptr, threads}) {}

  static const Factors& checked(const Factors& f, const MessagePlan& plan, int threads) {
    check_threads(threads);
    if (f.variables != plan.places.variables()) refuse("the plan is for other factors");
    return f;
  }
};

using States = MessageRun::State;

// By graph: whether all of its components are in such a state.
template <class Test>
std::vector<std::uint8_t> all_of(const KeptRun& kept, Test test) {
  const MessageRun& run = kept.run;
  std::vector<std::uint8_t> each(run.factors.graphs, 1);
  for (std::int64_t c = 0; c < run.places.components(); ++c)
    each[run.places.graph[c]] &= static_cast<std::uint8_t>(test(c));
  return each;
}

}  // namespace

void bind_paths(nb::module_& m) {
  nb::class_<MessagePlan>(m, "MessagePlan")
      .def(
          "__init__",
          [](MessagePlan* self, const KeptFactors& f, int schedule) {
            if (schedule < 0 || schedule > 2) refuse("schedule must be 0, 1 or 2");
            const Released unlocked;
            new (self) MessagePlan(f.view(), static_cast<Schedule>(schedule));
          },
          "factors"_a, "schedule"_a)
      .def_prop_ro("schedule", [](const MessagePlan& p) { return static_cast<int>(p.schedule); })
      .def_prop_ro("forests", [](const MessagePlan& p) {
        return p.covering ? static_cast<std::int64_t>(p.covering->forest.size()) : 0;
      });
  nb::class_<KeptRun>(m, "MessageRun")
      .def(nb::init<const Kernels&, const KeptFactors&, const MessagePlan&, bool, std::int64_t,
                    double, double, std::optional<std::uint64_t>, int>(),
           "kernels"_a, "factors"_a, "plan"_a, "maxima"_a, "sweeps"_a, "tolerance"_a, "damping"_a,
           "weight_seed"_a.none(), "threads"_a, nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           Unlocked())
      .def_prop_ro("converged",
                   [](const KeptRun& kept) {
                     return give(all_of(kept, [&](std::int64_t c) {
                       return kept.run.state[c] != States::given_up;
                     }));
                   })
      .def_prop_ro("acyclic",
                   [](const KeptRun& kept) {
                     return give(all_of(
                         kept, [&](std::int64_t c) { return kept.run.places.acyclic[c] != 0; }));
                   })
      .def_prop_ro("sweeps",
                   [](const KeptRun& kept) {
                     const MessageRun& run = kept.run;
                     std::vector<std::int64_t> most(run.factors.graphs, 0);
                     for (std::int64_t c = 0; c < run.places.components(); ++c)
                       most[run.places.graph[c]] =
                           std::max(most[run.places.graph[c]], run.sweeps[c]);
                     return give(std::move(most));
                   })
      .def("marginals",
           [](KeptRun& kept) -> Tuple<Given<double>, Given<double>> {
             std::vector<double> value(kept.run.factors.graphs);
             std::vector<double> node(kept.run.factors.label_ptr[kept.run.factors.variables]);
             {
               const Released unlocked;
               Beliefs(kept.run).sum(value.data(), node.data());
             }
             return nb::make_tuple(give(std::move(value)), give(std::move(node)));
           })
      .def(
          "clique",
          [](KeptRun& kept, std::int64_t group, Reals node) {
            const Factors& f = kept.run.factors;
            if (group < 0 || group >= f.groups) refuse("there is no such group of factors");
            check_length("node", node.size(), f.label_ptr[f.variables]);
            Array<double> out({static_cast<std::size_t>(f.group[group].count),
                               static_cast<std::size_t>(f.group[group].cells)});
            {
              const Released unlocked;
              Beliefs(kept.run).clique(group, node.data(), out.data.get());
            }
            return out.give();
          },
          "group"_a, "node"_a)
      .def(
          "counts",
          [](KeptRun& kept, std::int64_t group, Reals node, Reals each) {
            const Factors& f = kept.run.factors;
            if (group < 0 || group >= f.groups) refuse("there is no such group of factors");
            const FactorGroup& of = f.group[group];
            check_length("node", node.size(), f.label_ptr[f.variables]);
            check_length("each", each.size(), of.count);
            std::vector<double> out(of.tables * of.cells);
            {
              const Released unlocked;
              Beliefs(kept.run).counts(group, node.data(), each.data(), out.data());
            }
            return give(std::move(out));
          },
          "group"_a, "node"_a, "each"_a)
      .def(
          "slack",
          [](KeptRun& kept, Reals node) {
            const Factors& f = kept.run.factors;
            check_length("node", node.size(), f.label_ptr[f.variables]);
            std::vector<double> out(f.graphs);
            {
              const Released unlocked;
              Beliefs(kept.run).slack(node.data(), out.data());
            }
            return give(std::move(out));
          },
          "node"_a)
      .def("labels", [](const KeptRun& kept) {
        std::vector<std::int32_t> label(kept.run.factors.variables);
        {
          const Released unlocked;
          std::vector<std::uint8_t> found(kept.run.factors.graphs);
          MessageLabels(kept.run).run(label.data(), found.data());
        }
        return give(std::move(label));
      });
}

}  // namespace crfkit
