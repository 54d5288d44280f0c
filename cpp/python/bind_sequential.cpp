// Methods that learn sequence by sequence for Python: their data and their trainers.
#include <algorithm>
#include <string>

#include "engine/checks.hpp"
#include "engine/sequential/coordinate.hpp"
#include "engine/sequential/dual_trainer.hpp"
#include "engine/sequential/margin_trainer.hpp"
#include "engine/sequential/mistake_trainer.hpp"
#include "engine/sequential/stochastic_trainer.hpp"
#include "python/arrays.hpp"
#include "python/released.hpp"
#include "python/spans.hpp"

namespace crfkit {
namespace {

// Gap, gain, revised and visits of a pass.
using Totals = Tuple<double, double, std::int64_t, std::int64_t>;

// ---- the state of the dual: arrays by name, and v as `read` gives it

Parts state(DualTrainer& trainer) {
  Parts parts;
  for (const auto& [name, values] : trainer.floats())
    parts[name] = give(std::vector<float>(*values));
  for (const auto& [name, values] : trainer.doubles())
    parts[name] = give(std::vector<double>(*values));
  return parts;
}

template <class T>
void put(const nb::dict& parts, const char* name, std::vector<T>& values) {
  if (!parts.contains(name)) refuse(std::string("the state lacks ") + name);
  const Kept<T> given = nb::cast<Kept<T>>(parts[name]);
  if (given.size() != values.size())
    refuse(std::string(name) + " of the state has another size: it belongs to other data");
  std::copy_n(given.data(), values.size(), values.data());
}

void restore(DualTrainer& trainer, Reals v, const Parts& parts) {
  for (const auto& [name, values] : trainer.floats()) put(parts, name, *values);
  for (const auto& [name, values] : trainer.doubles()) put(parts, name, *values);
  trainer.write(v);
}

Totals totals(const PassTotals& t) { return nb::make_tuple(t.gap, t.gain, t.revised, t.visits); }

Totals run_dual(DualTrainer& trainer, const Kernels& kernels, Pointers order, double relax,
                double threshold, bool ramp, int threads) {
  PassTotals found;
  {
    Released release;
    found = trainer.run(kernels, order, relax, threshold, ramp, threads);
  }
  return totals(found);
}

Totals begin_dual(DualTrainer& trainer, const Kernels& kernels, Reals node, Reals edge,
                  const std::optional<KeptReals>& ends, Pointers order, int threads) {
  PassTotals found;
  {
    Released release;
    found = trainer.begin(kernels, node, edge, ends, order, threads);
  }
  return totals(found);
}

Parts margin_state(const MarginTrainer& trainer) {
  MarginTrainer::State s = trainer.state();
  Parts parts;
  parts["count"] = give(std::move(s.count));
  parts["room"] = give(std::move(s.room));
  parts["path"] = give(std::move(s.path));
  parts["share"] = give(std::move(s.share));
  parts["cost"] = give(std::move(s.cost));
  parts["gram"] = give(std::move(s.gram));
  return parts;
}

}  // namespace

void bind_sequential(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Segmented>(m, "Segmented")
      .def(nb::init<const KeptPointers&, const KeptIntegers&, const KeptIntegers&,
                    const KeptIntegers&, int, bool, bool>(),
           "position_ptr"_a, "begin"_a, "place"_a, "length_cell"_a, "longest"_a, "begins"_a,
           "ends"_a);
  nb::class_<EdgeOccurrences>(m, "EdgeOccurrences")
      .def(nb::init<const KeptPointers&, const KeptIntegers&, const std::optional<KeptReals>&,
                    const KeptPointers&, const KeptIntegers&>(),
           "ptr"_a, "attr"_a, "value"_a.none(), "row_ptr"_a, "cell"_a);
  nb::class_<Labeled>(m, "Labeled")
      .def(nb::init<const KeptPointers&, const KeptPointers&, const KeptIntegers&,
                    const std::optional<KeptReals>&, const KeptIntegers&, int, const KeptPointers&,
                    const KeptIntegers&, const KeptIntegers&, bool, bool,
                    const std::optional<KeptReals>&, const std::optional<KeptReals>&,
                    const std::optional<Segmented>&, int, const std::optional<EdgeOccurrences>&>(),
           "seq_ptr"_a, "attr_ptr"_a, "attr"_a, "value"_a.none(), "label"_a, "labels"_a,
           "row_ptr"_a, "column"_a, "transition_cell"_a, "start"_a, "stop"_a, "weight"_a.none(),
           "forbidden"_a.none(), "segments"_a.none(), "before"_a = 1,
           "edges"_a.none() = nb::none());
  nb::class_<CompiledSequences>(m, "CompiledSequences");

  nb::class_<StochasticTrainer>(m, "StochasticTrainer")
      .def(nb::init<const Labeled&, int>(), "layout"_a, "rule"_a, Unlocked())
      .def("compile", &StochasticTrainer::compile, "data"_a, nb::keep_alive<0, 1>(), Unlocked())
      .def("run", &StochasticTrainer::run, "kernels"_a, "sequences"_a, "order"_a, "rate"_a,
           "strengths"_a, "offset"_a, "due"_a, Unlocked())
      .def("settle", &StochasticTrainer::settle, "kernels"_a, Unlocked())
      .def("read", &StochasticTrainer::read, "out"_a)
      .def("write", &StochasticTrainer::write, "weights"_a)
      .def("read_memory", &StochasticTrainer::read_memory, "out"_a)
      .def("write_memory", &StochasticTrainer::write_memory, "memory"_a);

  nb::class_<MistakeTrainer>(m, "MistakeTrainer")
      .def(nb::init<const Labeled&, int, bool, int, int, double, double, double>(), "data"_a,
           "remedy"_a, "averaged"_a, "margin"_a, "kbest"_a, "most"_a, "slack"_a, "gamma"_a,
           Unlocked())
      .def("run", &MistakeTrainer::run, "kernels"_a, "order"_a, "seen"_a, "spent"_a, "right"_a,
           Unlocked())
      .def("read", &MistakeTrainer::read, "out"_a)
      .def("write", &MistakeTrainer::write, "weights"_a)
      .def("read_memory", &MistakeTrainer::read_memory, "out"_a)
      .def("write_memory", &MistakeTrainer::write_memory, "memory"_a);

  nb::class_<MarginTrainer>(m, "MarginTrainer")
      .def(nb::init<const Labeled&, double, double>(), "data"_a, "inverse"_a, "small_inverse"_a,
           Unlocked())
      .def("run", &MarginTrainer::run, "kernels"_a, "order"_a, "seen"_a, "learns"_a, "gaps"_a,
           Unlocked())
      .def("read", &MarginTrainer::read, "out"_a)
      .def("read_memory", &MarginTrainer::read_memory, "out"_a)
      .def("cost", &MarginTrainer::cost)
      .def("state", &margin_state)
      .def("restore", &MarginTrainer::restore, "w"_a, "memory"_a, "count"_a, "room"_a, "path"_a,
           "share"_a, "cost"_a, "gram"_a);

  nb::class_<CoordinateTrainer>(m, "CoordinateTrainer")
      .def(nb::init<const Labeled&>(), "data"_a, Unlocked())
      .def("run", &CoordinateTrainer::run, "kernels"_a, "w"_a, "strengths"_a, "kappa"_a,
           Unlocked());

  nb::class_<DualTrainer>(m, "DualTrainer")
      .def(nb::init<const Labeled&, Reals, bool, int, const std::optional<KeptIntegers>&,
                    const std::optional<KeptIntegers>&>(),
           "data"_a, "strengths"_a, "exponentiated"_a, "threads"_a,
           "pair_ptr"_a.none() = nb::none(), "pair_from"_a.none() = nb::none(), Unlocked())
      .def("run", &run_dual, "kernels"_a, "order"_a, "relax"_a, "threshold"_a, "ramp"_a,
           "threads"_a)
      .def("begin", &begin_dual, "kernels"_a, "node"_a, "edge"_a, "ends"_a.none(), "order"_a,
           "threads"_a)
      .def("read", &DualTrainer::read, "out"_a)
      .def("write", &DualTrainer::write, "v"_a)
      .def("exact", &DualTrainer::exact, "out"_a, "threads"_a, Unlocked())
      .def("diagonal", &DualTrainer::diagonal, "out"_a, "threads"_a, Unlocked())
      .def("entropy", &DualTrainer::entropy)
      .def("state", &state)
      .def("restore", &restore, "v"_a, "parts"_a);
}

}  // namespace crfkit
