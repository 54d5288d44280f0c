// One-dimensional arrays of Python as the engine takes them: std::span for the time of a call, Kept
// for longer.  The casters of std::optional and std::vector drop what they cast from: they need
// Kept, as an array that had to be converted would be gone.
//
// Integers say where in memory to look.  They are checked when an object is made and trusted in
// every later call, so that nobody may change them in between: those that can be written to are
// copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine/kept.hpp"

namespace crfkit {

namespace nb = nanobind;

// Whether nobody can write to an array of NumPy, through it or an array that it is a view of.
inline bool settled(nb::handle array) noexcept {
  try {
    nb::object one = nb::borrow(array);
    do {
      if (nb::cast<bool>(one.attr("flags").attr("writeable"))) return false;
      one = one.attr("base");
    } while (nb::hasattr(one, "flags"));
    return true;
  } catch (...) {  // another kind of array
    return false;
  }
}

}  // namespace crfkit

namespace nanobind::detail {

template <class T>
struct type_caster<std::span<T>> {
  using Array = ndarray<T, ndim<1>, c_contig, device::cpu>;
  NB_TYPE_CASTER(std::span<T>, make_caster<Array>::Name)

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    if (!array.from_python(source, flags, cleanup)) return false;
    value = {array.value.data(), array.value.size()};
    return true;
  }

  make_caster<Array> array;
};

template <class T>
struct type_caster<crfkit::Kept<T>> {
  using Array = ndarray<const T, ndim<1>, c_contig, device::cpu>;
  NB_TYPE_CASTER(crfkit::Kept<T>, make_caster<Array>::Name)
  static constexpr bool is_place =
      std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<Array> array;
    if (!array.from_python(source, flags, cleanup)) return false;
    const std::span<const T> given{array.value.data(), array.value.size()};
    try {
      if (is_place && !crfkit::settled(source)) {
        auto copied = std::make_shared<const std::vector<T>>(given.begin(), given.end());
        value = {*copied, copied};
      } else {
        value = {given, std::make_shared<Array>(array.value)};
      }
    } catch (...) {  // no memory
      return false;
    }
    return true;
  }
};

}  // namespace nanobind::detail

namespace crfkit {

// Works without the GIL: for functions of the engine, which know nothing of Python.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

}  // namespace crfkit
