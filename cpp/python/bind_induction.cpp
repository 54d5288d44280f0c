// Conjunctions of attributes and the gains of features for Python.

#include <optional>

#include "engine/checks.hpp"
#include "engine/induction/conjoin.hpp"
#include "engine/induction/gains.hpp"
#include "python/arrays.hpp"
#include "python/released.hpp"
#include "python/spans.hpp"

namespace crfkit {
namespace {

using Conjoined = Tuple<Given<std::int64_t>, Given<std::int32_t>, Given<double>>;

Conjoined conjoin(const Conjunctions& made, Pointers ptr, Integers id,
                  const std::optional<KeptReals>& value, int threads) {
  if (value) check_length("value", value->size(), static_cast<std::int64_t>(id.size()));
  Conjunctions::Rows rows;
  {
    Released release;
    rows = made.conjoin(ptr, id, data_or_null(value), threads);
  }
  return Conjoined(nb::make_tuple(give(std::move(rows.ptr)), give(std::move(rows.id)),
                                  give(std::move(rows.value))));
}

using Found = Tuple<Given<std::int32_t>, Given<std::int32_t>, Given<std::int32_t>,
                    Given<std::int64_t>, Given<std::uint64_t>, Given<double>, Given<double>>;

Found given(Gains&& found) {
  return Found(nb::make_tuple(give(std::move(found.left)), give(std::move(found.right)),
                              give(std::move(found.label)), give(std::move(found.tokens)),
                              give(std::move(found.mark)), give(std::move(found.mu)),
                              give(std::move(found.gain))));
}

Found single(const GainSearch& search, double least, int threads) {
  Gains found;
  {
    Released release;
    found = search.single(least, threads);
  }
  return given(std::move(found));
}

Given<std::int64_t> diverse(const GainSearch& search, Integers left, Integers right, Integers label,
                            Reals mu, std::int64_t most, double share) {
  std::vector<std::int64_t> found;
  {
    Released release;
    found = search.diverse(left, right, label, mu, most, share);
  }
  return give(std::move(found));
}

Found pairs(const GainSearch& search, std::span<const bool> left, std::span<const bool> right,
            double least, int threads) {
  Gains found;
  {
    Released release;
    found = search.pairs(left, right, least, threads);
  }
  return given(std::move(found));
}

}  // namespace

void bind_induction(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Conjunctions>(m, "Conjunctions")
      .def(nb::init<Pointers, Integers, Integers>(), "ptr"_a, "right"_a, "made"_a)
      .def("conjoin", &conjoin, "ptr"_a, "id"_a, "value"_a.none(), "threads"_a);
  nb::class_<GainSearch>(m, "GainSearch")
      .def(nb::init<KeptReals, KeptIntegers, std::optional<KeptReals>, int, double, KeptPointers,
                    KeptIntegers, std::optional<KeptReals>>(),
           "p"_a, "gold"_a, "weight"_a.none(), "labels"_a, "l2"_a, "ptr"_a, "id"_a,
           "value"_a.none())
      .def("single", &single, "least"_a, "threads"_a)
      .def("pairs", &pairs, "left"_a, "right"_a, "least"_a, "threads"_a)
      .def("diverse", &diverse, "left"_a, "right"_a, "label"_a, "mu"_a, "most"_a, "share"_a);
}

}  // namespace crfkit
