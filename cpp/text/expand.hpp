// Templates: strings made of fields of the tokens around a position, as attribute ids.
//
// A view turns each distinct token of a column into values (itself, lower case, a matched part, or
// what Python says), once. A template joins literals and views at offsets.  Strings are built only
// when a combination is new: a template of one field is an array look-up by value, one of several
// fields a chain of exact pair look-ups.  Ids are given in order of first appearance, by position
// and then by template; threads work on ranges of sequences with alphabets of their own, which are
// merged in order, so the result does not depend on their number.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// An exact map from 64-bit keys to ids.
class KeyMap {
 public:
  KeyMap() : slots_(256, Slot{0, 0}) {}

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[first(key)]); }

  // The place of the value of a key; a new one holds kUnset.
  std::int32_t& operator[](std::uint64_t key) {
    if (2 * count_ >= slots_.size()) grow();
    Slot& slot = slots_[place(slots_, key)];
    if (slot.key == 0) {
      slot = {key + 1, kUnset};
      ++count_;
    }
    return slot.value;
  }

  static constexpr std::int32_t kUnset = -1;

 private:
  struct Slot {
    std::uint64_t key;  // plus 1; 0 is empty
    std::int32_t value;
  };
  std::size_t first(std::uint64_t key) const { return start(key) & (slots_.size() - 1); }
  static std::uint64_t start(std::uint64_t key) {
    const std::uint64_t h = key * 0x9e3779b97f4a7c15ULL;
    return h ^ (h >> 32);
  }
  static std::size_t place(const std::vector<Slot>& slots, std::uint64_t key) {
    std::size_t i = start(key) & (slots.size() - 1);
    while (slots[i].key != 0 && slots[i].key != key + 1) i = (i + 1) & (slots.size() - 1);
    return i;
  }
  void grow() {
    std::vector<Slot> wider(2 * slots_.size(), Slot{0, 0});
    for (const Slot& slot : slots_)
      if (slot.key != 0) wider[place(wider, slot.key - 1)] = slot;
    slots_ = std::move(wider);
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
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

class Expander {
 public:
  Expander(const std::vector<View>& views, const std::vector<Template>& templates, Padding padding,
           const Namings& names)
      : views_(views),
        templates_(templates),
        padding_(padding),
        names_(names),
        codes_(views.size()) {
    for (const Template& t : templates) {
      Memo memo;
      for (const Part& part : t.parts)
        if (part.view >= 0) memo.fields.push_back(&part);
      if (memo.fields.size() > 1) memo.chain.resize(memo.fields.size() - 1);
      for (const Part* field : memo.fields)
        memo.near &= !field->absolute && -kPads <= field->offset && field->offset <= kPads;
      memo.bits = memo.fields.empty() ? 0 : 64 / static_cast<int>(memo.fields.size());
      memos_.push_back(std::move(memo));
    }
    keys_.resize(templates.size());
  }

  // Attributes of positions; calls after(n) when sequence n is done.
  template <class After>
  void expand(const Tokens& tokens, std::int64_t first, std::int64_t last, Expanded& out,
              After after) {
    // One attribute per template is what most recipes make; growing by doubling would need three
    // times the memory.
    const std::size_t positions =
        static_cast<std::size_t>(tokens.seq_ptr[last] - tokens.seq_ptr[first]);
    std::array<std::size_t, kKinds> count = {};
    for (const Template& t : templates_) ++count[t.kind], count[kEdge] += t.both;
    std::vector<Attributes*> used;
    for (int kind = kNode; kind < kSegment; ++kind) {
      if (kind > kEdge && !count[kind]) continue;
      used.push_back(&out[kind]);
      out[kind].attr.reserve(out[kind].attr.size() + positions * count[kind]);
      out[kind].ptr.reserve(out[kind].ptr.size() + positions);
    }
    for (std::int64_t n = first; n < last; ++n) {
      begin_ = tokens.seq_ptr[n];
      length_ = tokens.seq_ptr[n + 1] - begin_;
      for (std::size_t v = 0; v < views_.size(); ++v)
        encode(v, tokens.column[views_[v].column] + begin_);
      for (std::int64_t t = 0; t < length_; ++t) {
        for (std::size_t i = 0; i < templates_.size(); ++i) prepare(i, t);
        for (std::size_t i = 0; i < templates_.size(); ++i)
          if (templates_[i].kind != kEdge || t > 0) apply(i, tokens, t, out);
        for (Attributes* one : used) one->close();
      }
      after(n);
    }
  }

 private:
  // A value of a view as a code: 0..7 before the start, 8..15 after the end, then the values; -1:
  // none or several.
  static constexpr int kPads = 8;
  static constexpr std::uint64_t kSlow =
      ~std::uint64_t{0};  // no key: values are missing, several, or too many

  struct Memo {
    std::vector<const Part*> fields;
    bool near = true;                  // all fields lie within the padding
    int bits = 0;                      // of a code in a packed key
    std::vector<std::int32_t> direct;  // one field: made string by code
    KeyMap packed;                     // several fields whose codes fit into one key
    std::vector<KeyMap> chain;         // several fields, key by key
    std::int32_t states = 0;
    std::int32_t plain = KeyMap::kUnset;  // no fields
  };
  // A string that has been made: its ids, -1 where it is unknown or not wanted.
  struct Made {
    std::int32_t node, edge;
  };

  // Codes of one view along the sequence, with padding on both sides.
  void encode(std::size_t v, const std::int32_t* token) {
    const View& view = views_[v];
    std::vector<std::int32_t>& codes = codes_[v];
    codes.resize(static_cast<std::size_t>(length_) + 2 * kPads);
    for (int d = 1; d <= kPads; ++d) {
      codes[kPads - d] = d - 1;
      codes[kPads + static_cast<std::size_t>(length_) + d - 1] = kPads + d - 1;
    }
    for (std::int64_t t = 0; t < length_; ++t) {
      const std::int64_t from = view.ptr[token[t]];
      codes[kPads + t] = view.ptr[token[t] + 1] == from + 1 ? 2 * kPads + view.list[from] : -1;
    }
  }

  // The key of a template at a position, and a hint to fetch its slot.
  void prepare(std::size_t i, std::int64_t t) {
    const Memo& memo = memos_[i];
    keys_[i] = kSlow;
    if (!memo.near || memo.fields.empty()) return;
    std::uint64_t key = 0;
    for (const Part* field : memo.fields) {
      const std::int32_t code = codes_[field->view][kPads + t + field->offset];
      if (code < 0 || (memo.bits < 32 && code >> memo.bits)) return;
      key = memo.bits == 64 ? static_cast<std::uint64_t>(code)
                            : key << memo.bits | static_cast<std::uint64_t>(code);
    }
    keys_[i] = key;
    if (memo.fields.size() > 1) {
      memo.packed.prefetch(key);
    } else if (key < memo.direct.size()) {
      __builtin_prefetch(&memo.direct[key]);
    }
  }

  void apply(std::size_t i, const Tokens& tokens, std::int64_t t, Expanded& out) {
    Memo& memo = memos_[i];
    const std::uint64_t key = keys_[i];
    if (memo.fields.empty()) {
      if (memo.plain == KeyMap::kUnset) memo.plain = make(i, nullptr);
      return emit(i, memo.plain, t > 0, out);
    }
    if (key == kSlow) {
      chosen_.assign(memo.fields.size(), 0);
      return choose(i, 0, tokens, t, out);
    }
    if (memo.fields.size() == 1) {
      if (key >= memo.direct.size()) memo.direct.resize(key + key / 2 + 64, KeyMap::kUnset);
      if (memo.direct[key] == KeyMap::kUnset) memo.direct[key] = make_near(i, t);
      return emit(i, memo.direct[key], t > 0, out);
    }
    std::int32_t& made = memo.packed[key];
    if (made == KeyMap::kUnset) made = make_near(i, t);
    emit(i, made, t > 0, out);
  }

  std::int32_t make_near(std::size_t i, std::int64_t t) {
    chosen_.clear();
    for (const Part* field : memos_[i].fields)
      chosen_.push_back(codes_[field->view][kPads + t + field->offset]);
    return make(i, chosen_.data());
  }

  // Chooses a value for field f and the ones after it; several values make several strings, none
  // makes none.
  void choose(std::size_t i, std::size_t f, const Tokens& tokens, std::int64_t t, Expanded& out) {
    Memo& memo = memos_[i];
    if (f == memo.fields.size()) return emit(i, look_up(i), t > 0, out);
    const Part& field = *memo.fields[f];
    const View& view = views_[field.view];
    const std::int64_t at = !field.absolute    ? t + field.offset
                            : field.offset > 0 ? field.offset - 1
                                               : length_ + field.offset;
    if (at < 0 || at >= length_) {
      const std::int64_t distance = at < 0 ? -at : at - length_ + 1;
      chosen_[f] = static_cast<std::int32_t>((distance < kPads ? distance : kPads) - 1 +
                                             (at < 0 ? 0 : kPads));
      return choose(i, f + 1, tokens, t, out);
    }
    const std::int32_t token = tokens.column[view.column][begin_ + at];
    for (std::int64_t k = view.ptr[token]; k < view.ptr[token + 1]; ++k) {
      chosen_[f] = 2 * kPads + view.list[k];
      choose(i, f + 1, tokens, t, out);
    }
  }

  std::int32_t look_up(std::size_t i) {
    Memo& memo = memos_[i];
    if (memo.fields.size() == 1) {
      const std::size_t code = static_cast<std::size_t>(chosen_[0]);
      if (code >= memo.direct.size()) memo.direct.resize(code + code / 2 + 64, KeyMap::kUnset);
      if (memo.direct[code] == KeyMap::kUnset) memo.direct[code] = make(i, chosen_.data());
      return memo.direct[code];
    }
    std::uint64_t state = static_cast<std::uint64_t>(chosen_[0]);
    for (std::size_t f = 1; f < memo.fields.size(); ++f) {
      std::int32_t& next = memo.chain[f - 1][state << 32 | static_cast<std::uint32_t>(chosen_[f])];
      if (next == KeyMap::kUnset)
        next = f + 1 == memo.fields.size() ? make(i, chosen_.data()) : memo.states++;
      state = static_cast<std::uint64_t>(next);
    }
    return static_cast<std::int32_t>(state);
  }

  // Templates with one kind of attribute keep its id itself, kUnknown where a frozen alphabet lacks
  // it.
  static constexpr std::int32_t kUnknown = -2;

  void emit(std::size_t i, std::int32_t made, bool inner, Expanded& out) const {
    if (templates_[i].both) {
      if (made_[made].node >= 0) out[kNode].attr.push_back(made_[made].node);
      if (inner && made_[made].edge >= 0) out[kEdge].attr.push_back(made_[made].edge);
    } else if (made >= 0) {
      out[templates_[i].kind].attr.push_back(made);
    }
  }

  std::int32_t make(std::size_t t, const std::int32_t* codes) {
    text_.clear();
    for (const Part& part : templates_[t].parts) {
      text_ += part.literal;
      if (part.view >= 0) append_value(*codes++, views_[part.view]);
    }
    const Template& made = templates_[t];
    const std::int32_t id = id_of(names_[naming_of(made.kind)], text_);
    if (!made.both) return id < 0 ? kUnknown : id;
    made_.push_back({id, id_of(names_[kEdge], text_)});
    return static_cast<std::int32_t>(made_.size() - 1);
  }

  void append_value(std::int32_t code, const View& view) {
    if (code >= 2 * kPads) {
      text_ += view.values.at(code - 2 * kPads);
      return;
    }
    const int distance = code % kPads + 1;
    if (padding_ == Padding::crfpp) return append_pad(text_, code < kPads, distance);
    const std::string pad = code < kPads ? "_x-" : "_x+";
    // Wapiti's commands see the padding as a token.
    text_ += view.of(pad + (distance > 4 ? "#" : std::to_string(distance)));
  }

  const std::vector<View>& views_;
  const std::vector<Template>& templates_;
  Padding padding_;
  Namings names_;
  std::vector<Memo> memos_;
  std::vector<Made> made_;
  std::int64_t begin_ = 0, length_ = 0;           // of the sequence at hand
  std::vector<std::vector<std::int32_t>> codes_;  // [views][padding + T + padding]
  std::vector<std::uint64_t> keys_;               // [templates] at the position at hand
  std::vector<std::int32_t> chosen_;              // [fields] of the template at hand
  std::string text_;
};

}  // namespace crfkit
