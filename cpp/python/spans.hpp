// One-dimensional arrays of Python as the engine takes them: std::span for the time of a call, Kept
// for longer.  In a std::optional or a std::vector only Kept: their casters drop what they cast
// from, and an array that had to be converted would be gone.
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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/kept.hpp"
#include "python/released.hpp"
#include "shared/no_memory.hpp"

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

// What the casters below make of their sources.  Casters must not throw, and one that fails makes a
// TypeError: where memory is short they succeed, and throw when the value is taken.
template <class Taken>
struct Owned {
  using Value = Taken;
  template <class U>
  using Cast = movable_cast_t<U>;
  template <class U>
  static constexpr bool can_cast() {
    return true;
  }

  explicit operator Value*() { return &taken(); }
  explicit operator Value&() { return taken(); }
  explicit operator Value&&() { return std::move(taken()); }

  Value& taken() {
    if (wanted != 0) crfkit::no_memory("a copy of an array", wanted);
    return value;
  }

  Value value;
  std::size_t wanted = 0;  // bytes that could not be had
};

template <class T>
struct type_caster<crfkit::Kept<T>> : Owned<crfkit::Kept<T>> {
  using Array = ndarray<const T, ndim<1>, c_contig, device::cpu>;
  static constexpr auto Name = make_caster<Array>::Name;
  static constexpr bool is_place =
      std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<Array> array;
    if (!array.from_python(source, flags, cleanup)) return false;
    const std::span<const T> given{array.value.data(), array.value.size()};
    try {
      if (is_place && !crfkit::settled(source)) {
        auto copied = std::make_shared<const std::vector<T>>(given.begin(), given.end());
        this->value = {*copied, copied};
      } else {
        this->value = {given, std::make_shared<Array>(array.value)};
      }
    } catch (...) {
      this->wanted = std::max(given.size_bytes(), sizeof(Array));
    }
    return true;
  }
};

template <class T>
struct type_caster<std::optional<crfkit::Kept<T>>> : Owned<std::optional<crfkit::Kept<T>>> {
  static constexpr auto Name = optional_caster<std::optional<crfkit::Kept<T>>>::Name;

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    if (source.is_none()) return true;
    make_caster<crfkit::Kept<T>> one;
    if (!one.from_python(source, flags, cleanup)) return false;
    this->value = std::move(one.value);
    this->wanted = one.wanted;
    return true;
  }
};

template <class T>
struct type_caster<std::vector<crfkit::Kept<T>>> : Owned<std::vector<crfkit::Kept<T>>> {
  static constexpr auto Name = list_caster<std::vector<crfkit::Kept<T>>, crfkit::Kept<T>>::Name;

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    try {
      if (!isinstance<sequence>(source)) return false;
      for (const handle item : source) {
        make_caster<crfkit::Kept<T>> one;
        if (!one.from_python(item, flags, cleanup)) return false;
        this->wanted = std::max(this->wanted, one.wanted);
        this->value.push_back(std::move(one.value));
      }
      return true;
    } catch (const python_error&) {  // of an item
      return false;
    } catch (...) {
      this->wanted = sizeof(crfkit::Kept<T>);
      return true;
    }
  }
};

}  // namespace nanobind::detail

namespace crfkit {

// Works without the GIL: for functions of the engine, which know nothing of Python.
using Unlocked = nb::call_guard<Released>;

}  // namespace crfkit
