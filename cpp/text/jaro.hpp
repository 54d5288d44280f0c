// Jaro-Winkler: how similar two strings are, by the characters that they share.
//
// m characters match: equal ones at most max(|a|, |b|) / 2 - 1 places apart, each taken once, from
// left to right; t is half the number of those that stand in another order.  p is the length of the
// common prefix, at most 4.
//
//   J = (m / |a| + m / |b| + (m - t) / m) / 3,   0 where m = 0       Jaro (1989)
//   JW = J + 0.1 p (1 - J), for every J                              Winkler (1990)
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace crfkit {

std::u32string code_points(std::string_view utf8);

double jaro_winkler(std::int64_t m, std::int64_t t, std::int64_t a, std::int64_t b, int p);

int count_bits(std::uint64_t x);

// A string that others are compared with.  Characters are ids; -1 stands for all that no other
// string has.
class JaroString {
 public:
  // Takes the place of the string before it.
  void set(std::vector<std::int32_t>&& characters, std::size_t alphabet);
  const std::vector<std::int32_t>& characters() const { return characters_; }
  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  std::int64_t known() const { return known_; }

  // The similarity of a string with the common prefix p; 0 where fewer than `least` characters
  // match.
  double similarity(const std::int32_t* other, std::int64_t length, int p, std::int64_t least);

 private:
  std::int64_t apart(std::int64_t length) const {
    return std::max<std::int64_t>(std::max(size(), length) / 2 - 1, 0);
  }

  // Which of up to 64 places each character of strings of one length may match.
  void reach(std::int64_t length);

  // Finds partners and keeps them: places in `used_`, characters in the order of the other string
  // in `taken_`.  Returns how many there are, or less than `least` as soon as that is certain.
  std::int64_t match(const std::int32_t* other, std::int64_t length, std::int64_t least);

  // Chains the places of each character, so that nothing else is looked at when one is searched.
  void chain();

  // The places that are near move to the right only, so those that one search of a character has
  // left behind are of no use to the next one: the cost is that of `length`, and of a sort.
  std::int64_t match_long(const std::int32_t* other, std::int64_t length);

  std::vector<std::int32_t> characters_, taken_;
  std::vector<std::uint64_t> places_;  // by character: where the string has it, of 64 places
  std::vector<std::uint64_t> near_;
  std::uint64_t used_ = 0;
  std::vector<std::int64_t> used_places_;   // the same of long strings
  std::vector<std::int64_t> first_, from_;  // by character: its first place, the next to look at
  std::vector<std::int64_t> next_;          // by place: the next with the same character
  std::int64_t known_ = 0, near_length_ = -1;
};

}  // namespace crfkit
