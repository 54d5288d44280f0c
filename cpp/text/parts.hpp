// Parts and forms of words, as the views of recipes have them; letters are code points of UTF-8.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace crfkit {

inline bool is_ascii(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return !(c & 0x80); });
}
inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

inline bool begins_letter(char c) { return (c & 0xc0) != 0x80; }
inline std::size_t letters_in(std::string_view s) {
  return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), begins_letter));
}

// The first or the last letters of a word that has more.
inline std::optional<std::string_view> part_of(std::string_view word, std::size_t letters,
                                               bool first) {
  if (word.size() <= letters || letters_in(word) <= letters) return std::nullopt;
  std::size_t at = first ? 0 : word.size(), left = letters;
  if (first) {
    while (at < word.size() && (!begins_letter(word[at]) || left > 0))
      left -= begins_letter(word[at++]);
    return word.substr(0, at);
  }
  while (left > 0) left -= begins_letter(word[--at]);
  return word.substr(at);
}

// Of words in ASCII.
inline std::string lower_of(std::string_view word) {
  std::string made(word);
  for (char& c : made) c = lower_case(c);
  return made;
}

// A upper case, a lower case, D digit, X other; + after a class that is repeated.
inline std::string shape_of(std::string_view word) {
  std::string made;
  char last = 0;
  for (const char c : word) {
    const char kind = c >= 'A' && c <= 'Z'   ? 'A'
                      : c >= 'a' && c <= 'z' ? 'a'
                      : c >= '0' && c <= '9' ? 'D'
                                             : 'X';
    if (kind != last) {
      made += kind;
    } else if (made.back() != '+') {
      made += '+';
    }
    last = kind;
  }
  return made;
}

}  // namespace crfkit
