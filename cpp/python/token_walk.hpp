// Tokens of one sequence to ids of attributes, by the templates of a model: Python strings in, ids
// out.
//
// A reader holds what depends on the model alone, and threads share it.  A walk remembers the
// tokens that it has met with their values, and the strings that templates made of them; whoever
// keeps it asks how much that is.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/features.hpp"
#include "python/owned.hpp"
#include "python/released.hpp"
#include "shared/rows.hpp"
#include "text/expand.hpp"

namespace crfkit {

// What a recipe reads: columns by name and, in rows without names, by place (-1: nowhere).
struct TokenColumns {
  std::vector<nb::str> names;
  std::vector<int> places;
  std::vector<std::int64_t> widths;  // of rows without names; none: any
};

// Where a native column comes from: a column, or what a gazetteer says of its tokens.
struct TokenSource {
  std::size_t column;
  nb::object marks;  // a function from tokens to "B", "I" or None for each; None: the tokens
};

struct TokenReader {
  std::vector<View> views;  // that know no token
  std::vector<Template> templates;
  Padding padding;
  Namings names;
  TokenColumns columns;
  std::vector<TokenSource> sources;
  std::vector<nb::object> functions;  // [views] from lists of tokens to lists of their values
  std::int64_t margin = 0;            // how far templates look
  std::int64_t made = 0;              // attributes of a position
};

class TokenWalk {
 public:
  explicit TokenWalk(const TokenReader& reader)
      : reader_(reader),
        views_(reader.views),
        tokens_(reader.sources.size()),
        ids_(reader.sources.size()),
        words_(reader.sources.size()),
        expander_(views_, reader.templates, reader.padding, reader.names) {
    for (std::size_t s = 0; s < tokens_.size(); ++s)
      if (!reader.sources[s].marks.is_none())
        for (const char* mark : kMarks) tokens_[s].add(mark);
  }

  // Attributes of a list of tokens: strings, rows of them, or dicts by column.  False where it is
  // anything else, for which there are other ways, and messages.
  bool read(PyObject* sequence) {
    for (Attributes& one : found_) one.ptr.resize(1), one.attr.clear();
    for (std::vector<std::int32_t>& ids : ids_) ids.clear();
    length_ = 0;
    for (std::size_t s = 0; s < ids_.size(); ++s)
      if (!reader_.sources[s].marks.is_none()) words_[s] = nb::list();
    if (!PyList_CheckExact(sequence) || !read_rows(sequence)) return false;
    for (std::size_t s = 0; s < ids_.size(); ++s)
      if (!reader_.sources[s].marks.is_none()) mark(s);
    for (std::size_t v = 0; v < views_.size(); ++v) update(v);
    const std::int64_t ends[] = {0, length_};
    Tokens tokens;
    for (const std::vector<std::int32_t>& ids : ids_) tokens.column.push_back(ids.data());
    tokens.seq_ptr = ends;
    const auto expand = [&] { expander_.expand(tokens, 0, 1, found_, [](std::int64_t) {}); };
    if (length_ < kBrief) {
      expand();
    } else {
      const Released release;
      expand();
    }
    return true;
  }

  std::int64_t length() const { return length_; }
  Occurrences found(Kind kind) const {
    return {found_[kind].ptr.data(), found_[kind].attr.data(), nullptr};
  }

  // Bytes that are remembered.
  std::size_t room() const {
    std::size_t bytes = expander_.room();
    for (const Alphabet& one : tokens_) bytes += one.room();
    for (const View& view : views_) bytes += view.room();
    for (const Attributes& one : found_) bytes += 4 * one.attr.capacity();
    return bytes;
  }

 private:
  static constexpr std::array<const char*, 3> kMarks = {"", "B", "I"};  // of no match, and of one
  static constexpr std::int64_t kBrief = 1 << 9;  // tokens for which others need not run meanwhile

  // The tokens of every column, by id.
  bool read_rows(PyObject* sequence) {
    const Py_ssize_t size = PyList_Size(sequence);
    if (size == 0) return true;
    PyObject* first = PyList_GetItem(sequence, 0);
    if (PyUnicode_CheckExact(first))
      return reader_.columns.names.size() <= 1 && read_each(sequence, [&](PyObject* row) {
               return PyUnicode_CheckExact(row) && take(0, row);
             });
    if (PyDict_CheckExact(first))
      return read_each(sequence, [&](PyObject* row) { return take_named(row); });
    if (!is_row(first)) return false;
    const Py_ssize_t width = row_size(first);
    const std::vector<std::int64_t>& fine = reader_.columns.widths;
    if (width == 0 || (!fine.empty() && std::find(fine.begin(), fine.end(), width) == fine.end()))
      return false;
    for (const int place : reader_.columns.places)
      if (place < 0 || place >= width) return false;
    return read_each(sequence, [&](PyObject* row) { return take_row(row, width); });
  }

