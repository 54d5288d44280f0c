// Wapiti's regular expressions: . ^ $ * ? and the classes \a \d \l \p \s \u \w with upper-case
// complements; \c is the character c.  A star is lazy (the shortest match wins), a question mark
// greedy; both apply to one character.  Classes are those of C's ctype in the C locale, byte by
// byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crfkit {

class WapitiRegex {
 public:
  WapitiRegex() = default;
  explicit WapitiRegex(std::string_view text) {
    if (!text.empty() && text.front() == '^') {
      anchored_ = true;
      text.remove_prefix(1);
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '$' && i + 1 == text.size()) {
        to_end_ = true;
        break;
      }
      Item item{text[i] == '.' ? Item::any : Item::literal, text[i], Item::once};
      if (text[i] == '\\' && i + 1 < text.size()) {
        item.symbol = text[++i];
        item.kind = is_class(lower(item.symbol)) ? Item::character_class : Item::literal;
      }
      if (i + 1 < text.size() && (text[i + 1] == '*' || text[i + 1] == '?'))
        item.times = text[++i] == '*' ? Item::lazily : Item::at_most_once;
      quantified_ += item.times != Item::once;
      items_.push_back(item);
    }
  }

  // The leftmost match in s, or nothing.
  std::optional<std::string_view> search(std::string_view s) const {
    std::vector<char> failed(quantified_ > 2 ? (items_.size() + 1) * (s.size() + 1) : 0, 0);
    for (std::size_t from = 0; from <= s.size(); ++from) {
      const std::ptrdiff_t end = match(0, s, from, failed);
      if (end >= 0) return s.substr(from, static_cast<std::size_t>(end) - from);
      if (anchored_) break;
    }
    return std::nullopt;
  }

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

  static bool in_class(char name, char c) {
    const bool is_lower = c >= 'a' && c <= 'z', is_upper = c >= 'A' && c <= 'Z',
               digit = c >= '0' && c <= '9';
    switch (name) {
      case 'a':
        return is_lower || is_upper;
      case 'd':
        return digit;
      case 'l':
        return is_lower;
      case 'u':
        return is_upper;
      case 's':
        return c == ' ' || (c >= '\t' && c <= '\r');
      case 'w':
        return is_lower || is_upper || digit;
      default:
        return c > ' ' && c <= '~' && !is_lower && !is_upper && !digit;  // p
    }
  }

  static bool accepts(const Item& item, char c) {
    if (item.kind == Item::any) return true;
    if (item.kind == Item::literal) return c == item.symbol;
    const char name = lower(item.symbol);
    return in_class(name, c) == (name == item.symbol);
  }

  // Where a match of items i.. that begins at `at` ends, or -1.  With many quantifiers failures are
  // remembered, or the search could take time exponential in their number.
  std::ptrdiff_t match(std::size_t i, std::string_view s, std::size_t at,
                       std::vector<char>& failed) const {
    const std::size_t here = i * (s.size() + 1) + at;
    if (!failed.empty() && failed[here]) return -1;
    const std::ptrdiff_t end = try_match(i, s, at, failed);
    if (!failed.empty() && end < 0) failed[here] = 1;
    return end;
  }

  std::ptrdiff_t try_match(std::size_t i, std::string_view s, std::size_t at,
                           std::vector<char>& failed) const {
    for (; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.times == Item::lazily) {
        for (;; ++at) {
          const std::ptrdiff_t end = match(i + 1, s, at, failed);
          if (end >= 0) return end;
          if (at >= s.size() || !accepts(item, s[at])) return -1;
        }
      }
      if (item.times == Item::at_most_once) {
        if (at < s.size() && accepts(item, s[at])) {
          const std::ptrdiff_t end = match(i + 1, s, at + 1, failed);
          if (end >= 0) return end;
        }
        continue;
      }
      if (at >= s.size() || !accepts(item, s[at])) return -1;
      ++at;
    }
    if (to_end_ && at != s.size()) return -1;
    return static_cast<std::ptrdiff_t>(at);
  }

  bool anchored_ = false, to_end_ = false;
  int quantified_ = 0;
  std::vector<Item> items_;
};

}  // namespace crfkit
