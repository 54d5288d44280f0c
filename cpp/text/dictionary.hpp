// The entry of a dictionary that is closest to a phrase, found without looking at most entries.
//
//   jaccard   |A n B| / |A u B| of the sets of tokens
//   tfidf     cosine of vectors with log(1 + tf) idf for each token; tf: times in the phrase,
//             idf = log(1 + N / (1 + n)), N entries, n of them with the token; unseen: n = 0
//
// Cohen, Ravikumar & Fienberg (2003) section 2.2, with an idf that is never zero.  Jaro-Winkler is
// in jaro.hpp and jaro_search.hpp.
//
// An index leads from tokens to entries.  Tokens are taken rarest first; an entry that only has the
// tokens that are left is bounded by them, and entries of a token lie most promising last to be
// refused: for jaccard by size, for tfidf by the token's share in the entry's norm.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.hpp"
#include "text/jaro_search.hpp"

namespace crfkit {

class Dictionary {
 public:
  enum Similarity { jaccard, tfidf, jarowinkler };
  using Tokens = std::span<const std::string_view>;

  struct Scratch {
    std::vector<std::uint32_t> seen;  // [entries]: the phrase that last met the entry
    std::uint32_t phrase = 0;
    std::vector<std::int32_t> token;  // of the phrase and known, by id
    std::vector<double> weight;       // of these tokens
    double square = 0.0;              // norm of the phrase, squared
    std::int64_t size = 0;            // different tokens
    std::vector<std::size_t> rare;    // tokens, rarest first
    std::vector<std::int32_t> found;
    std::vector<std::string_view> unknown;
    JaroWinkler::Scratch jaro;
  };

  // Entry i has tokens ptr[i]..ptr[i+1]-1; source[i] is the sequence that alone gave it, or -1.
  Dictionary(Tokens tokens, std::span<const std::int64_t> ptr,
             std::span<const std::int32_t> source);

  std::size_t size() const { return square_.size(); }

  // The similarity to the closest entry that does not come from the sequence `exclude` alone.
  double best(Tokens phrase, Similarity kind, std::int32_t exclude, Scratch& s) const;

  // The similarity to every entry, one by one.
  void every(Tokens phrase, Similarity kind, Scratch& s, double* made) const;

 private:
  static double idf(std::size_t entries, std::int64_t holders) {
    return std::log(1.0 + static_cast<double>(entries) / static_cast<double>(1 + holders));
  }

  template <class Sorted, class Each>
  static void each_run(const Sorted& sorted, Each each);

  static std::string joined(Tokens tokens);
  static std::vector<std::u32string> joined_all(Tokens tokens, std::span<const std::int64_t> ptr);

  void index(const std::vector<std::int64_t>& holders);

  std::int64_t tokens_of(std::int64_t e) const { return set_ptr_[e + 1] - set_ptr_[e]; }

  // Known tokens by id with their weights, and the norm and number of all.
  void ask(Tokens phrase, Scratch& s) const;

  // Calls common(i, j) for every token i of the phrase that is token j of the index.
  template <class Common>
  void each_common(std::int64_t e, const Scratch& s, Common common) const;
  static double jaccard_of(std::int64_t common, std::int64_t a, std::int64_t b);
  double jaccard_of(std::int64_t e, const Scratch& s) const;
  double tfidf_of(std::int64_t e, const Scratch& s) const;

  template <class Out>
  double best_jaccard(Scratch& s, Out out) const;

  // An entry in whose norm the token has the share u has at most sqrt(1 - u^2) for the tokens that
  // are left.  The bound rises up to u = q / sqrt(q^2 + rest^2) and falls from there.
  template <class Out>
  double best_tfidf(Scratch& s, Out out) const;

  Alphabet names_;
  std::vector<std::int32_t> source_;
  JaroWinkler jaro_;
  std::vector<std::int64_t> set_ptr_;  // [entries + 1]: different tokens of an entry, by id
  std::vector<std::int32_t> token_;
  std::vector<double> weight_, square_, idf_;
  double unseen_ = 0.0;
  std::vector<std::int64_t> entry_ptr_;  // [tokens + 1]: entries that have a token
  std::vector<std::int32_t> by_size_, by_share_;
  std::vector<double> share_;
};

}  // namespace crfkit
