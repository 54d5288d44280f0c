// The entry of a dictionary that is closest to a string by Jaro-Winkler, found without looking at
// most entries.
//
// m characters match: equal ones at most max(|a|, |b|) / 2 - 1 places apart, each taken once, from
// left to right; t is half the number of those that stand in another order.  p is the length of the
// common prefix, at most 4.
//
//   J = (m / |a| + m / |b| + (m - t) / m) / 3,   0 where m = 0       Jaro (1989)
//   JW = J + 0.1 p (1 - J), for every J                              Winkler (1990)
//
// Entries are sorted by length, then by characters, so that those of one length with a common
// prefix of p are a range.  Length and prefix bound the similarity, so a range knows how many
// characters must match to beat the best so far; sets of characters (32 classes, once and twice)
// refuse most entries, and matching ends when too many characters lack a partner.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crfkit {

inline std::u32string code_points(std::string_view utf8) {  // of valid UTF-8
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

class JaroWinkler {
 public:
  static constexpr int most_prefix = 4;

  struct Scratch {
    std::vector<std::int32_t> query;    // ids of characters; -1: no entry has it
    std::vector<std::uint64_t> places;  // by character: where the query has it, for 64 places
    std::vector<std::uint64_t> used;    // places of the query that have a partner
    std::vector<std::int32_t> taken;    // matched characters in the order of the entry
    std::uint64_t signature = 0;
    std::vector<std::size_t> by_ratio;  // lengths, the most promising first
    std::vector<std::array<std::pair<std::int64_t, std::int64_t>, most_prefix + 1>> range;
    std::vector<bool> ranged;
  };

  explicit JaroWinkler(const std::vector<std::u32string>& strings) : order_(strings.size()) {
    std::unordered_map<char32_t, std::int64_t> count;
    for (const std::u32string& s : strings)
      for (const char32_t c : s) ++count[c];
    std::vector<std::pair<std::int64_t, char32_t>> frequent;
    for (const auto& [c, n] : count) frequent.emplace_back(-n, c);
    std::sort(frequent.begin(), frequent.end());
    for (const auto& [n, c] : frequent) ids_.emplace(c, static_cast<std::int32_t>(ids_.size()));
    std::vector<std::vector<std::int32_t>> coded;
    coded.reserve(strings.size());
    for (const std::u32string& s : strings) coded.push_back(code(s));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::int64_t i, std::int64_t j) {
      if (coded[i].size() != coded[j].size()) return coded[i].size() < coded[j].size();
      return coded[i] != coded[j] ? coded[i] < coded[j] : i < j;
    });
    begin_.push_back(0);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const std::vector<std::int32_t>& s = coded[order_[k]];
      if (lengths_.empty() || lengths_.back().length != static_cast<std::int64_t>(s.size()))
        lengths_.push_back({static_cast<std::int64_t>(s.size()), static_cast<std::int64_t>(k), 0});
      lengths_.back().last = static_cast<std::int64_t>(k) + 1;
      characters_.insert(characters_.end(), s.begin(), s.end());
      begin_.push_back(static_cast<std::int64_t>(characters_.size()));
      signature_.push_back(signature(s));
      present_.push_back(static_cast<std::uint32_t>(signature_.back()));
    }
  }

  // Makes ready for a string; what a scratch needs is kept between strings.
  void ask(const std::u32string& string, Scratch& s) const {
    if (s.places.empty()) s.places.assign(ids_.size(), 0);
    for (const std::int32_t c : s.query)
      if (c >= 0) s.places[c] = 0;
    s.query = code(string);
    s.signature = signature(s.query);
    if (s.query.size() <= 64)
      for (std::size_t j = 0; j < s.query.size(); ++j)
        if (s.query[j] >= 0) s.places[s.query[j]] |= std::uint64_t{1} << j;
  }

  // The largest similarity to the string asked for among the entries that are not `out`.
  template <class Out>
  double best(Scratch& s, Out out) const {
    const auto size = static_cast<std::int64_t>(s.query.size());
    if (size == 0) return 0.0;
    const auto ratio = [&](std::size_t l) {
      const auto [low, high] = std::minmax(size, lengths_[l].length);
      return static_cast<double>(low) / static_cast<double>(high);
    };
    s.by_ratio.resize(lengths_.size());
    std::iota(s.by_ratio.begin(), s.by_ratio.end(), std::size_t{0});
    std::sort(s.by_ratio.begin(), s.by_ratio.end(), [&](std::size_t i, std::size_t j) {
      return ratio(i) != ratio(j) ? ratio(i) > ratio(j) : i < j;
    });
    s.range.resize(lengths_.size());
    s.ranged.assign(lengths_.size(), false);
    double best = 0.0;
    for (int p = most_prefix; p >= 0; --p) {
      for (const std::size_t l : s.by_ratio) {
        const std::int64_t most = std::min(size, lengths_[l].length);
        if (bound(most, size, lengths_[l].length, p) <= best) break;
        if (!s.ranged[l]) find_ranges(l, s);
        const auto [low, high] = s.range[l][p];
        const auto [inner_low, inner_high] =
            p < most_prefix ? s.range[l][p + 1] : std::pair(high, high);
        scan(low, inner_low, l, p, s, out, best);
        scan(inner_high, high, l, p, s, out, best);
      }
    }
    return best;
  }

  // The similarity of every entry to the string asked for, by number of entry: out[i].
  void every(Scratch& s, double* out) const {
    for (const Length& group : lengths_)
      for (std::int64_t k = group.first; k < group.last; ++k) {
        int p = 0;
        const std::int32_t* entry = characters_.data() + begin_[k];
        const auto shared = std::min<std::int64_t>(
            {most_prefix, group.length, static_cast<std::int64_t>(s.query.size())});
        while (p < shared && entry[p] == s.query[p]) ++p;
        out[order_[k]] = similarity(k, p, group.length, 0, s);
      }
  }

 private:
  struct Length {
    std::int64_t length, first, last;  // entries first..last-1 in sorted order
  };

  std::vector<std::int32_t> code(const std::u32string& s) const {
    std::vector<std::int32_t> coded;
    coded.reserve(s.size());
    for (const char32_t c : s) {
      const auto found = ids_.find(c);
      coded.push_back(found == ids_.end() ? -1 : found->second);
    }
    return coded;
  }

  // Which classes of characters there are: once in the lower half, twice or more in the upper.
  // The most frequent characters have a class of their own.
  static std::uint64_t signature(const std::vector<std::int32_t>& s) {
    std::uint64_t once = 0, twice = 0;
    for (const std::int32_t c : s) {
      if (c < 0) continue;
      const std::uint64_t bit = std::uint64_t{1} << (c < 24 ? c : 24 + c % 8);
      twice |= once & bit;
      once |= bit;
    }
    return twice << 32 | once;
  }

  static double value(std::int64_t m, std::int64_t t, std::int64_t a, std::int64_t b, int p) {
    if (m == 0) return 0.0;
    const double matches = static_cast<double>(m);
    const double jaro = (matches / static_cast<double>(a) + matches / static_cast<double>(b) +
                         static_cast<double>(m - t) / matches) /
                        3.0;
    return jaro + 0.1 * p * (1.0 - jaro);
  }
  // Of m matches or fewer, a little above what rounding could make of it; 1 is reached exactly.
  static double bound(std::int64_t m, std::int64_t a, std::int64_t b, int p) {
    return std::min(1.0, value(m, 0, a, b, p) + 1e-14);
  }

  // Where the entries of one length with a common prefix of 0, 1, ... lie.
  void find_ranges(std::size_t l, Scratch& s) const {
    const Length& group = lengths_[l];
    auto& range = s.range[l];
    range[0] = {group.first, group.last};
    for (int p = 1; p <= most_prefix; ++p) {
      auto [low, high] = range[p - 1];
      const std::int64_t size = static_cast<std::int64_t>(s.query.size());
      if (p > size || p > group.length || low == high) {
        range[p] = {high, high};
        continue;
      }
      const auto first = order_.begin();
      const auto at = [&](const std::int64_t& k) {
        return characters_[begin_[&k - order_.data()] + p - 1];
      };
      const std::int32_t c = s.query[p - 1];
      const auto from = std::partition_point(first + low, first + high,
                                             [&](const std::int64_t& k) { return at(k) < c; });
      const auto to = std::partition_point(from, first + high,
                                           [&](const std::int64_t& k) { return at(k) <= c; });
      range[p] = {from - first, to - first};
    }
    s.ranged[l] = true;
  }

  template <class Out>
  void scan(std::int64_t low, std::int64_t high, std::size_t l, int p, Scratch& s, Out out,
            double& best) const {
    const std::int64_t a = static_cast<std::int64_t>(s.query.size()), b = lengths_[l].length;
    std::int64_t least = std::min(a, b);  // matches that are needed to be better
    const auto settle = [&] {
      while (least > 0 && bound(least - 1, a, b, p) > best) --least;
      while (least <= std::min(a, b) && bound(least, a, b, p) <= best) ++least;
    };
    settle();
    const auto absent = static_cast<std::uint32_t>(~s.signature);
    std::array<std::uint8_t, 256> missing;
    for (std::int64_t k0 = low; k0 < high && least <= std::min(a, b); k0 += 256) {
      const std::int64_t n = std::min<std::int64_t>(256, high - k0);
      for (std::int64_t i = 0; i < n; ++i) {  // a count of bits that compilers turn into vectors
        std::uint32_t x = present_[k0 + i] & absent;
        x -= x >> 1 & 0x55555555u;
        x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
        x = (x + (x >> 4)) & 0x0f0f0f0fu;
        x += x >> 8;
        missing[i] = static_cast<std::uint8_t>((x + (x >> 16)) & 0x3fu);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        if (missing[i] > b - least) continue;
        const std::uint64_t mine = signature_[k0 + i];
        if (std::popcount(mine & ~s.signature) > b - least ||
            std::popcount(s.signature & ~mine) > a - least || out(order_[k0 + i]))
          continue;
        const double found = similarity(k0 + i, p, b, least, s);
        if (found > best) {
          best = found;
          settle();
          if (least > std::min(a, b)) break;
        }
      }
    }
  }

  // The similarity of an entry with the common prefix p; 0 where fewer than `least` characters
  // match.
  double similarity(std::int64_t k, int p, std::int64_t length, std::int64_t least,
                    Scratch& s) const {
    const std::int32_t* entry = characters_.data() + begin_[k];
    const auto size = static_cast<std::int64_t>(s.query.size());
    if (size == 0) return 0.0;
    const std::int64_t reach = std::max<std::int64_t>(std::max(size, length) / 2 - 1, 0);
    s.used.assign(static_cast<std::size_t>((size + 63) / 64), 0);
    s.taken.clear();
    std::int64_t may_lack = length - least;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t low = std::max<std::int64_t>(0, i - reach);
      const std::int64_t high = std::min(size - 1, i + reach);
      bool matched = false;
      if (size > 64) {
        std::int64_t j = low;
        while (j <= high && (s.query[j] != entry[i] || s.used[j / 64] >> (j % 64) & 1)) ++j;
        if ((matched = j <= high)) s.used[j / 64] |= std::uint64_t{1} << (j % 64);
      } else if (low <= high) {
        const std::uint64_t free = s.places[entry[i]] & ~s.used[0] & ~std::uint64_t{0} << low &
                                   ~std::uint64_t{0} >> (63 - high);
        matched = free != 0;
        s.used[0] |= free & (~free + 1);  // the first place
      }
      if (matched)
        s.taken.push_back(entry[i]);
      else if (--may_lack < 0)
        return 0.0;
    }
    const auto m = static_cast<std::int64_t>(s.taken.size());
    std::int64_t displaced = 0, i = 0;
    for (std::size_t word = 0; word < s.used.size(); ++word)
      for (std::uint64_t left = s.used[word]; left; left &= left - 1)
        displaced += s.query[64 * word + std::countr_zero(left)] != s.taken[i++];
    return value(m, displaced / 2, size, length, p);
  }

  std::unordered_map<char32_t, std::int32_t> ids_;
  std::vector<std::int64_t> order_;  // [entries]: numbers of entries by length and characters
  std::vector<std::int64_t> begin_;  // [entries + 1]: where characters begin, in this order
  std::vector<std::int32_t> characters_;
  std::vector<std::uint64_t> signature_;
  std::vector<std::uint32_t> present_;
  std::vector<Length> lengths_;
};

}  // namespace crfkit
