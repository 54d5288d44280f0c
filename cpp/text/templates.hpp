// Views of tokens, templates that join them, and the attributes that come of it.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "shared/interrupts.hpp"
#include "text/alphabet.hpp"
#include "text/names.hpp"
#include "text/wapiti_regex.hpp"

namespace crfkit {

enum class Padding { crfpp, wapiti };  // _B-1 .. _B-8; or _x-1 .. _x-4, _x-#

struct View {
  enum Kind { same, test, match, python };
  int column;
  Kind kind;
  bool lower;         // ASCII, after the rest
  WapitiRegex regex;  // test, match

  Alphabet values;
  std::vector<std::int64_t> ptr = {0};  // [tokens + 1] into `list`
  std::vector<std::int32_t> list;       // values of each token

  // What a native view makes of a text.
  std::string of(std::string_view text) const {
    std::string value(kind == test    ? (regex.search(text) ? "true" : "false")
                      : kind == match ? regex.search(text).value_or(std::string_view())
                                      : text);
    if (lower)
      for (char& c : value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return value;
  }
  void add(std::string_view value) { list.push_back(values.add(value)); }
  void close() { ptr.push_back(static_cast<std::int64_t>(list.size())); }
  std::size_t known() const { return ptr.size() - 1; }

  // Values of the tokens that have come since; Python's views are filled from outside.
  void update(const Alphabet& tokens) {
    if (kind == python) return;
    for (std::size_t id = known(); id < tokens.size(); ++id) {
      worked(1 << 6);
      add(of(tokens.at(id)));
      close();
    }
  }
};

struct Part {
  std::string literal;  // before the field
  int view = -1;        // -1: none, the literal ends the template
  int offset = 0;
  bool absolute = false;  // offset 1 is the first token, -1 the last
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

// Bounds on what one template may make: bytes of a name that is kept, and names at one position (or
// of one segment), which are the product of the values of its fields.
constexpr std::size_t kMostName = std::size_t{1} << 20, kMostChoices = 100'000;

// Throws where a name is too long to be kept.
inline void check_name(std::string_view name) {
  if (name.size() > kMostName)
    throw std::length_error("the attribute '" + std::string(name.substr(0, 60)) + "...' has " +
                            std::to_string(name.size()) + " bytes, more than " +
                            std::to_string(kMostName) +
                            "; shorten the token, or leave it out of the template");
}

// Counts the choices of values for the fields of a template; throws where there are too many.
inline void count_choice(std::size_t& choices, std::string_view head) {
  if (++choices > kMostChoices)
    throw std::length_error("the template '" + std::string(head.substr(0, 60)) +
                            "' makes more than " + std::to_string(kMostChoices) +
                            " attributes at one position; join fewer fields with several values");
}

// What stands for a token so far outside of the sequence: _B-1 .. _B-8, _B+1 .. _B+8.
inline void append_pad(std::string& text, bool before, int distance) {
  text += before ? "_B-" : "_B+";
  text += std::to_string(distance < 8 ? distance : 8);
}

}  // namespace crfkit
