// Validity of UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace crfkit {

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
