#include "text/jaro.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crfkit {

std::u32string code_points(std::string_view utf8) {  // of valid UTF-8
  std::u32string points;
  points.reserve(utf8.size());
  for (const char byte : utf8) {
    const auto b = static_cast<unsigned char>(byte);
    if (b < 0x80)
      points.push_back(b);
    else if (b >= 0xc0)
      points.push_back(b >= 0xf0 ? b & 0x07u : b >= 0xe0 ? b & 0x0fu : b & 0x1fu);
    else
      points.back() = points.back() << 6 | (b & 0x3fu);
  }
  return points;
}

double jaro_winkler(std::int64_t m, std::int64_t t, std::int64_t a, std::int64_t b, int p) {
  if (m == 0) return 0.0;
  const double matches = static_cast<double>(m);
  const double jaro = (matches / static_cast<double>(a) + matches / static_cast<double>(b) +
                       static_cast<double>(m - t) / matches) /
                      3.0;
  return jaro + 0.1 * p * (1.0 - jaro);
}

int count_bits(std::uint64_t x) {  // std::popcount is a call where no instruction has it
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  return static_cast<int>(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

void JaroString::set(std::vector<std::int32_t>&& characters, std::size_t alphabet) {
  places_.resize(alphabet, 0);
  first_.resize(alphabet, -1), from_.resize(alphabet, -1);
  for (const std::int32_t c : characters_)
    if (c >= 0) places_[c] = 0, first_[c] = -1;
  characters_ = std::move(characters);
  known_ = 0;
  for (std::size_t j = 0; j < characters_.size(); ++j) {
    if (characters_[j] < 0) continue;
    ++known_;
    if (j < 64) places_[characters_[j]] |= std::uint64_t{1} << j;
  }
  near_length_ = -1;
  taken_.resize(characters_.size() + 1);
  if (size() > 64) chain();
}

double JaroString::similarity(const std::int32_t* other, std::int64_t length, int p,
                              std::int64_t least) {
  if (size() == 0) return 0.0;
  const std::int64_t m = size() <= 64 ? match(other, length, least) : match_long(other, length);
  if (m < least) return 0.0;
  std::int64_t displaced = 0, i = 0;
  if (size() <= 64)
    for (std::uint64_t left = used_; left; left &= left - 1)
      displaced += characters_[std::countr_zero(left)] != taken_[i++];
  else
    for (const std::int64_t j : used_places_) displaced += characters_[j] != taken_[i++];
  return jaro_winkler(m, displaced / 2, size(), length, p);
}

void JaroString::reach(std::int64_t length) {
  if (near_length_ == length) return;
  near_length_ = length;
  const std::int64_t most = apart(length);
  std::uint64_t near = most < 63 ? (std::uint64_t{2} << most) - 1 : ~std::uint64_t{0};
  near_.resize(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    near_[i] = near;
    near = near << 1 | (i < most);
  }
}

std::int64_t JaroString::match(const std::int32_t* other, std::int64_t length, std::int64_t least) {
  reach(length);
  const std::uint64_t *places = places_.data(), *near = near_.data();
  std::int32_t* taken = taken_.data();
  const std::int64_t may_lack = length - least;
  std::uint64_t used = 0;
  std::int64_t m = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::uint64_t free = places[other[i]] & near[i] & ~used;
    used |= free & (~free + 1);
    taken[m] = other[i];
    m += free != 0;
    if (i - m >= may_lack) return -1;
  }
  used_ = used;
  return m;
}

void JaroString::chain() {
  next_.resize(characters_.size());
  for (std::int64_t j = size() - 1; j >= 0; --j)
    if (const std::int32_t c = characters_[j]; c >= 0) next_[j] = first_[c], first_[c] = j;
}

std::int64_t JaroString::match_long(const std::int32_t* other, std::int64_t length) {
  used_places_.clear();
  for (std::int64_t i = 0; i < length; ++i) from_[other[i]] = first_[other[i]];
  std::int64_t m = 0;
  const std::int64_t most = apart(length);
  for (std::int64_t i = 0; i < length; ++i) {
    std::int64_t& j = from_[other[i]];
    while (j >= 0 && j < i - most) j = next_[j];
    if (j < 0 || j > i + most) continue;
    used_places_.push_back(j);
    j = next_[j];
    taken_[m++] = other[i];
  }
  std::sort(used_places_.begin(), used_places_.end());
  return m;
}

}  // namespace crfkit
