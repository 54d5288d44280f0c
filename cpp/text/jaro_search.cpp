#include "text/jaro_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace crfkit {

JaroWinkler::JaroWinkler(const std::vector<std::u32string>& strings) : order_(strings.size()) {
  std::map<char32_t, std::int64_t> count;
  for (const std::u32string& s : strings)
    for (const char32_t c : s) ++count[c];
  std::vector<std::pair<std::int64_t, char32_t>> frequent;
  for (const auto& [c, n] : count) frequent.emplace_back(-n, c);
  std::sort(frequent.begin(), frequent.end());
  for (const auto& [n, c] : frequent) ids_.emplace_back(c, static_cast<std::int32_t>(ids_.size()));
  std::sort(ids_.begin(), ids_.end());
  for (char32_t c = 0; c < ascii_.size(); ++c) ascii_[c] = searched(c);
  std::vector<std::vector<std::int32_t>> coded;
  coded.reserve(strings.size());
  for (const std::u32string& s : strings) coded.push_back(code(s));
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  std::sort(order_.begin(), order_.end(), [&](std::int64_t i, std::int64_t j) {
    if (coded[i].size() != coded[j].size()) return coded[i].size() < coded[j].size();
    return coded[i] != coded[j] ? coded[i] < coded[j] : i < j;
  });
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const std::vector<std::int32_t>& s = coded[order_[k]];
    if (lengths_.empty() || lengths_.back().length != static_cast<std::int64_t>(s.size()))
      lengths_.push_back({static_cast<std::int64_t>(s.size()), static_cast<std::int64_t>(k)});
    lengths_.back().last = static_cast<std::int64_t>(k) + 1;
    begin_.push_back(static_cast<std::int64_t>(characters_.size()));
    characters_.insert(characters_.end(), s.begin(), s.end());
    signature_.push_back(signature(s));
  }
  add_blocks();
}

void JaroWinkler::ask(const std::u32string& string, Scratch& s) const {
  s.query.set(code(string), ids_.size());
  s.signature = signature(s.query.characters());
  s.present.clear(), s.absent.clear();
  for (int c = 0; c < 64; ++c) (s.signature >> c & 1 ? s.present : s.absent).push_back(c);
}

void JaroWinkler::every(Scratch& s, double* out) const {
  for (const Length& group : lengths_)
    for (std::int64_t k = group.first; k < group.last; ++k) {
      int p = 0;
      const std::int32_t* entry = characters_.data() + begin_[k];
      const auto shared = std::min<std::int64_t>({most_prefix, group.length, s.query.size()});
      while (p < shared && entry[p] == s.query.characters()[p]) ++p;
      out[order_[k]] = similarity(k, Needed(s, group.length, p), s);
    }
}

bool JaroWinkler::Needed::beats(double best) {
  if (best > settled) {
    settled = best;
    const double jaro = (best - 0.1 * prefix) / (1.0 - 0.1 * prefix);
    const double enough = (3.0 * jaro - 1.0) / (1.0 / size + 1.0 / length);  // if all is in order
    least = std::clamp(static_cast<std::int64_t>(enough) - 1, least, most + 1);
    while (least <= most && bound(least) <= best) ++least;
  }
  return least <= most;
}

std::vector<std::int32_t> JaroWinkler::code(const std::u32string& s) const {
  std::vector<std::int32_t> coded;
  coded.reserve(s.size());
  for (const char32_t c : s) coded.push_back(c < ascii_.size() ? ascii_[c] : searched(c));
  return coded;
}

std::int32_t JaroWinkler::searched(char32_t c) const {
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), std::pair(c, 0));
  return found == ids_.end() || found->first != c ? -1 : found->second;
}

std::uint64_t JaroWinkler::signature(const std::vector<std::int32_t>& s) {
  std::uint64_t once = 0, twice = 0;
  for (const std::int32_t c : s) {
    if (c < 0) continue;
    const std::uint64_t bit = std::uint64_t{1} << (c < 24 ? c : 24 + c % 8);
    twice |= once & bit;
    once |= bit;
  }
  return twice << 32 | once;
}

void JaroWinkler::add_blocks() {
  std::vector<std::int64_t> at(order_.size());
  std::iota(at.begin(), at.end(), std::int64_t{0});
  const auto reversed = [](std::uint64_t x) {  // frequent characters lead
    std::uint32_t y = 0;
    for (int i = 0; i < 32; ++i) y |= static_cast<std::uint32_t>(x >> i & 1) << (31 - i);
    return y;
  };
  std::vector<std::uint32_t> key;
  for (const std::uint64_t s : signature_) key.push_back(reversed(s));
  for (Length& group : lengths_) {
    std::stable_sort(at.begin() + group.first, at.begin() + group.last,
                     [&](std::int64_t i, std::int64_t j) { return key[i] < key[j]; });
    group.first_block = static_cast<std::int64_t>(blocks_.size());
    for (std::int64_t k = group.first; k < group.last; ++k) {
      if ((k - group.first) % 64 == 0) blocks_.push_back({});
      for (std::uint64_t left = signature_[at[k]]; left; left &= left - 1)
        blocks_.back()[std::countr_zero(left)] |= std::uint64_t{1} << (k - group.first) % 64;
    }
  }
  for (const std::int64_t k : at) {
    order_.push_back(order_[k]);
    begin_.push_back(begin_[k]);
  }
}

void JaroWinkler::find_ranges(std::size_t l, Scratch& s) const {
  const Length& group = lengths_[l];
  auto& range = s.range[l];
  range[0] = {group.first, group.last};
  for (int p = 1; p <= most_prefix; ++p) {
    auto [low, high] = range[p - 1];
    if (p > s.query.size() || p > group.length || low == high) {
      range[p] = {high, high};
      continue;
    }
    const auto first = order_.begin();
    const auto at = [&](const std::int64_t& k) {
      return characters_[begin_[&k - order_.data()] + p - 1];
    };
    const std::int32_t c = s.query.characters()[p - 1];
    const auto from = std::partition_point(first + low, first + high,
                                           [&](const std::int64_t& k) { return at(k) < c; });
    const auto to =
        std::partition_point(from, first + high, [&](const std::int64_t& k) { return at(k) <= c; });
    range[p] = {from - first, to - first};
  }
  s.ranged[l] = true;
}

std::uint64_t JaroWinkler::exceed(const Block& block, const std::vector<int>& classes,
                                  std::uint64_t turned, std::int64_t k) {
  static constexpr std::array table = {&exceed<0>, &exceed<1>, &exceed<2>, &exceed<3>,
                                       &exceed<4>, &exceed<5>, &exceed<6>, &exceed<7>};
  return k < 8 ? table[k](block, classes, turned) : 0;  // so many that few are refused
}

double JaroWinkler::similarity(std::int64_t k, const Needed& needed, Scratch& s) const {
  return s.query.similarity(characters_.data() + begin_[k], needed.length, needed.prefix,
                            needed.least);
}

}  // namespace crfkit