  template <class Take>
  bool read_each(PyObject* sequence, Take take) {
    for (Py_ssize_t t = 0; t < PyList_Size(sequence); ++t) {
      const Owned row = Owned::share(PyList_GetItem(sequence, t));
      if (!take(row.get())) return false;
      ++length_;
    }
    return true;
  }

  static bool is_row(PyObject* row) { return PyTuple_CheckExact(row) || PyList_CheckExact(row); }
  static Py_ssize_t row_size(PyObject* row) {
    return PyTuple_CheckExact(row) ? PyTuple_Size(row) : PyList_Size(row);
  }

  bool take_row(PyObject* row, Py_ssize_t width) {
    if (!is_row(row) || row_size(row) != width) return false;
    for (Py_ssize_t c = 0; c < width; ++c) {
      PyObject* cell = PyTuple_CheckExact(row) ? PyTuple_GetItem(row, c) : PyList_GetItem(row, c);
      if (!bytes(cell).data()) return false;  // of those that nobody reads, too
    }
    for (std::size_t c = 0; c < reader_.columns.names.size(); ++c) {
      const int place = reader_.columns.places[c];
      take(c, PyTuple_CheckExact(row) ? PyTuple_GetItem(row, place) : PyList_GetItem(row, place));
    }
    return true;
  }

  bool take_named(PyObject* row) {
    if (!PyDict_CheckExact(row)) return false;
    for (std::size_t c = 0; c < reader_.columns.names.size(); ++c) {
      PyObject* cell = PyDict_GetItemWithError(row, reader_.columns.names[c].ptr());
      if (!cell && PyErr_Occurred()) throw nb::python_error();
      if (!cell || !take(c, cell)) return false;
    }
    return true;
  }

  // One more token of a column; false where it is none.
  bool take(std::size_t column, PyObject* cell) {
    const std::string_view token = bytes(cell);
    if (!token.data()) return false;
    for (std::size_t s = 0; s < ids_.size(); ++s) {
      if (reader_.sources[s].column != column) continue;
      if (reader_.sources[s].marks.is_none()) {
        ids_[s].push_back(tokens_[s].add(token));
      } else {
        if (PyList_Append(words_[s].ptr(), cell)) throw nb::python_error();
      }
    }
    return true;
  }

  // The bytes of a str; without data where it is none, or has no UTF-8.
  static std::string_view bytes(PyObject* cell) {
    if (!PyUnicode_CheckExact(cell)) return {};
    Py_ssize_t size = 0;
    const char* letters = PyUnicode_AsUTF8AndSize(cell, &size);
    if (!letters) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw nb::python_error();
      PyErr_Clear();
      return {};
    }
    return {letters, static_cast<std::size_t>(size)};
  }

  // What a gazetteer says of the tokens of a column.
  void mark(std::size_t s) {
    const nb::object marks = reader_.sources[s].marks(words_[s]);
    for (nb::handle one : marks)
      ids_[s].push_back(one.is_none() ? 0 : tokens_[s].find(bytes_of(one)));
    if (static_cast<std::int64_t>(ids_[s].size()) != length_ ||
        std::any_of(ids_[s].begin(), ids_[s].end(), [](std::int32_t id) { return id < 0; }))
      throw nb::value_error("a gazetteer gives each token B, I or None");
  }

  // Brings a view up to date with the tokens of its column.
  void update(std::size_t v) {
    View& view = views_[v];
    const Alphabet& tokens = tokens_[static_cast<std::size_t>(view.column)];
    if (view.known() == tokens.size()) return;
    const Strings left = crfkit::update(view, tokens);
    if (left.size() == 0 && view.known() == tokens.size()) return;
    supply(view, tokens, nb::cast<Values>(reader_.functions[v](left)));
    if (view.known() != tokens.size())
      throw nb::value_error("a view has not one value for each token");
  }

  const TokenReader& reader_;
  std::vector<View> views_;
  std::vector<Alphabet> tokens_;                // of each source
  std::vector<std::vector<std::int32_t>> ids_;  // of each source, by position
  std::vector<nb::object> words_;               // of each source that is a gazetteer's
  Expander expander_;
  Expanded found_;
  std::int64_t length_ = 0;
};

}  // namespace crfkit
