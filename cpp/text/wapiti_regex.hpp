// Wapiti's regular expressions: . ^ $ * ? and the classes \a \d \l \p \s \u \w with upper-case
// complements; \c is the character c.  A star is lazy (the shortest match wins), a question mark
// greedy; both apply to one character.  Classes are those of C's ctype in the C locale, byte by
// byte.
//
// A search takes items x bytes steps at most, and memory for the items only.  Expressions of few
// quantifiers are tried with backtracking, which is quick on words, as long as that is linear; all
// else is one sweep from the last byte to the first:
//   end[i] = where items i.. that begin at this byte end, -1 where they do not match,
// which follows from end[i + 1] at this byte and from both at the next.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace crfkit {

class WapitiRegex {
 public:
  static constexpr std::size_t kMostItems = 1000;

  WapitiRegex() = default;
  explicit WapitiRegex(std::string_view text);

  // The leftmost match in s, or nothing.
  std::optional<std::string_view> search(std::string_view s) const;

 private:
  struct Item {
    enum Kind { literal, any, character_class } kind;
    char symbol;
    enum Times { once, lazily, at_most_once } times;
  };

  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
  static bool is_class(char c) {
    return std::string_view("adlpsuw").find(c) != std::string_view::npos;
  }

  static bool in_class(char name, char c);

  static bool accepts(const Item& item, char c);

  static constexpr int kFew = 2, kFewAnchored = 8;  // quantifiers that backtracking may have
  static constexpr std::size_t kSteps = 16;         // that backtracking may take for each byte

  // Where a match of items i.. that begins at `at` ends, or -1; also where no steps are left.
  std::ptrdiff_t match(std::size_t i, std::string_view s, std::size_t at, std::size_t& steps) const;

  std::optional<std::string_view> sweep(std::string_view s) const;

  bool anchored_ = false, to_end_ = false;
  int quantified_ = 0;
  std::vector<Item> items_;
};

}  // namespace crfkit
