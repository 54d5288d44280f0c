// References to Python objects that end with their scope, and Python's errors as C++ exceptions.
#pragma once

#include <Python.h>

namespace crfkit {

// Python's error indicator is set.
struct PythonError {};

// A reference that is given up at the end of its scope.
class Owned {
 public:
  explicit Owned(PyObject* stolen) : p_(stolen) {
    if (!p_) throw PythonError();
  }
  static Owned share(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Owned(borrowed);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_DECREF(p_); }
  PyObject* get() const { return p_; }

 private:
  PyObject* p_;
};

}  // namespace crfkit
