// JSON lines of items: {"items": [...], "labels": [...], "weight": 2}, items as in python-crfsuite.
// What they mean is told in src/crfkit/data/formats/jsonlines.py, which also reads every line that
// is refused here: what is wrong, and what is rare (other keys, the same key twice, half a
// surrogate pair, deep nesting).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/letters.hpp"
#include "text/rows.hpp"

namespace crfkit {

// The syntax of JSON in one line of valid UTF-8, piece by piece; throws Refused.
class JsonCursor {
 public:
  void start(std::string_view text) { at_ = text.data(), end_ = at_ + text.size(); }

  // The next character that is not white space; 0 at the end.
  char peek();
  void expect(char c);
  bool skip(char c);
  bool skip_word(std::string_view word);

  // Calls one() for each element up to the closing bracket; the opening one has been passed.
  template <class One>
  void elements(char close, One one) {
    if (skip(close)) return;
    do one();
    while (skip(','));
    expect(close);
  }

  // Appends a string.
  void string(Letters& into);

  // A finite number, or true and false if they count as such.
  double number(bool words);

 private:
  void digits();

  // What a backslash, which has been passed, and the characters behind it mean.
  void escape(Letters& into);

  std::uint32_t hex4();

  const char *at_ = nullptr, *end_ = nullptr;
};

// Whether a key may have stood in an item before, by its hash: the hash of another one may be the
// same, and keys can be made so that their hashes lie in a row.
class KeysSeen {
 public:
  void clear();
  bool add(std::uint64_t hash);

 private:
  static constexpr std::size_t kReach = 128;  // by chance none lies so far from its place
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t time = 0;
  };
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t count_ = 0;
  std::uint32_t now_ = 1;
};

class JsonItems {
 public:
  explicit JsonItems(RowSink& sink) : sink_(sink) {}

  void line(std::string_view text);

  void end() {}

 private:
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  static constexpr int kDeep = 64;
  // Letters of names for each byte of a line: keys stand before all names within them.
  static constexpr std::size_t kMostLetters = 64;

  // Returns whether there are any: null stands for none.
  bool read_labels();

  void item();

  void name(std::size_t begin, double value = 1);

  // Names of a list, behind so many letters of the prefix.
  void names(std::size_t prefix);

  void object(int depth);

  RowSink& sink_;
  JsonCursor json_;
  KeysSeen seen_;
  Letters key_, prefix_;
  std::size_t most_letters_ = 0;   // in the sink, of this line and those before
  Letters labels_;                 // of this line
  std::vector<std::size_t> ends_;  // of each of them; kUnknown: null
};

}  // namespace crfkit
