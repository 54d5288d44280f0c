// Where a walk over Python features is, and what it reads there: strings, the elements of what can
// be iterated, and errors that name the sequence, the position and the attribute.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "python/owned.hpp"
#include "text/words.hpp"

namespace crfkit {

class ItemPlace {
 protected:
  void begin_sequence(std::int64_t n) {
    n_ = n, at_ = -1;
    name_.clear();
  }

  static bool is_string(PyObject* x) { return PyUnicode_Check(x) || PyBytes_Check(x); }
  static bool is_text(PyObject* x) { return is_string(x) || PyByteArray_Check(x); }

  // The UTF-8 of a str or bytes, kept alive by it.  `end`: how much of name_ to show in an error.
  std::string_view text(PyObject* x, const char* what, std::size_t end = std::string::npos) {
    Py_ssize_t size = 0;
    if (PyUnicode_Check(x)) {
      const char* s = PyUnicode_AsUTF8AndSize(x, &size);
      if (s) return {s, static_cast<std::size_t>(size)};
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw PythonError();
      PyErr_Clear();
      fail_in(end, std::string(what) + " holds a lone surrogate, which has no UTF-8 form");
    }
    if (PyBytes_Check(x)) {
      char* s;
      if (PyBytes_AsStringAndSize(x, &s, &size)) throw PythonError();
      const std::string_view view(s, static_cast<std::size_t>(size));
      if (valid_utf8(view)) return view;
      fail_in(end, std::string(what) + " is bytes that are not UTF-8");
    }
    fail_in(end, std::string(what) + " is " + kind(x) + ", expected a string", PyExc_TypeError);
  }

  // Calls f with every element, which is alive during the call.
  template <class F>
  void each(PyObject* x, const char* what, const char* expected, F f) {
    if (PyList_CheckExact(x)) {
      for (Py_ssize_t i = 0; i < PyList_Size(x); ++i) {
        const Owned one = Owned::share(PyList_GetItem(x, i));
        f(one.get());
      }
    } else if (PyTuple_CheckExact(x)) {
      const Py_ssize_t size = PyTuple_Size(x);
      for (Py_ssize_t i = 0; i < size; ++i) f(PyTuple_GetItem(x, i));
    } else {
      if (!PyType_GetSlot(Py_TYPE(x), Py_tp_iter) && !PySequence_Check(x))
        fail(PyExc_TypeError, std::string(what) + " is " + kind(x) + "; " + expected);
      const Owned iterator(PyObject_GetIter(x));
      while (PyObject* next = PyIter_Next(iterator.get())) {
        const Owned one(next);
        f(one.get());
      }
      if (PyErr_Occurred()) throw PythonError();
    }
  }

  static std::string kind(PyObject* x) {
    if (x == Py_None) return "None";
    const Owned name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(x)), "__name__"));
    Py_ssize_t size = 0;
    const char* s = PyUnicode_AsUTF8AndSize(name.get(), &size);
    if (!s) throw PythonError();
    return "of type " + std::string(s, static_cast<std::size_t>(size));
  }

  [[noreturn]] void fail(PyObject* type, const std::string& what,
                         const std::string& attribute = "") {
    std::string message = "sequence " + std::to_string(n_);
    if (at_ >= 0) message += ", position " + std::to_string(at_);
    message += attribute + ": " + what;
    const Owned made(
        PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
    PyErr_SetObject(type, made.get());
    throw PythonError();
  }
  // Names the attribute that name_ holds.
  [[noreturn]] void fail_at(const std::string& what, PyObject* type = PyExc_ValueError) {
    fail(type, what, ", attribute '" + name_ + "'");
  }
  [[noreturn]] void fail_in(std::size_t end, const std::string& what,
                            PyObject* type = PyExc_ValueError) {
    if (end < name_.size()) name_.resize(end);
    if (!name_.empty() && name_.back() == ':') name_.pop_back();  // the prefix of nested features
    if (name_.empty()) fail(type, what);
    fail_at(what, type);
  }

  std::int64_t n_ = 0, at_ = -1;  // sequence and position; -1: before the first one
  std::string name_;  // the prefix "key:key:" on the way down, and the names made from it
};

}  // namespace crfkit
