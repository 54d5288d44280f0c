// Fetches into the cache what a walk over Python items is about to read.  The GIL is held.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "text/alphabet.hpp"

namespace crfkit {

// Fetches the strings of an item that is a list, and the list after it.
inline void fetch_item(PyObject* sequence, Py_ssize_t i) {
  const Py_ssize_t size = PyList_Size(sequence);
  if (i + 1 < size) __builtin_prefetch(PyList_GetItem(sequence, i + 1));
  PyObject* item = i < size ? PyList_GetItem(sequence, i) : nullptr;
  if (!item || !PyList_CheckExact(item)) return;
  constexpr Py_ssize_t most = 64;
  const Py_ssize_t strings = std::min(PyList_Size(item), most);
  for (Py_ssize_t k = 0; k < strings; ++k) {
    const char* one = reinterpret_cast<const char*>(PyList_GetItem(item, k));
    __builtin_prefetch(one);
    __builtin_prefetch(one + 64);
  }
}

// Fetches what a walk will read of a list of strings, all at once instead of one cache miss after
// another: the strings themselves, their slots in the table, and the names that the slots point
// to. Changes nothing.
inline void fetch_names(PyObject* list, const AlphabetView& names) {
  if (names.slot_count == 0) return;
  constexpr Py_ssize_t most = 64;
  const PyObject* one[most];
  const std::uint64_t* slot[most];
  const Py_ssize_t size = std::min(PyList_Size(list), most);
  for (Py_ssize_t i = 0; i < size; ++i) {
    one[i] = PyList_GetItem(list, i);
    __builtin_prefetch(one[i]);
    __builtin_prefetch(reinterpret_cast<const char*>(one[i]) + 64);
  }
  Py_ssize_t found = 0;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* x = const_cast<PyObject*>(one[i]);
    Py_ssize_t bytes = 0;
    const char* s = PyUnicode_Check(x) ? PyUnicode_AsUTF8AndSize(x, &bytes) : nullptr;
    if (!s) break;
    const std::uint64_t hash = hash_bytes({s, static_cast<std::size_t>(bytes)});
    slot[found] = names.first_slot(hash);
    __builtin_prefetch(slot[found++]);
  }
  PyErr_Clear();
  for (Py_ssize_t i = 0; i < found; ++i) names.fetch_begin(slot[i]);
  for (Py_ssize_t i = 0; i < found; ++i) names.fetch_bytes(slot[i]);
}

}  // namespace crfkit
