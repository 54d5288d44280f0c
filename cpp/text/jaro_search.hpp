// The entry of a dictionary that is closest to a string by Jaro-Winkler, found without looking at
// most entries.
//
// Entries lie in two orders.  By length and characters, those of one length with a common prefix of
// p are a range; by length and set of characters, neighbors have much in common.  Length and
// prefix bound the similarity, so a range knows how many characters must match to beat the best so
// far.  64 entries at a time are refused by their sets of characters (32 classes, once and twice).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "text/jaro.hpp"

namespace crfkit {

class JaroWinkler {
 public:
  static constexpr int most_prefix = 4;

  struct Scratch {
    JaroString query;
    std::uint64_t signature = 0;
    std::vector<std::int64_t> likely;
    std::vector<int> present, absent;  // classes of characters, frequent ones first
    std::vector<std::pair<double, std::size_t>> by_bound;  // lengths, the most promising first
    std::vector<std::array<std::pair<std::int64_t, std::int64_t>, most_prefix + 1>> range;
    std::vector<bool> ranged;
  };

  explicit JaroWinkler(const std::vector<std::u32string>& strings);

  // Makes ready for a string.
  void ask(const std::u32string& string, Scratch& s) const;

  // The largest similarity to the string asked for among the entries that are not `out`.
  template <class Out>
  double best(Scratch& s, Out out) const {
    s.by_bound.clear();
    for (std::size_t l = 0; l < lengths_.size(); ++l)
      s.by_bound.emplace_back(-Needed(s, lengths_[l].length, 0).bound(), l);
    std::sort(s.by_bound.begin(), s.by_bound.end());
    s.range.resize(lengths_.size());
    s.ranged.assign(lengths_.size(), false);
    double best = 0.0;
    for (int p = most_prefix; p >= 0; --p) {
      for (const auto& [bound, l] : s.by_bound) {
        Needed needed(s, lengths_[l].length, p);
        if (!needed.beats(best)) break;  // nor do the lengths that follow
        if (p == 0) {                    // entries with a prefix are met again, as if they had none
          scan_blocks(lengths_[l], needed, s, out, best);
          continue;
        }
        if (!s.ranged[l]) find_ranges(l, s);
        const auto [low, high] = s.range[l][p];
        const auto [inner_low, inner_high] =
            p < most_prefix ? s.range[l][p + 1] : std::pair(high, high);
        scan(low, inner_low, needed, s, out, best);
        scan(inner_high, high, needed, s, out, best);
      }
    }
    return best;
  }

  // The similarity of every entry to the string asked for, by number of entry: out[i].
  void every(Scratch& s, double* out) const;

 private:
  struct Length {
    std::int64_t length, first, last = 0;  // entries first..last-1 in either order
    std::int64_t first_block = 0;
  };
  using Block = std::array<std::uint64_t, 64>;  // by class: which of 64 entries have it

  // How many characters of an entry must match so that it can be better than the best so far.
  struct Needed {
    std::int64_t size, length, most, least = 1;
    int prefix;
    double settled = -1.0;  // the best that `least` is for

    Needed(const Scratch& s, std::int64_t length_, int prefix_)
        : size(s.query.size()),
          length(length_),
          most(std::min(s.query.known(), length_)),
          prefix(prefix_) {}

    // A little above what rounding could make of m matches in order; 1 is reached exactly.
    double bound(std::int64_t m) const {
      return m == 0 ? 0.0 : std::min(1.0, jaro_winkler(m, 0, size, length, prefix) + 1e-14);
    }
    double bound() const { return bound(most); }
    bool beats(double best);
    std::int64_t entry_may_lack() const { return length - least; }
    std::int64_t query_may_lack(const Scratch& s) const { return s.query.known() - least; }
  };

  std::vector<std::int32_t> code(const std::u32string& s) const;
  std::int32_t searched(char32_t c) const;

  // Which classes of characters there are: once in the lower half, twice or more in the upper.
  // The most frequent characters have a class of their own.
  static std::uint64_t signature(const std::vector<std::int32_t>& s);

  // The second order, behind the first, and its blocks.
  void add_blocks();

  // Where the entries of one length with a common prefix of 0, 1, ... lie.
  void find_ranges(std::size_t l, Scratch& s) const;

  // Which of the entries of a block have (or, turned, lack) more than K of some classes.
  template <int K>
  static std::uint64_t exceed(const Block& block, const std::vector<int>& classes,
                              std::uint64_t turned) {
    std::array<std::uint64_t, K + 1> more = {};  // [j]: more than j
    for (const int c : classes) {
      const std::uint64_t has = block[c] ^ turned;
      for (int j = K; j > 0; --j) more[j] |= more[j - 1] & has;
      more[0] |= has;
      if (!~more[K]) break;
    }
    return more[K];
  }
  static std::uint64_t exceed(const Block& block, const std::vector<int>& classes,
                              std::uint64_t turned, std::int64_t k);

  // Looks at the entries of one length, whatever their prefix.  What is likely is found first, so
  // that its characters are fetched ahead: they lie all over the memory.
  template <class Out>
  void scan_blocks(const Length& group, Needed& needed, Scratch& s, Out out, double& best) const {
    const auto second = static_cast<std::int64_t>(order_.size() / 2);
    s.likely.clear();
    for (std::int64_t low = group.first; low < group.last; low += 64) {
      const Block& block = blocks_[group.first_block + (low - group.first) / 64];
      std::uint64_t left = ~std::uint64_t{0} >> std::max<std::int64_t>(0, 64 - (group.last - low));
      left &= ~exceed(block, s.absent, 0, needed.entry_may_lack());
      if (left) left &= ~exceed(block, s.present, ~std::uint64_t{0}, needed.query_may_lack(s));
      for (; left; left &= left - 1) s.likely.push_back(second + low + std::countr_zero(left));
    }
    constexpr std::size_t ahead = 8;
    for (std::size_t i = 0; i < s.likely.size() && needed.beats(best); ++i) {
      if (i + ahead < s.likely.size())
        __builtin_prefetch(characters_.data() + begin_[s.likely[i + ahead]]);
      if (!out(order_[s.likely[i]])) best = std::max(best, similarity(s.likely[i], needed, s));
    }
  }

  // Looks at entries low..high-1 of the first order.
  template <class Out>
  void scan(std::int64_t low, std::int64_t high, Needed& needed, Scratch& s, Out out,
            double& best) const {
    for (std::int64_t k = low; k < high && needed.beats(best); ++k)
      if (count_bits(signature_[k] & ~s.signature) <= needed.entry_may_lack() &&
          count_bits(s.signature & ~signature_[k]) <= needed.query_may_lack(s) && !out(order_[k]))
        best = std::max(best, similarity(k, needed, s));
  }

  double similarity(std::int64_t k, const Needed& needed, Scratch& s) const;

  std::vector<std::pair<char32_t, std::int32_t>> ids_;  // by character
  std::array<std::int32_t, 128> ascii_;                 // ids of these, found at once
  std::vector<std::int64_t>
      order_;  // [2 entries]: numbers of entries in the first, then second order
  std::vector<std::int64_t> begin_;  // [2 entries]: where their characters begin
  std::vector<std::int32_t> characters_;
  std::vector<std::uint64_t> signature_;  // [entries], in the first order
  std::vector<Block> blocks_;             // in the second
  std::vector<Length> lengths_;
};

}  // namespace crfkit
