#include "text/dictionary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crfkit {

Dictionary::Dictionary(Tokens tokens, std::span<const std::int64_t> ptr,
                       std::span<const std::int32_t> source)
    : source_(source.begin(), source.end()), jaro_(joined_all(tokens, ptr)) {
  const std::size_t N = ptr.size() - 1;
  std::vector<double> times;
  std::vector<std::int32_t> ids;
  set_ptr_.push_back(0);
  for (std::size_t e = 0; e < N; ++e) {
    ids.clear();
    for (std::int64_t i = ptr[e]; i < ptr[e + 1]; ++i) ids.push_back(names_.add(tokens[i]));
    std::sort(ids.begin(), ids.end());
    each_run(ids, [&](std::int32_t id, std::size_t n) {
      token_.push_back(id);
      times.push_back(static_cast<double>(n));
    });
    set_ptr_.push_back(static_cast<std::int64_t>(token_.size()));
  }
  std::vector<std::int64_t> holders(names_.size(), 0);
  for (const std::int32_t id : token_) ++holders[id];
  for (const std::int64_t n : holders) idf_.push_back(idf(N, n));
  unseen_ = idf(N, 0);
  for (std::size_t i = 0; i < token_.size(); ++i)
    weight_.push_back(std::log(1.0 + times[i]) * idf_[token_[i]]);
  for (std::size_t e = 0; e < N; ++e) {
    double square = 0.0;
    for (std::int64_t i = set_ptr_[e]; i < set_ptr_[e + 1]; ++i) square += weight_[i] * weight_[i];
    square_.push_back(square);
  }
  index(holders);
}

double Dictionary::best(Tokens phrase, Similarity kind, std::int32_t exclude, Scratch& s) const {
  const auto out = [&](std::int64_t e) { return exclude >= 0 && source_[e] == exclude; };
  if (kind == jarowinkler) {
    jaro_.ask(code_points(joined(phrase)), s.jaro);
    return jaro_.best(s.jaro, out);
  }
  ask(phrase, s);
  return kind == jaccard ? best_jaccard(s, out) : best_tfidf(s, out);
}

void Dictionary::every(Tokens phrase, Similarity kind, Scratch& s, double* made) const {
  if (kind == jarowinkler) {
    jaro_.ask(code_points(joined(phrase)), s.jaro);
    return jaro_.every(s.jaro, made);
  }
  ask(phrase, s);
  for (std::size_t e = 0; e < size(); ++e)
    made[e] = kind == jaccard ? jaccard_of(e, s) : tfidf_of(e, s);
}

template <class Sorted, class Each>
void Dictionary::each_run(const Sorted& sorted, Each each) {
  for (std::size_t i = 0, j; i < sorted.size(); i = j) {
    for (j = i + 1; j < sorted.size() && sorted[j] == sorted[i];) ++j;
    each(sorted[i], j - i);
  }
}

