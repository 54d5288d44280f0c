// What Unicode says of characters for the rules of UAX #29: their classes for words, grapheme
// clusters and sentences, whether they are pictographs, whether they are white space.
#pragma once

#include <cstdint>

namespace crfkit {

// In the order of cpp/text/make_unicode_table.py.
enum class WordClass : std::uint8_t {
  Other,
  CR,
  LF,
  Newline,
  Extend,
  ZWJ,
  Format,
  RegionalIndicator,
  Katakana,
  HebrewLetter,
  ALetter,
  SingleQuote,
  DoubleQuote,
  MidNumLet,
  MidLetter,
  MidNum,
  Numeric,
  ExtendNumLet,
  WSegSpace
};
enum class GraphemeClass : std::uint8_t {
  Other,
  CR,
  LF,
  Control,
  Extend,
  ZWJ,
  RegionalIndicator,
  Prepend,
  SpacingMark,
  L,
  V,
  T,
  LV,
  LVT
};
enum class SentenceClass : std::uint8_t {
  Other,
  CR,
  LF,
  Extend,
  Sep,
  Format,
  Sp,
  Lower,
  Upper,
  OLetter,
  Numeric,
  ATerm,
  SContinue,
  STerm,
  Close
};

// From `first` on, up to that of the next row, characters have these classes.
struct ClassesFrom {
  std::uint32_t first;
  std::uint16_t classes;
};
extern const ClassesFrom kClassesFrom[];  // made by cpp/text/make_unicode_table.py
extern const int kClassesFromCount;
extern const char* const kUnicodeVersion;

struct Classes {
  std::uint16_t bits;

  WordClass word() const { return static_cast<WordClass>(bits & 31); }
  GraphemeClass grapheme() const { return static_cast<GraphemeClass>(bits >> 5 & 15); }
  SentenceClass sentence() const { return static_cast<SentenceClass>(bits >> 9 & 15); }
  bool pictograph() const { return bits >> 13 & 1; }
  bool white() const { return bits >> 14 & 1; }
};

// The classes of characters: those up to kFlat in an array, which is made on first use, others by
// bisection.
class UnicodeClasses {
 public:
  static const UnicodeClasses& get();
  Classes operator()(std::uint32_t character) const {
    return character < kFlat ? Classes{flat_[character]} : beyond(character);
  }

 private:
  static constexpr std::uint32_t kFlat = 0x20000;
  UnicodeClasses();
  static Classes beyond(std::uint32_t character);
  std::uint16_t flat_[kFlat];
};

}  // namespace crfkit
