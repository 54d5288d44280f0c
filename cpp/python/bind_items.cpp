// Python features to ids, for Python: the walk of items.hpp over any kind of alphabet.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "python/arrays.hpp"
#include "python/frozen.hpp"
#include "python/items.hpp"
#include "python/spans.hpp"

namespace crfkit {
namespace {

// A walk; the alphabet that it looks up in is kept alive by nanobind.
class Walk {
 public:
  explicit Walk(Names names)
      : mapping_(nb::module_::import_("collections.abc").attr("Mapping")),
        walk_(names, mapping_.ptr()) {}

  std::int64_t append(nb::handle sequence, std::int64_t n) {
    return guarded([&] { return walk_.append(sequence.ptr(), n); });
  }
  std::int64_t append_labels(nb::handle sequence, std::int64_t n) {
    return guarded([&] { return walk_.append_labels(sequence.ptr(), n); });
  }

  // Rows of ids that the caller has checked; without values all are 1.
  void append_rows(Pointers ptr, Integers ids, const std::optional<KeptReals>& values) {
    if (ptr.size() < 1 || ptr.data()[0] != 0 ||
        ptr.data()[ptr.size() - 1] != static_cast<std::int64_t>(ids.size()))
      throw nb::value_error("ptr does not span the ids");
    if (values && values->size() != ids.size())
      throw nb::value_error("ids and values differ in number");
    const auto shift = static_cast<std::int64_t>(walk_.attr.size());
    for (std::size_t i = 1; i < ptr.size(); ++i) walk_.ptr.push_back(shift + ptr.data()[i]);
    for (std::size_t i = 0; i < ids.size(); ++i)
      walk_.add(ids.data()[i], values ? (*values)[i] : 1);
  }

  Tuple<std::int64_t, std::int64_t> seen() const { return nb::make_tuple(walk_.seen, walk_.inner); }

  Tuple<Given<std::int64_t>, Given<std::int32_t>, std::optional<Given<double>>> take() {
    nb::object value = nb::none();
    if (walk_.valued()) value = give(std::move(walk_.value));
    return nb::make_tuple(give(std::move(walk_.ptr)), give(std::move(walk_.attr)), value);
  }

 private:
  template <class F>
  static std::int64_t guarded(F f) {
    try {
      return f();
    } catch (const PythonError&) {
      throw nb::python_error();
    }
  }

  nb::object mapping_;
  ItemWalk walk_;
};

}  // namespace

void bind_items(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Hasher>(m, "Hasher")
      .def(
          "__init__",
          [](Hasher* self, std::int64_t size) {
            if (size < 1 || size > 0x7fffffff)
              throw nb::value_error("hashed must lie between 1 and 2**31 - 1");
            new (self) Hasher(static_cast<std::uint32_t>(size));
          },
          "size"_a)
      .def("freeze", &Hasher::freeze)
      .def_prop_ro("collisions", &Hasher::collisions);

  nb::class_<Walk>(m, "ItemWalk")
      .def_static(
          "growing", [](Alphabet& names) { return std::make_unique<Walk>(&names); }, "names"_a,
          nb::keep_alive<0, 1>())
      .def_static(
          "hashing", [](Hasher& names) { return std::make_unique<Walk>(&names); }, "names"_a,
          nb::keep_alive<0, 1>())
      .def_static(
          "frozen", [](const Frozen& names) { return std::make_unique<Walk>(names.view()); },
          "names"_a, nb::keep_alive<0, 1>())
      .def("append", &Walk::append, "sequence"_a.none(), "n"_a)
      .def("append_labels", &Walk::append_labels, "sequence"_a.none(), "n"_a)
      .def("append_rows", &Walk::append_rows, "ptr"_a, "ids"_a, "values"_a.none())
      .def_prop_ro("seen", &Walk::seen)
      .def("take", &Walk::take);
}

}  // namespace crfkit
