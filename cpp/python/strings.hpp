// Strings of Python as UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace crfkit {

namespace nb = nanobind;

// The bytes of a str, kept alive by it.
inline std::string_view bytes_of(nb::handle h) {
  Py_ssize_t n;
  const char* p = PyUnicode_Check(h.ptr()) ? PyUnicode_AsUTF8AndSize(h.ptr(), &n) : nullptr;
  if (!p) {
    if (PyErr_Occurred()) throw nb::python_error();
    throw nb::type_error("expected str");
  }
  return {p, static_cast<std::size_t>(n)};
}

}  // namespace crfkit
