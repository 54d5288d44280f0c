// Templates: strings made of fields of the tokens around a position, as attribute ids.
//
// A view turns each distinct token of a column into values (itself, lower case, a matched part, or
// what Python says), once. A template joins literals and views at offsets.  Strings are built only
// when a combination is new: a template of one field is an array look-up by value, one of several
// fields a chain of exact pair look-ups.  New strings of a frozen alphabet are looked up together,
// those of 128 positions at a time, as a look-up waits for memory three times.  Ids are given in
// order of first appearance, by position and then by template; threads work on ranges of sequences
// with alphabets of their own, which are merged in order, so the result does not depend on their
// number.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "shared/interrupts.hpp"
#include "text/key_map.hpp"
#include "text/letters.hpp"
#include "text/name_bounds.hpp"
#include "text/templates.hpp"

namespace crfkit {

class Expander {
 public:
  Expander(const std::vector<View>& views, const std::vector<Template>& templates, Padding padding,
           const Namings& names);

  // Bytes of what is remembered.
  std::size_t room() const;

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
    const bool long_names = costs_.most() > static_cast<double>(kMostNames);
    for (std::int64_t n = first; n < last; ++n) {
      begin_ = tokens.seq_ptr[n];
      length_ = tokens.seq_ptr[n + 1] - begin_;
      for (std::size_t v = 0; v < views_.size(); ++v)
        encode(v, tokens.column[views_[v].column] + begin_);
      if (long_names) costs_.check(tokens, n);
      for (std::int64_t t = 0; t < length_; t += kTogether) {
        worked(kTogether * 16 * static_cast<std::int64_t>(templates_.size()));
        expand_some(tokens, t, std::min(t + kTogether, length_), used, out);
      }
      after(n);
    }
  }

 private:
  // A value of a view as a code: 0..7 before the start, 8..15 after the end, then the values; -1:
  // none or several.
  static constexpr int kPads = 8;
  static constexpr std::int64_t kTogether = 128;  // positions whose strings are looked up together
  static constexpr std::size_t kMostAsked = std::size_t{1} << 24;  // bytes of such strings
  static constexpr std::uint64_t kSlow =
      ~std::uint64_t{0};  // no key: values are missing, several, or too many

  struct Memo {
    std::vector<const Part*> fields;
    bool near = true;                  // all fields lie within the padding
    bool ask = false;                  // new strings are looked up together, in a frozen alphabet
    int bits = 0;                      // of a code in a packed key
    std::uint32_t most = 0x7fffffff;   // the highest code that fits
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
  // A string that is to be looked up, and where its id is remembered.
  struct Asked {
    std::size_t tmpl;
    std::uint64_t key;
    std::size_t begin, size;  // in text_
    std::uint64_t hash;
  };

  // Codes of one view along the sequence, with padding on both sides.
  void encode(std::size_t v, const std::int32_t* token);

  // The positions from first to last of the sequence at hand: what is remembered, template by
  // template, then new strings in order, then the look-ups that these asked for.
  void expand_some(const Tokens& tokens, std::int64_t first, std::int64_t last,
                   const std::vector<Attributes*>& used, Expanded& out);

  // The keys of a template at some positions, and hints to fetch their slots.
  void prepare(std::size_t i, std::int64_t first, std::size_t count, std::uint64_t* keys) const;

  static bool fits(std::int32_t code, std::uint32_t most) {
    return static_cast<std::uint32_t>(code) <= most;
  }

  // What the memo of a template has for keys.
  void remember(std::size_t i, const std::uint64_t* keys, std::size_t count,
                std::int32_t* known) const;

  // A string that is not remembered from before these positions.
  void apply(std::size_t i, std::uint64_t key, const Tokens& tokens, std::int64_t t, Expanded& out);

  // The place of a string of one field.
  static std::int32_t& direct(Memo& memo, std::uint64_t code);

  // Keeps a string until all of some positions are looked up; until then this stands for its id.
  std::int32_t ask(std::size_t i, std::uint64_t key, std::int64_t t);

  // Ids in place of what stands for them at the last positions; unknown ones go.
  void settle(Attributes& of, std::size_t positions, int kind);

  void look_up_asked(int naming);

  std::int32_t make_near(std::size_t i, std::int64_t t);

  void near_codes(std::size_t i, std::int64_t t);

  // Chooses a value for field f and the ones after it; several values make several strings, none
  // makes none.
  void choose(std::size_t i, std::size_t f, const Tokens& tokens, std::int64_t t, Expanded& out);

  std::int32_t look_up(std::size_t i);

  // Templates with one kind of attribute keep its id itself, kUnknown where a frozen alphabet lacks
  // it.
  static constexpr std::int32_t kUnknown = -2;
  static constexpr std::int32_t kAsked = -3;  // from here on down: not looked up yet

  void emit(std::size_t i, std::int32_t made, bool inner, Expanded& out) const;

  std::int32_t make(std::size_t t, const std::int32_t* codes);

  void append_text(std::size_t t, const std::int32_t* codes);

  void append_value(std::int32_t code, const View& view);

  const std::vector<View>& views_;
  const std::vector<Template>& templates_;
  Padding padding_;
  Namings names_;
  NameCosts costs_;
  std::vector<Memo> memos_;
  std::vector<Made> made_;
  std::int64_t begin_ = 0, length_ = 0;           // of the sequence at hand
  std::vector<std::vector<std::int32_t>> codes_;  // [views][padding + T + padding]
  std::vector<std::uint64_t> keys_;               // [templates, positions at hand]
  std::vector<std::int32_t> known_;               // [templates, positions at hand]
  std::vector<std::int32_t> chosen_;              // [fields] of the template at hand
  std::size_t choices_ = 0;                       // of values that it has had at the position
  Letters text_;                                  // what is asked for, and the string at hand
  std::vector<char> node_;                        // [templates] whether it makes nodes only
  std::array<std::vector<Asked>, kNamings> asked_;
  std::vector<std::int32_t> found_;  // [asked of one alphabet]
};

}  // namespace crfkit
