// Bytes of strings and files: as numbers, and whether they are UTF-8.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace crfkit {

// Bytes of a token, a label or a name of an attribute in a text: templates repeat them many times.
inline constexpr std::size_t kLongestToken = std::size_t{1} << 20;

// Four bytes of a file, little-endian, at any place.
inline std::uint32_t little_word(const char* p) {
  std::uint32_t word;
  std::memcpy(&word, p, 4);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap32(word);
  return word;
}

// The last n bytes of a string of `size`, 1 to 7, with zeros behind them.  Loads of fixed sizes: a
// copy of n bytes is a loop over them.
inline std::uint64_t tail_word(const char* p, std::size_t n, std::size_t size) {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    if (size >= 8) {
      std::memcpy(&word, p + n - 8, 8);
      return word >> (64 - 8 * n);
    }
    if (n >= 4) {
      std::uint32_t low, high;
      std::memcpy(&low, p, 4);
      std::memcpy(&high, p + n - 4, 4);
      return low | static_cast<std::uint64_t>(high) << (8 * n - 32);
    }
  }
  std::memcpy(&word, p, n);
  return word;
}

// No overlong forms, no surrogates, nothing above U+10FFFF.
inline bool valid_utf8(std::string_view s) {
  const auto* p = reinterpret_cast<const unsigned char*>(s.data());
  const auto* end = p + s.size();
  while (p < end) {
    if (end - p >= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      if (!(word & 0x8080808080808080ULL)) {
        p += 8;
        continue;
      }
    }
    if (*p < 0x80) {
      ++p;
      continue;
    }
    const int more = *p >= 0xf0 && *p <= 0xf4  ? 3
                     : *p >= 0xe0 && *p < 0xf0 ? 2
                     : *p >= 0xc2 && *p < 0xe0 ? 1
                                               : 0;
    if (more == 0 || end - p <= more) return false;
    for (int i = 1; i <= more; ++i)
      if ((p[i] & 0xc0) != 0x80) return false;
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
        (*p == 0xf4 && p[1] > 0x8f))
      return false;
    p += more + 1;
  }
  return true;
}

}  // namespace crfkit
