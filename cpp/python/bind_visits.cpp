// Visits of variables for Python: TRW-S, dual ascent on forests, ICM.
#include "graph/visits/visits.hpp"
#include "python/graph.hpp"
#include "python/released.hpp"

namespace crfkit {

namespace {

using Flags = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::uint8_t> span_of(const Flags& flags) { return {flags.data(), flags.size()}; }

}  // namespace

void bind_visits(nb::module_& m) {
  nb::class_<VisitOrder>(m, "VisitOrder")
      .def(
          "__init__",
          [](VisitOrder* self, const KeptFactors& f) {
            Released release;
            new (self) VisitOrder(f.view());
          },
          "factors"_a)
      .def_prop_ro("levels", [](const VisitOrder& o) { return o.level.size() - 1; });
  nb::class_<VisitEngine>(m, "Visits")
      .def(nb::init<const Kernels&, const KeptFactors&, const VisitOrder&, bool, bool>(),
           "kernels"_a, "factors"_a, "order"_a, "forests"_a, "both"_a, nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>())
      .def(
          "sweep",
          [](VisitEngine& v, const Flags& active, bool choose, int threads) {
            Released release;
            v.sweep(span_of(active), choose, threads);
          },
          "active"_a, "choose"_a, "threads"_a)
      .def(
          "improve",
          [](VisitEngine& v, const Flags& active, int rounds, int threads) {
            Released release;
            return v.improve(span_of(active), rounds, threads);
          },
          "active"_a, "rounds"_a, "threads"_a)
      .def("bound", [](const VisitEngine& v) { return give(v.bound()); })
      .def("score", [](const VisitEngine& v) { return give(v.score()); })
      .def("label", [](const VisitEngine& v) { return give(v.label()); })
      .def("set_label", &VisitEngine::set_label, "label"_a)
      .def("left", [](const VisitEngine& v) { return give(v.left()); })
      .def(
          "given", [](const VisitEngine& v, std::int64_t group) { return give(v.given(group)); },
          "group"_a);
}

}  // namespace crfkit
