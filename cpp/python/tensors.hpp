// Tensors of torch: they cross by DLPack and are checked here, so that no caller can name memory
// that is not the tensor's.  Messages call them by the names that `crfkit.torch` gives them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "engine/tensors/chains.hpp"

namespace crfkit {

namespace nb = nanobind;

using Tensor = nb::ndarray<>;
using Sizes = std::vector<std::int64_t>;

inline Sizes shape_of(const Tensor& x) {
  Sizes sizes(x.ndim());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = static_cast<std::int64_t>(x.shape(i));
  return sizes;
}

// As Python writes a tuple.
inline std::string shown(const Sizes& sizes) {
  std::string made = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i) made += (i ? ", " : "") + text(sizes[i]);
  return made + (sizes.size() == 1 ? ",)" : ")");
}

inline void check_shape(const std::string& name, const Tensor& x, const Sizes& expected) {
  if (x.device_type() != nb::device::cpu::value) refuse(name + " is not in the memory of the CPU");
  const Sizes found = shape_of(x);
  if (found != expected)
    refuse(name + " has shape " + shown(found) + ", expected " + shown(expected));
}

[[noreturn]] inline void refuse_type(const std::string& name, const Tensor& x,
                                     const char* expected) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(x.dtype().code);
  const char* kind = code == Code::Int     ? "int"
                     : code == Code::UInt  ? "uint"
                     : code == Code::Float ? "float"
                     : code == Code::Bool  ? "bool"
                                           : "other, ";
  refuse(name + " has type " + kind + text(x.dtype().bits) + ", expected " + expected);
}

inline bool contiguous(const Tensor& x, std::size_t axis = 0) {
  if (x.size() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = x.ndim(); i-- > axis;) {
    if (x.shape(i) > 1 && x.stride(i) != expected) return false;
    expected *= static_cast<std::int64_t>(x.shape(i));
  }
  return true;
}

// Numbers of one type with any strides, copied: nobody changes them while they are used.
template <class Number>
std::vector<Number> copied(const std::string& name, const Tensor& x, const Sizes& expected,
                           const char* type) {
  check_shape(name, x, expected);
  if (x.dtype() != nb::dtype<Number>()) refuse_type(name, x, type);
  const auto* data = static_cast<const Number*>(x.data());
  std::vector<Number> made(x.size());
  if (contiguous(x)) {
    std::copy_n(data, made.size(), made.data());
    return made;
  }
  const std::int64_t width = static_cast<std::int64_t>(x.shape(x.ndim() - 1));
  for (std::size_t i = 0; i < made.size(); ++i) {  // one axis, or two
    const std::int64_t at = static_cast<std::int64_t>(i), row = x.ndim() == 1 ? 0 : at / width;
    made[i] =
        data[(x.ndim() == 1 ? 0 : row * x.stride(0)) + (at - row * width) * x.stride(x.ndim() - 1)];
  }
  return made;
}

// A table of scores side by side in double precision: where it lies, or `room` that holds a copy.
class Scores {
 public:
  Scores(const std::string& name, const Tensor& x, const Sizes& expected) : kept_(x) {
    check_shape(name, x, expected);
    const bool wide = x.dtype() == nb::dtype<double>();
    if (!wide && x.dtype() != nb::dtype<float>()) refuse_type(name, x, "float32 or float64");
    if (wide && contiguous(x)) {
      data_ = static_cast<const double*>(x.data());
      return;
    }
    room_.resize(x.size());
    double* to = room_.data();
    if (wide)
      copy(static_cast<const double*>(x.data()), 0, to);
    else
      copy(static_cast<const float*>(x.data()), 0, to);
    data_ = room_.data();
  }
  Scores(Scores&&) = default;
  const double* data() const { return data_; }

 private:
  template <class Number>
  void copy(const Number* from, std::size_t axis, double*& to) const {
    if (axis == kept_.ndim()) {
      *to++ = static_cast<double>(*from);
      return;
    }
    const std::int64_t step = kept_.stride(axis);
    const std::int64_t n = static_cast<std::int64_t>(kept_.shape(axis));
    if (axis + 1 == kept_.ndim()) {
      for (std::int64_t i = 0; i < n; ++i) *to++ = static_cast<double>(from[i * step]);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) copy(from + i * step, axis + 1, to);
  }

  Tensor kept_;
  std::vector<double> room_;
  const double* data_ = nullptr;
};

// Rows of floats or doubles, of the last `axes` axes, that are read or written where they lie.
inline RowTensor rows_of(const std::string& name, const Tensor& x, const Sizes& expected,
                         std::size_t axes) {
  check_shape(name, x, expected);
  const bool wide = x.dtype() == nb::dtype<double>();
  if (!wide && x.dtype() != nb::dtype<float>()) refuse_type(name, x, "float32 or float64");
  const std::size_t leading = x.ndim() - axes;
  if (!contiguous(x, leading)) refuse(name + " has rows whose numbers do not lie side by side");
  static double nothing = 0;  // no rows are not "no tensor"
  return {x.data() ? x.data() : &nothing, wide, leading == 2 ? x.stride(0) : 0,
          leading ? x.stride(leading - 1) : 0};
}

// What is filled: side by side, so that no two numbers share their memory.
template <class Number>
Number* filled(const std::string& name, const Tensor& x, const Sizes& expected, const char* type) {
  check_shape(name, x, expected);
  if (x.dtype() != nb::dtype<Number>()) refuse_type(name, x, type);
  if (!contiguous(x)) refuse(name + " is not contiguous");
  return static_cast<Number*>(x.data());
}

inline RowTensor filled_rows(const std::string& name, const Tensor& x, const Sizes& expected,
                             std::size_t axes) {
  const RowTensor made = rows_of(name, x, expected, axes);
  if (!contiguous(x)) refuse(name + " is not contiguous");
  return made;
}

}  // namespace crfkit
