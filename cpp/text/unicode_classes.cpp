#include "text/unicode_classes.hpp"

#include <algorithm>

namespace crfkit {

const UnicodeClasses& UnicodeClasses::get() {
  static const UnicodeClasses made;
  return made;
}

UnicodeClasses::UnicodeClasses() {
  for (int row = 0; row < kClassesFromCount && kClassesFrom[row].first < kFlat; ++row) {
    const std::uint32_t end =
        row + 1 < kClassesFromCount ? std::min(kClassesFrom[row + 1].first, kFlat) : kFlat;
    std::fill(flat_ + kClassesFrom[row].first, flat_ + end, kClassesFrom[row].classes);
  }
  for (std::uint32_t c = 0xAC00; c < 0xD7A4; ++c) {  // Hangul syllables, without and with a final
    const auto kind = (c - 0xAC00) % 28 ? GraphemeClass::LVT : GraphemeClass::LV;
    flat_[c] = static_cast<std::uint16_t>(flat_[c] | static_cast<int>(kind) << 5);
  }
}

Classes UnicodeClasses::beyond(std::uint32_t character) {
  const ClassesFrom* found =
      std::upper_bound(kClassesFrom, kClassesFrom + kClassesFromCount, character,
                       [](std::uint32_t c, const ClassesFrom& row) { return c < row.first; });
  return Classes{(found - 1)->classes};
}

}  // namespace crfkit
