// Strings of Python as UTF-8, and the other way round.
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

// UTF-8 as a str; bytes that are not UTF-8 become surrogates.
inline nb::str str_of(std::string_view s) {
  PyObject* made =
      PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogateescape");
  if (!made) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

}  // namespace crfkit
