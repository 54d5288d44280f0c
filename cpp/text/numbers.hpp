// Numbers in text, as C writes them, correctly rounded and whatever the locale is.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

namespace crfkit {

// What a number is that from_chars finds out of range: 0 or infinity, by the place of its first
// digit that is not 0.
inline double out_of_range(std::string_view digits, bool hex) {
  const auto zero_or_point = [](char c) { return c == '0' || c == '.'; };
  const std::size_t mark = std::min(digits.find_first_of(hex ? "pP" : "eE"), digits.size());
  const std::size_t point = std::min(digits.substr(0, mark).find('.'), mark);
  const std::size_t first = static_cast<std::size_t>(
      std::find_if_not(digits.begin(), digits.begin() + mark, zero_or_point) - digits.begin());
  auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (hex) place *= 4;
  for (std::size_t i = mark + 1; i < digits.size();) {
    const bool minus = digits[i] == '-';
    std::int64_t power = 0;
    for (i += minus || digits[i] == '+'; i < digits.size(); ++i)
      power = std::min<std::int64_t>(power * 10 + (digits[i] - '0'), std::int64_t{1} << 50);
    place += minus ? -power : power;
  }
  return place > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

// The number that C would read from the whole text, blanks around it allowed; NaN where it is not
// a number.
inline double number_of(std::string_view text) {
  constexpr double bad = std::numeric_limits<double>::quiet_NaN();
  constexpr std::string_view blanks = " \t\v\f\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return bad;
  text = text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
  const bool minus = text[0] == '-';
  if (minus || text[0] == '+') text.remove_prefix(1);
  const bool hex = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hex) text.remove_prefix(2);
  if (text.empty() || text[0] == '-' || text[0] == '+') return bad;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value,
                      hex ? std::chars_format::hex : std::chars_format::general);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return bad;
  if (error == std::errc::result_out_of_range) value = out_of_range(text, hex);
  return minus ? -value : value;
}

}  // namespace crfkit
