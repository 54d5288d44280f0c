// Views of tokens, templates that join them, and the attributes that come of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/interrupts.hpp"
#include "text/alphabet.hpp"
#include "text/names.hpp"
#include "text/parts.hpp"
#include "text/wapiti_regex.hpp"

namespace crfkit {

enum class Padding { crfpp, wapiti };  // _B-1 .. _B-8; or _x-1 .. _x-4, _x-#

struct View {
  enum Kind { same, test, match, prefix, suffix, length, lowered, shape, python };
  int column;
  Kind kind;
  bool lower;               // ASCII, after the rest
  WapitiRegex regex;        // test, match
  std::size_t letters = 0;  // prefix, suffix

  Alphabet values;
  std::vector<std::int64_t> ptr = {0};          // [tokens + 1] into `list`
  std::vector<std::int32_t> list;               // values of each token
  std::size_t most_values = 0, most_bytes = 0;  // of one token; bytes of its values together

  // What a view of the token, or of a part of it, makes of a text.
  std::string of(std::string_view text) const {
    std::string value(kind == test    ? (regex.search(text) ? "true" : "false")
                      : kind == match ? regex.search(text).value_or(std::string_view())
                                      : text);
    if (lower)
      for (char& c : value) c = lower_case(c);
    return value;
  }
  void add(std::string_view value) { list.push_back(values.add(value)); }
  void close() {
    most_values = std::max(most_values, list.size() - static_cast<std::size_t>(ptr.back()));
    most_bytes = std::max(most_bytes, bytes_of(known()));
    ptr.push_back(static_cast<std::int64_t>(list.size()));
  }
  std::size_t known() const { return ptr.size() - 1; }
  std::size_t room() const { return values.room() + 8 * ptr.capacity() + 4 * list.capacity(); }

  std::size_t values_of(std::size_t token) const {
    return static_cast<std::size_t>(ptr[token + 1] - ptr[token]);
  }
  // Bytes of the values of a token, or of those that came after the last one.
  std::size_t bytes_of(std::size_t token) const {
    const auto end = token < known() ? static_cast<std::size_t>(ptr[token + 1]) : list.size();
    std::size_t bytes = 0;
    for (auto i = static_cast<std::size_t>(ptr[token]); i < end; ++i)
      bytes += values.at(static_cast<std::size_t>(list[i])).size();
    return bytes;
  }

  // Whether the values of a token are known here; Python's tables know the letters of other
  // alphabets.
  bool knows(std::string_view token) const {
    return kind != python && ((kind != lowered && kind != shape) || is_ascii(token));
  }

  // Adds the value of the next token, where it is known here.
  bool take(std::string_view token) {
    if (!knows(token)) return false;
    if (kind == prefix || kind == suffix) {
      if (const auto part = part_of(token, letters, kind == prefix)) add(*part);
    } else if (kind == length) {
      add(std::string(1, static_cast<char>('0' + std::min<std::size_t>(letters_in(token), 9))));
    } else {
      add(kind == lowered ? lower_of(token) : kind == shape ? shape_of(token) : of(token));
    }
    close();
    return true;
  }

  // Values of the tokens that have come since, until one that is left to Python.
  void update(const Alphabet& tokens) {
    for (std::size_t id = known(); id < tokens.size(); ++id) {
      worked(1 << 6);
      if (!take(tokens.at(id))) return;
    }
  }
};

struct Part {
  std::string literal;  // before the field
  int view = -1;        // -1: none, the literal ends the template
  int offset = 0;
  bool absolute = false;  // offset 1 is the first token, -1 the last

  // The place of the field's token, seen from position t of a sequence: outside of it, padding.
  std::int64_t place(std::int64_t t, std::int64_t length) const {
    return !absolute ? t + offset : offset > 0 ? offset - 1 : length + offset;
  }
};

// What attributes belong to.  A template makes those of one kind, or of nodes and edges.
enum Kind { kNode, kEdge, kBegin, kEnd, kSegment, kKinds };

// Nodes, edges, and all that has to do with segments have an alphabet each.
constexpr int kNamings = 3;
constexpr int naming_of(int kind) { return kind < 2 ? kind : 2; }
using Namings = std::array<Names, kNamings>;

struct Template {
  Kind kind;
  bool both;  // kNode, and edges with the same names
  std::vector<Part> parts;
};

// Sequences of tokens as ids, one array per column.
struct Tokens {
  std::vector<const std::int32_t*> column;  // [columns][P]
  const std::int64_t* seq_ptr;              // [N + 1]
};

// Attribute ids of positions: attr[ptr[p] .. ptr[p + 1]).
struct Attributes {
  std::vector<std::int64_t> ptr = {0};
  std::vector<std::int32_t> attr;
  void close() { ptr.push_back(static_cast<std::int64_t>(attr.size())); }
};
using Expanded = std::array<Attributes, kKinds>;

// What stands for a token so far outside of the sequence: _B-1 .. _B-8, _B+1 .. _B+8.
inline void append_pad(std::string& text, bool before, int distance) {
  text += before ? "_B-" : "_B+";
  text += std::to_string(distance < 8 ? distance : 8);
}
inline std::string padding_of(const View& view, Padding padding, bool before, int distance) {
  std::string pad;
  if (padding == Padding::crfpp) {
    append_pad(pad, before, distance);
    return pad;
  }
  pad = before ? "_x-" : "_x+";
  // Wapiti's commands see the padding as a token.
  return view.of(pad + (distance > 4 ? "#" : std::to_string(distance)));
}

}  // namespace crfkit
