// Conjunctions of attributes and the gains of features for Python.

#include <optional>

#include "engine/induction/conjoin.hpp"
#include "engine/induction/gains.hpp"
#include "python/arrays.hpp"
#include "python/spans.hpp"

namespace crfkit {
namespace {

using Conjoined = Tuple<Given<std::int64_t>, Given<std::int32_t>, Given<double>>;

Conjoined conjoin(const Conjunctions& made, Pointers ptr, Integers id,
                  const std::optional<KeptReals>& value, int threads) {
  if (value) check_length("value", value->size(), static_cast<std::int64_t>(id.size()));
  Conjunctions::Rows rows;
  {
    nb::gil_scoped_release release;
    rows = made.conjoin(ptr, id, data_or_null(value), threads);
  }
  return Conjoined(nb::make_tuple(give(std::move(rows.ptr)), give(std::move(rows.id)),
                                  give(std::move(rows.value))));
}

using Found = Tuple<Given<std::int64_t>, Given<std::int32_t>, Given<double>, Given<double>>;

Found gains(Pointers ptr, Integers token, const std::optional<KeptReals>& value, Reals p,
            Integers gold, const std::optional<KeptReals>& weight, int labels, double l2,
            double least, int threads) {
  if (value) check_length("value", value->size(), static_cast<std::int64_t>(token.size()));
  if (weight) check_length("weight", weight->size(), static_cast<std::int64_t>(gold.size()));
  Gains found;
  {
    nb::gil_scoped_release release;
    const GainSearch search(p, gold, data_or_null(weight), labels, l2);
    found = search(ptr, token, data_or_null(value), least, threads);
  }
  return Found(nb::make_tuple(give(std::move(found.test)), give(std::move(found.label)),
                              give(std::move(found.mu)), give(std::move(found.gain))));
}

}  // namespace

void bind_induction(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Conjunctions>(m, "Conjunctions")
      .def(nb::init<Pointers, Integers, Integers>(), "ptr"_a, "right"_a, "made"_a)
      .def("conjoin", &conjoin, "ptr"_a, "id"_a, "value"_a.none(), "threads"_a);
  m.def("gains", &gains, "ptr"_a, "token"_a, "value"_a.none(), "p"_a, "gold"_a, "weight"_a.none(),
        "labels"_a, "l2"_a, "least"_a, "threads"_a);
}

}  // namespace crfkit