std::string Dictionary::joined(Tokens tokens) {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::vector<std::u32string> Dictionary::joined_all(Tokens tokens,
                                                   std::span<const std::int64_t> ptr) {
  std::vector<std::u32string> strings;
  for (std::size_t e = 0; e + 1 < ptr.size(); ++e)
    strings.push_back(code_points(joined(tokens.subspan(ptr[e], ptr[e + 1] - ptr[e]))));
  return strings;
}

void Dictionary::index(const std::vector<std::int64_t>& holders) {
  entry_ptr_.assign(names_.size() + 1, 0);
  std::partial_sum(holders.begin(), holders.end(), entry_ptr_.begin() + 1);
  std::vector<std::int64_t> at(entry_ptr_.begin(), entry_ptr_.end() - 1);
  by_size_.resize(token_.size());
  std::vector<std::pair<double, std::int32_t>> shares(token_.size());
  for (std::size_t e = 0; e < size(); ++e)
    for (std::int64_t i = set_ptr_[e]; i < set_ptr_[e + 1]; ++i) {
      const std::int64_t place = at[token_[i]]++;
      by_size_[place] = static_cast<std::int32_t>(e);
      shares[place] = {-weight_[i] / std::sqrt(square_[e]), static_cast<std::int32_t>(e)};
    }
  for (std::size_t t = 0; t < names_.size(); ++t) {
    std::stable_sort(by_size_.begin() + entry_ptr_[t], by_size_.begin() + entry_ptr_[t + 1],
                     [&](std::int32_t i, std::int32_t j) { return tokens_of(i) < tokens_of(j); });
    std::sort(shares.begin() + entry_ptr_[t], shares.begin() + entry_ptr_[t + 1]);
  }
  for (const auto& [share, e] : shares) {
    share_.push_back(-share);
    by_share_.push_back(e);
  }
}

void Dictionary::ask(Tokens phrase, Scratch& s) const {
  if (s.seen.empty() || ++s.phrase == 0) s.seen.assign(size(), 0), s.phrase = 1;
  s.found.clear(), s.unknown.clear(), s.token.clear(), s.weight.clear();
  for (const std::string_view token : phrase) {
    const std::int32_t id = names_.find(token);
    id < 0 ? s.unknown.push_back(token) : s.found.push_back(id);
  }
  std::sort(s.found.begin(), s.found.end());
  std::sort(s.unknown.begin(), s.unknown.end());
  s.square = 0.0;
  each_run(s.found, [&](std::int32_t id, std::size_t n) {
    s.token.push_back(id);
    s.weight.push_back(std::log(1.0 + static_cast<double>(n)) * idf_[id]);
    s.square += s.weight.back() * s.weight.back();
  });
  s.size = static_cast<std::int64_t>(s.token.size());
  each_run(s.unknown, [&](std::string_view, std::size_t n) {
    const double weight = std::log(1.0 + static_cast<double>(n)) * unseen_;
    s.square += weight * weight;
    ++s.size;
  });
  s.rare.resize(s.token.size());
  std::iota(s.rare.begin(), s.rare.end(), std::size_t{0});
  std::stable_sort(s.rare.begin(), s.rare.end(), [&](std::size_t i, std::size_t j) {
    return idf_[s.token[i]] > idf_[s.token[j]];
  });
}

template <class Common>
void Dictionary::each_common(std::int64_t e, const Scratch& s, Common common) const {
  std::int64_t j = set_ptr_[e];
  for (std::size_t i = 0; i < s.token.size(); ++i) {
    while (j < set_ptr_[e + 1] && token_[j] < s.token[i]) ++j;
    if (j < set_ptr_[e + 1] && token_[j] == s.token[i]) common(i, j);
  }
}

double Dictionary::jaccard_of(std::int64_t common, std::int64_t a, std::int64_t b) {
  return static_cast<double>(common) /
         static_cast<double>(std::max<std::int64_t>(a + b - common, 1));
}

double Dictionary::jaccard_of(std::int64_t e, const Scratch& s) const {
  std::int64_t common = 0;
  each_common(e, s, [&](std::size_t, std::int64_t) { ++common; });
  return jaccard_of(common, s.size, tokens_of(e));
}

double Dictionary::tfidf_of(std::int64_t e, const Scratch& s) const {
  double product = 0.0;
  each_common(e, s, [&](std::size_t i, std::int64_t j) { product += s.weight[i] * weight_[j]; });
  if (product == 0.0) return 0.0;
  return std::min(1.0, product / std::sqrt(s.square * square_[e]));
}

template <class Out>
double Dictionary::best_jaccard(Scratch& s, Out out) const {
  double best = 0.0;
  for (std::size_t i = 0; i < s.rare.size(); ++i) {
    const auto left = static_cast<std::int64_t>(s.rare.size() - i);
    if (jaccard_of(left, s.size, left) <= best) break;
    const std::int32_t t = s.token[s.rare[i]];
    for (std::int64_t k = entry_ptr_[t]; k < entry_ptr_[t + 1]; ++k) {
      const std::int32_t e = by_size_[k];
      const std::int64_t common = std::min(left, tokens_of(e));
      if (jaccard_of(common, s.size, tokens_of(e)) <= best) {
        if (tokens_of(e) >= left) break;  // larger ones are bounded by less
        continue;
      }
      if (s.seen[e] == s.phrase || out(e)) continue;
      s.seen[e] = s.phrase;
      best = std::max(best, jaccard_of(e, s));
    }
  }
  return best;
}

template <class Out>
double Dictionary::best_tfidf(Scratch& s, Out out) const {
  double best = 0.0, left = 0.0;
  for (const double weight : s.weight) left += weight * weight;
  const double norm = std::sqrt(s.square);
  for (const std::size_t i : s.rare) {
    if (std::sqrt(left) / norm <= best) break;
    const double q = s.weight[i], whole = std::sqrt(left);
    left = i == s.rare.back() ? 0.0 : std::max(left - q * q, 0.0);
    const double rest = std::sqrt(left);
    const std::int32_t t = s.token[i];
    for (std::int64_t k = entry_ptr_[t]; k < entry_ptr_[t + 1]; ++k) {
      const double u = share_[k];
      if ((q * u + rest * std::sqrt(std::max(1.0 - u * u, 0.0))) / norm <= best) {
        if (u * whole <= q) break;
        continue;
      }
      const std::int32_t e = by_share_[k];
      if (s.seen[e] == s.phrase || out(e)) continue;
      s.seen[e] = s.phrase;
      best = std::max(best, tfidf_of(e, s));
    }
  }
  return best;
}

}  // namespace crfkit
