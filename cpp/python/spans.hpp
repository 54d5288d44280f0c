// One-dimensional arrays of Python as the engine takes them: std::span for the time of a call, Kept
// for longer.  The casters of std::optional and std::vector drop what they cast from: they need
// Kept, as an array that had to be converted would be gone.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "engine/kept.hpp"

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

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<Array> array;
    if (!array.from_python(source, flags, cleanup)) return false;
    value = {{array.value.data(), array.value.size()}, std::make_shared<Array>(array.value)};
    return true;
  }
};

}  // namespace nanobind::detail

namespace crfkit {

namespace nb = nanobind;

// Works without the GIL: for functions of the engine, which know nothing of Python.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

}  // namespace crfkit
