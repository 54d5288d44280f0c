// Python features to attribute ids: walks lists, sets and dicts with the CPython API and interns
// their strings, without a temporary Python object on the common paths.  The GIL is held
// throughout.
//
// User code can run only where an iterator, a mapping's items(), __float__ or __index__ is called.
// Everything that is read after such a call is owned here, because the call may change any list or
// dict, and a name is interned in one piece, so that alphabets stay whole whatever is raised.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "python/fetch.hpp"
#include "python/item_place.hpp"
#include "python/owned.hpp"
#include "text/alphabet.hpp"
#include "text/look_ups.hpp"
#include "text/names.hpp"

namespace crfkit {

class ItemWalk : private ItemPlace {
 public:
  // `mapping` is collections.abc.Mapping, borrowed.
  ItemWalk(Names names, PyObject* mapping) : names_(names), mapping_(mapping) {}

  std::vector<std::int64_t> ptr{0};
  std::vector<std::int32_t> attr;
  std::vector<double> value;  // as long as attr, or empty while every value is 1

  // Names that a frozen alphabet was asked for: all, and those of items that are neither the first
  // nor the last of their sequence.
  std::int64_t seen = 0, inner = 0;

  bool valued() const { return valued_; }

  // Entries that there is memory for.
  std::size_t room() const { return std::max(attr.capacity(), queue_.capacity()); }

  // Forgets the items; the memory stays for those to come.
  void clear() {
    ptr.resize(1);
    attr.clear();
    value.clear();
    valued_ = false;
    seen = inner = 0;
  }

  // The items of sequence n; returns how many there are.
  std::int64_t append(PyObject* sequence, std::int64_t n) {
    start(n);
    if (is_text(sequence)) fail(PyExc_ValueError, "a plain string is not a sequence of items");
    if (PyDict_Check(sequence) || PyAnySet_Check(sequence))
      fail(PyExc_TypeError, std::string("a ") + (PyDict_Check(sequence) ? "dict" : "set") +
                                " is not a sequence; expected a list of items");
    const bool list = PyList_CheckExact(sequence);
    if (list) fetch_item(sequence, 0);
    std::int64_t before = 0;  // names of the item before, where that is not the first
    each(sequence, "the sequence", "expected an iterable of items",
         [this, list, sequence, &before](PyObject* one) {
           ++at_;
           if (list) fetch_item(sequence, at_ + 1);
           const std::int64_t asked = seen;
           item(one);
           inner += before;
           before = at_ > 0 ? seen - asked : 0;
           if (!frozen()) return ptr.push_back(static_cast<std::int64_t>(attr.size()));
           queue_.end_item();
           if (queue_.full()) look_up();
         });
    look_up();
    return at_ + 1;
  }

  // The labels of sequence n go to `attr`, one for each position; returns how many there are.
  std::int64_t append_labels(PyObject* sequence, std::int64_t n) {
    start(n);
    if (is_text(sequence)) fail(PyExc_ValueError, "the labels are a plain string, expected a list");
    if (PyDict_Check(sequence) || PyAnySet_Check(sequence))
      fail(PyExc_TypeError, std::string("the labels are a ") +
                                (PyDict_Check(sequence) ? "dict" : "set") + ", expected a list");
    each(sequence, "the label sequence", "expected an iterable of strings", [this](PyObject* one) {
      ++at_;
      attr.push_back(id(text(one, "the label")));
    });
    return at_ + 1;
  }

  // One more entry, with an id that the caller has checked.
  void add(std::int32_t id, double v) {
    if (v != 1 && !valued_) value.assign(attr.size(), 1.0), valued_ = true;
    if (valued_) value.push_back(v);
    attr.push_back(id);
  }

 private:
  void start(std::int64_t n) {
    begin_sequence(n);
    queue_.clear();
  }

  // ---- items

  void item(PyObject* x) {
    name_.clear();
    if (PyDict_CheckExact(x)) {
      dict(x);
    } else if (PyList_CheckExact(x)) {
      fetch_names(x, growing());
      strings(x);
    } else if (PyTuple_CheckExact(x)) {
      strings(x);
    } else if (is_text(x)) {
      fail(PyExc_ValueError, "the item is a plain string; put it in a list");
    } else if (is_mapping(x)) {
      mapping(x);
    } else {
      strings(x);
    }
  }

