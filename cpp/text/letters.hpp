// Letters in a row, appended as they are scanned: eight at a time, copied before it is known where
// they end.  (Calls of std::string could be linked to copies that were compiled for size.)
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace crfkit {

class Letters {
 public:
  std::size_t size() const { return size_; }
  std::size_t room() const { return bytes_.capacity(); }
  const char* data() const { return bytes_.data(); }
  std::string_view from(std::size_t begin) const { return {bytes_.data() + begin, size_ - begin}; }
  std::string_view view() const { return from(0); }
  void cut(std::size_t size) { size_ = size; }
  void clear() { size_ = 0; }

  void push_back(char c) {
    *space(1) = c;
    ++size_;
  }
  void append(std::string_view s) {
    if (!s.empty()) std::memcpy(space(s.size()), s.data(), s.size());
    size_ += s.size();
  }

  // Appends what lies before the first special letter, or the end, and goes there.
  template <class Special>
  void append_until(const char*& at, const char* end, Special special) {
    if constexpr (std::endian::native == std::endian::little) {
      while (end - at >= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        std::memcpy(space(8), at, 8);
        const std::uint64_t found = special(word);
        const int letters = found ? std::countr_zero(found) / 8 : 8;
        at += letters;
        size_ += static_cast<std::size_t>(letters);
        if (found) return;
      }
    }
    while (at < end) {
      const auto letter = static_cast<unsigned char>(*at);
      if (special(letter * kOnes) & 0x80) return;
      push_back(*at++);
    }
  }

  // The top bits of bytes in a word; above the lowest one that is set, others may be set wrongly.
  static constexpr std::uint64_t equal(std::uint64_t word, char c) {
    return below(word ^ static_cast<unsigned char>(c) * kOnes, 1);
  }
  static constexpr std::uint64_t below(std::uint64_t word, std::uint64_t limit) {
    return (word - limit * kOnes) & ~word & 0x80 * kOnes;
  }

 private:
  static constexpr std::uint64_t kOnes = 0x0101010101010101ULL;

  char* space(std::size_t more) {
    if (bytes_.size() - size_ < more) bytes_.resize(2 * bytes_.size() + more);
    return bytes_.data() + size_;
  }

  std::vector<char> bytes_ = std::vector<char>(1 << 12);
  std::size_t size_ = 0;
};

}  // namespace crfkit
