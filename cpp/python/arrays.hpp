// Results handed to Python: NumPy arrays that own what C++ made.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "shared/no_memory.hpp"

namespace crfkit {

namespace nb = nanobind;

// What functions return, with types for the stub that is generated from them
// (tests/whole/stubs.py).
template <class T>
using Given = nb::typed<nb::object, nb::ndarray<nb::numpy, T>>;
struct AnyArray {};  // of several types
template <class... Ts>
using Tuple = nb::typed<nb::tuple, Ts...>;
using Strings = nb::typed<nb::list, nb::str>;
using Parts = nb::typed<nb::dict, nb::str, nb::any>;

// A vector becomes a one-dimensional array without a copy.
template <class T>
Given<T> give(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t n = kept->size();
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {n}, owner));
}

// An array of any shape, zero at first.
template <class T>
struct Array {
  std::vector<std::size_t> shape;
  std::unique_ptr<T[]> data;

  explicit Array(std::vector<std::size_t> shape_) : shape(std::move(shape_)) {
    std::size_t n = 1;
    for (std::size_t axis : shape) {
      if (axis && n > kMostBytes / sizeof(T) / axis) no_memory(named().c_str(), kMostBytes);
      n *= axis;
    }
    if (n * sizeof(T) <= most_memory()) data.reset(new (std::nothrow) T[n]());
    if (!data) no_memory(named().c_str(), n * sizeof(T));
  }
  std::string named() const {
    std::string text;
    for (std::size_t axis : shape) text += (text.empty() ? "" : " x ") + std::to_string(axis);
    return "an array of " + text + " numbers";
  }
  Given<T> give() {
    T* raw = data.release();
    nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(raw, shape.size(), shape.data(), owner));
  }
};

}  // namespace crfkit

template <>
struct nanobind::detail::type_caster<crfkit::AnyArray> {
  static constexpr auto Name = const_name("numpy.typing.NDArray[typing.Any]");
};