  // Attributes of value 1, below the prefix in name_.
  void strings(PyObject* x) {
    if (frozen() && name_.empty() && PyList_CheckExact(x)) return strings_of(x);
    if (PyAnySet_Check(x)) return strings_of_set(x);
    each(x, "the item", "expected a dict, or an iterable of strings",
         [this](PyObject* one) { single(one); });
  }

  // One attribute of value 1.
  void single(PyObject* one) {
    if (is_id(one)) {
      number(one);
    } else if (name_.empty()) {
      put(text(one, role()), 1);
    } else {
      const std::size_t prefix = name_.size();
      name_ += text(one, role());
      put(name_, 1);
      name_.resize(prefix);
    }
  }
  const char* role() const { return name_.empty() ? "the name of an attribute" : "the value"; }

  // Whether names are hashed, and this is an id in place of one.
  bool is_id(PyObject* one) const {
    return std::holds_alternative<Hasher*>(names_) && name_.empty() && PyIndex_Check(one) &&
           !PyBool_Check(one);
  }

  // Those of a set by id and by name: in the order of the set, which varies between runs, ids and
  // the last bits of sums would vary too.
  void strings_of_set(PyObject* set) {
    struct Key {
      Py_ssize_t id;
      std::string_view name;
      PyObject* one;
    };
    const Owned list(PySequence_List(set));
    std::vector<Key> keys;
    keys.reserve(static_cast<std::size_t>(PyList_Size(list.get())));
    for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
      PyObject* one = PyList_GetItem(list.get(), i);
      const bool named = !is_id(one);
      const Py_ssize_t id = named ? PY_SSIZE_T_MAX : PyNumber_AsSsize_t(one, nullptr);
      if (id == -1 && PyErr_Occurred()) throw PythonError();
      keys.push_back({id, named ? text(one, role()) : std::string_view(), one});
    }
    std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return a.id != b.id ? a.id < b.id : a.name < b.name;
    });
    for (const Key& key : keys) single(key.one);
  }

  // The same of a list, for a frozen alphabet: reading a str runs nobody's code, so that it needs
  // no reference of its own, whose count would be one more cache line to write.
  void strings_of(PyObject* list) {
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      PyObject* one = PyList_GetItem(list, i);
      if (!PyUnicode_CheckExact(one)) {
        const Owned kept = Owned::share(one);
        put(text(one, "the name of an attribute"), 1);
      } else {
        put(text(one, "the name of an attribute"), 1);
      }
    }
  }

  void dict(PyObject* x) {
    const Py_ssize_t size = PyDict_Size(x);
    Py_ssize_t i = 0;
    PyObject *key, *given;
    while (PyDict_Next(x, &i, &key, &given)) {
      if (PyFloat_CheckExact(given)) {
        scored(key, PyFloat_AsDouble(given));
      } else if (PyUnicode_CheckExact(given)) {
        named(key, given);
      } else {
        const Owned kept_key = Owned::share(key), kept = Owned::share(given);
        entry(key, given);
        if (PyDict_Size(x) != size)
          fail(PyExc_RuntimeError, "a dict changed size during iteration");
      }
    }
  }

  void mapping(PyObject* x) {
    const Owned pairs(PyMapping_Items(x));
    const Py_ssize_t size = PyList_Size(pairs.get());
    for (Py_ssize_t i = 0; i < size; ++i) {
      const Owned pair = Owned::share(PyList_GetItem(pairs.get(), i));
      if (!PyTuple_Check(pair.get()) || PyTuple_Size(pair.get()) != 2)
        fail(PyExc_TypeError, "items() of a mapping gave something other than pairs");
      entry(PyTuple_GetItem(pair.get(), 0), PyTuple_GetItem(pair.get(), 1));
    }
  }

  // The caller keeps both alive.
  void entry(PyObject* key, PyObject* given) {
    if (PyFloat_Check(given) || PyLong_Check(given)) {
      scored(key, real(key, given));
    } else if (is_string(given)) {
      named(key, given);
    } else if (const bool deeper = is_mapping(given);
               deeper || PyList_Check(given) || PyTuple_Check(given) || PyAnySet_Check(given)) {
      const std::size_t prefix = name_.size();
      name_ += text(key, "the name of an attribute");
      name_ += ':';
      if (Py_EnterRecursiveCall(" in the features of an item")) throw PythonError();
      try {
        deeper ? PyDict_CheckExact(given) ? dict(given) : mapping(given) : strings(given);
      } catch (...) {
        Py_LeaveRecursiveCall();
        throw;
      }
      Py_LeaveRecursiveCall();
      name_.resize(prefix);
    } else {
      scored(key, real(key, given));
    }
  }

  // key -> number
  void scored(PyObject* key, double v) {
    const std::string_view k = text(key, "the name of an attribute");
    if (!std::isfinite(v)) {
      name_ += k;
      fail_at(std::isnan(v) ? "the value is nan; values must be finite"
                            : "the value is infinite; values must be finite");
    }
    if (name_.empty()) return put(k, v);
    const std::size_t prefix = name_.size();
    name_ += k;
    put(name_, v);
    name_.resize(prefix);
  }

  // key -> string: the attribute "key:string"
  void named(PyObject* key, PyObject* given) {
    const std::size_t prefix = name_.size();
    name_ += text(key, "the name of an attribute");
    const std::size_t end = name_.size();
    name_ += ':';
    const std::string_view v = text(given, "the value", end);
    name_ += v;
    put(name_, 1);
    name_.resize(prefix);
  }

  // An id instead of a name, where names are hashed.
  void number(PyObject* one) {
    const Py_ssize_t i = PyNumber_AsSsize_t(one, nullptr);
    if (i == -1 && PyErr_Occurred()) throw PythonError();
    const std::int64_t size = std::get<Hasher*>(names_)->size();
    if (i < 0 || i >= size)
      fail(PyExc_ValueError,
           "the attribute id " + std::to_string(i) + " is outside 0.." + std::to_string(size - 1));
    add(static_cast<std::int32_t>(i), 1);
  }

  // A number, or what turns into one; an array of numbers is none.
  double real(PyObject* key, PyObject* given) {
    bool good = PyType_GetSlot(Py_TYPE(given), Py_nb_float) || PyIndex_Check(given);
    if (good && PySequence_Check(given)) {
      good = PyObject_Size(given) < 0;
      PyErr_Clear();
    }
    if (!good) {
      name_ += text(key, "the name of an attribute");
      fail_at(
          "the value is " + kind(given) + ", expected a number, string, dict, list, tuple or set",
          PyExc_TypeError);
    }
    const double v = PyFloat_AsDouble(given);
    if (v == -1 && PyErr_Occurred()) {
      if (!PyLong_Check(given) || !PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonError();
      PyErr_Clear();
      name_ += text(key, "the name of an attribute");
      fail_at("the value is an int too large for a float");
    }
    return v;
  }

  // ---- strings

  bool is_mapping(PyObject* x) {
    if (PyDict_Check(x)) return true;
    if (PyList_CheckExact(x) || PyTuple_CheckExact(x) || PyAnySet_CheckExact(x)) return false;
    const int yes = PyObject_IsInstance(x, mapping_);
    if (yes < 0) throw PythonError();
    return yes;
  }

  std::int32_t id(std::string_view name) {
    if (Alphabet** growing = std::get_if<Alphabet*>(&names_)) return (*growing)->add(name);
    if (AlphabetView* frozen = std::get_if<AlphabetView>(&names_)) return frozen->find(name);
    return std::get<Hasher*>(names_)->id(name);
  }
  void put(std::string_view name, double v) {
    if (frozen()) return ++seen, queue_.ask(std::get<AlphabetView>(names_), name, v);
    const std::int32_t i = id(name);
    if (i >= 0) add(i, v);
  }

  // ---- a frozen alphabet answers to many names at once

  bool frozen() const { return std::holds_alternative<AlphabetView>(names_); }

  // Adds the entries of all names asked for.
  void look_up() {
    if (!frozen()) return;
    queue_.look_up(
        std::get<AlphabetView>(names_), [this](std::int32_t id, double v) { add(id, v); },
        [this] { ptr.push_back(static_cast<std::int64_t>(attr.size())); });
  }

  // The names so far; none of a frozen alphabet, whose slots the queue fetches.
  AlphabetView growing() const {
    if (Alphabet* const* alphabet = std::get_if<Alphabet*>(&names_)) return (*alphabet)->view();
    if (Hasher* const* hasher = std::get_if<Hasher*>(&names_)) return (*hasher)->seen();
    return {};
  }

  Names names_;
  PyObject* mapping_;
  bool valued_ = false;
  LookUps queue_;  // of a frozen alphabet
};

}  // namespace crfkit
