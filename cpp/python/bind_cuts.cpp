// Minimum cuts for Python: binary graphs, partial labelings, moves of many labels, ordered labels.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <optional>
#include <string>

#include "engine/checks.hpp"
#include "graph/cuts/binary_factors.hpp"
#include "graph/cuts/complete.hpp"
#include "graph/cuts/moves.hpp"
#include "graph/cuts/ordered.hpp"
#include "graph/cuts/solve_binary.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {
namespace {

// Why a graph was refused ("" if it was not), and the group and factor that are to blame.
using Refused = Tuple<nb::str, nb::int_, nb::int_>;
Refused refused(const Fault& fault) {
  static constexpr const char* why[] = {"", "labels", "arity", "forbids", "sign", "order"};
  return nb::make_tuple(why[fault.why], fault.group, fault.factor);
}

Given<std::int32_t> give_labels(const std::vector<std::int8_t>& label, std::int64_t variables) {
  return give(std::vector<std::int32_t>(label.begin(), label.begin() + variables));
}

Tuple<nb::float_, Given<std::int32_t>> max_flow(Reals excess, Integers from, Integers to,
                                                Reals capacity, Reals reverse) {
  const std::int64_t n = static_cast<std::int64_t>(excess.size()),
                     m = static_cast<std::int64_t>(from.size());
  check_length("to", to.size(), m);
  check_length("capacity", capacity.size(), m);
  check_length("reverse", reverse.size(), m);
  for (std::int64_t v = 0; v < n; ++v)
    if (!std::isfinite(excess[v])) refuse("excess[" + text(v) + "] is not finite");
  for (std::int64_t i = 0; i < m; ++i) {
    for (const std::int32_t v : {from[i], to[i]})
      if (v < 0 || v >= n)
        refuse("edge " + text(i) + " has node " + text(v) + ", expected 0 to " + text(n - 1));
    for (const double c : {capacity[i], reverse[i]})
      if (!std::isfinite(c) || c < 0.0)
        refuse("edge " + text(i) + " has a capacity that is not a finite number of 0 or more");
  }
  std::vector<std::int32_t> side(n);
  double value = 0.0;
  {
    Released release;
    MaxFlow flow;
    flow.build(n, m, [&](std::int64_t i) -> FlowEdge {
      return {from[i], to[i], capacity[i], reverse[i]};
    });
    for (std::int64_t v = 0; v < n; ++v) flow.excess(v) = excess[v];
    flow.run(MaxFlow::both, [&](std::int32_t, double sent) { value += sent; });
    for (std::int64_t v = 0; v < n; ++v) side[v] = flow.side(v);
  }
  return nb::make_tuple(value, give(std::move(side)));
}

Fault wrong_pair(const BinaryEnergy& energy, std::int64_t pair) {
  const std::int64_t at = energy.origin[pair];
  return {Fault::sign, at >> 40, at & ((std::int64_t{1} << 40) - 1)};
}

Tuple<Given<std::int32_t>, Refused> min_cut(const KeptFactors& factors) {
  BinaryAnswer answer;
  Fault fault;
  {
    Released release;
    BinaryEnergy energy;
    fault = binary_energy_of(factors.view(), energy);
    if (fault.why == Fault::none) {
      const std::int64_t wrong = BinarySolver().cut(energy, answer);
      if (wrong >= 0) fault = wrong_pair(energy, wrong);
    }
  }
  const std::int64_t V = fault.why == Fault::none ? factors.view().variables : 0;
  return nb::make_tuple(give_labels(answer.label, V), refused(fault));
}

// The labels that are those of some best labeling (-1 elsewhere), a labeling that agrees, and
// what the energies are at least.
Tuple<Given<std::int32_t>, Given<std::int32_t>, Given<double>, Refused> roof_dual(
    const KeptFactors& factors) {
  BinaryAnswer answer;
  std::vector<std::int8_t> partial;
  Fault fault;
  {
    Released release;
    BinaryEnergy energy;
    fault = binary_energy_of(factors.view(), energy);
    if (fault.why == Fault::none) {
      BinarySolver().roof(energy, answer);
      partial = answer.label;
      complete(energy, answer.label);
      for (std::size_t n = 0; n < answer.bound.size(); ++n)
        if (answer.impossible[n]) answer.bound[n] = infinite;
    }
  }
  const std::int64_t V = fault.why == Fault::none ? factors.view().variables : 0;
  return nb::make_tuple(give_labels(partial, V), give_labels(answer.label, V),
                        give(std::move(answer.bound)), refused(fault));
}

Tuple<Given<std::int32_t>, Refused> ordered_cut(const KeptFactors& factors) {
  std::vector<std::int32_t> label;
  Fault fault;
  {
    Released release;
    OrderedEnergy ordered(factors.view());
    fault = ordered.fault;
    if (fault.why == Fault::none) {
      BinaryAnswer answer;
      BinarySolver().cut(ordered.energy, answer);
      label = ordered.labels(answer.label);
    }
  }
  return nb::make_tuple(give(std::move(label)), refused(fault));
}

// Labels, cycles and whether no move helps any more by graph, and how many moves roof duality made.
Tuple<Given<std::int32_t>, Given<std::int64_t>, Given<std::uint8_t>, nb::int_, Refused> moves(
    const KeptFactors& factors, const std::optional<KeptIntegers>& start, bool swap,
    std::int64_t cycles) {
  const Factors& f = factors.view();
  if (cycles < 0) refuse("cycles is " + text(cycles) + ", expected 0 or more");
  if (start) {
    check_length("start", start->size(), f.variables);
    for (std::int64_t v = 0; v < f.variables; ++v)
      if ((*start)[v] < 0 || (*start)[v] >= f.width[v])
        refuse("start[" + text(v) + "] is " + text((*start)[v]) + ", expected 0 to " +
               text(f.width[v] - 1));
  }
  std::optional<Moves> made;
  {
    Released release;
    made.emplace(f, start ? Integers(*start) : Integers());
    if (made->fault.why == Fault::none && f.variables > 0) {
      if (swap)
        made->swap(cycles);
      else
        made->expand(cycles);
    }
  }
  return nb::make_tuple(give(std::move(made->label)), give(std::move(made->cycles)),
                        give(std::move(made->done)), made->fused, refused(made->fault));
}

}  // namespace

void bind_cuts(nb::module_& m) {
  m.def("max_flow", &max_flow, "excess"_a, "source"_a, "target"_a, "capacity"_a, "reverse"_a);
  m.def("min_cut", &min_cut, "problem"_a);
  m.def("roof_dual", &roof_dual, "problem"_a);
  m.def("ordered_cut", &ordered_cut, "problem"_a);
  m.def("moves", &moves, "problem"_a, "start"_a.none(), "swap"_a, "cycles"_a);
}

}  // namespace crfkit
