#include "engine/induction/gains.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"

namespace crfkit {

void Gains::append(const Gains& other) {
  const auto add = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(left, other.left), add(right, other.right), add(label, other.label);
  add(tokens, other.tokens), add(mark, other.mark), add(mu, other.mu), add(gain, other.gain);
}

GainSearch::GainSearch(KeptReals p, KeptIntegers gold, std::optional<KeptReals> weight, int labels,
                       double l2, KeptPointers ptr, KeptIntegers id, std::optional<KeptReals> value)
    : p_(std::move(p)),
      gold_(std::move(gold)),
      weights_(std::move(weight)),
      ptr_(std::move(ptr)),
      id_(std::move(id)),
      values_(std::move(value)),
      L_(labels),
      l2_(l2) {
  const auto W = static_cast<std::int64_t>(gold_.size());
  if (labels < 1) refuse("labels is " + text(labels) + ", expected 1 or more");
  check_length("p", p_.size(), W * labels);
  check_length("ptr", ptr_.size(), W + 1);
  check_pointers(ptr_, "ptr", static_cast<std::int64_t>(id_.size()));
  if (weights_) check_length("weight", weights_->size(), W);
  if (values_) check_length("value", values_->size(), static_cast<std::int64_t>(id_.size()));
  if (!(l2 > 0.0)) refuse("l2 must be above 0");
  for (const std::int32_t y : gold_)
    if (y < 0 || y >= labels) refuse("gold " + text(y) + " is not below " + text(labels));
  bound_.resize(p_.size()), most_.resize(W);
  for (std::int64_t j = 0; j < W; ++j)
    for (std::int32_t y = 0; y < labels; ++y) {
      const double p_y = p_[j * L_ + y], q = gold_[j] == y ? p_y : 1.0 - p_y;
      const double bound = -std::log(std::max(q, 1e-300)) * (weights_ ? (*weights_)[j] : 1.0);
      bound_[j * L_ + y] = bound;
      most_[j] = std::max(most_[j], bound);
    }
  index();
}

Gains GainSearch::single(double least, int threads) const {
  return each(attributes(), 2048, threads, [&](std::int64_t first, std::int64_t last) {
    Gains out;
    for (std::int64_t a = first; a < last; ++a)
      add(static_cast<std::int32_t>(a), -1, {token_.data() + at_[a], size_of(a)},
          values_ ? value_.data() + at_[a] : nullptr, least, out);
    return out;
  });
}

Gains GainSearch::pairs(std::span<const bool> left, std::span<const bool> right, double least,
                        int threads) const {
  const std::int64_t n = attributes();
  if (std::min(std::ssize(left), std::ssize(right)) < n)
    refuse("left and right have fewer entries than the " + text(n) + " attributes");
  std::vector<std::int32_t> lefts;
  for (std::int64_t a = 0; a < attributes(); ++a)
    if (left[a] && size_of(a)) lefts.push_back(static_cast<std::int32_t>(a));
  // Only what stands on the right: the rows that are walked through are short.
  std::vector<std::int64_t> begin{0}, place;
  for (std::size_t j = 0; j + 1 < ptr_.size(); ++j) {
    for (std::int64_t i = ptr_[j]; i < ptr_[j + 1]; ++i)
      if (right[id_[i]]) place.push_back(i);
    begin.push_back(static_cast<std::int64_t>(place.size()));
  }
  const auto count = static_cast<std::int64_t>(lefts.size());
  return each(count, 32, threads, [&](std::int64_t first, std::int64_t last) {
    Gains out;
    Partners partners(attributes());
    for (std::int64_t i = first; i < last; ++i)
      add_pairs(lefts[i], left, right, begin, place, least, partners, out);
    return out;
  });
}

std::vector<std::int64_t> GainSearch::diverse(Integers left, Integers right, Integers label,
                                              Reals mu, std::int64_t most, double share) const {
  check_length("right", right.size(), static_cast<std::int64_t>(left.size()));
  check_length("label", label.size(), static_cast<std::int64_t>(left.size()));
  check_length("mu", mu.size(), static_cast<std::int64_t>(left.size()));
  std::vector<char> claimed(bound_.size());           // [tokens, labels]
  std::vector<char> explains(2 * L_ * attributes());  // what chosen attributes explain wholly
  std::vector<std::int64_t> cells, chosen;
  for (std::size_t i = 0; i < left.size() && std::ssize(chosen) < most; ++i) {
    std::int32_t a = left[i], b = right[i];
    const std::int32_t y = label[i];
    if (a < 0 || a >= attributes() || b >= attributes() || y < 0 || y >= L_)
      refuse("feature " + text(static_cast<std::int64_t>(i)) + " has an unknown part or label");
    const auto way = [&](std::int32_t part) { return 2 * (part * L_ + y) + (mu[i] > 0.0); };
    if (share > 0.0 && b >= 0 && (explains[way(a)] || explains[way(b)])) continue;
    if (b >= 0 && size_of(b) < size_of(a)) std::swap(a, b);  // the rarer one is walked through
    double all = 0.0, news = 0.0;
    cells.clear();
    for (std::int64_t t = at_[a]; t < at_[a + 1]; ++t) {
      const std::int64_t j = token_[t], cell = j * L_ + y;
      if ((gold_[j] == y) != (mu[i] > 0.0)) continue;
      const auto from = id_.begin() + ptr_[j], to = id_.begin() + ptr_[j + 1];
      if (b >= 0 && std::find(from, to, b) == to) continue;
      all += bound_[cell], news += claimed[cell] ? 0.0 : bound_[cell];
      cells.push_back(cell);
    }
    if (news < share * all || (share > 0.0 && news <= 0.0)) continue;
    if (b < 0) explains[way(a)] = 1;
    chosen.push_back(static_cast<std::int64_t>(i));
    for (const std::int64_t cell : cells) claimed[cell] = 1;
  }
  return chosen;
}

template <class Work>
Gains GainSearch::each(std::int64_t count, std::int64_t together, int threads, Work work) {
  check_threads(threads);
  std::vector<Gains> parts((count + together - 1) / together);
  parallel_for(static_cast<std::int64_t>(parts.size()), threads, [&](std::int64_t b) {
    parts[b] = work(b * together, std::min(count, (b + 1) * together));
  });
  Gains all;
  for (const Gains& part : parts) all.append(part);
  return all;
}

void GainSearch::index() {
  std::int32_t most = -1;
  for (const std::int32_t a : id_) {
    if (a < 0) refuse("attribute " + text(a) + " is below 0");
    most = std::max(most, a);
  }
  at_.resize(static_cast<std::size_t>(most) + 2);
  for (const std::int32_t a : id_) ++at_[a + 1];
  for (std::size_t a = 1; a < at_.size(); ++a) at_[a] += at_[a - 1];
  token_.resize(id_.size()), value_.resize(values_ ? id_.size() : 0);
  std::vector<std::int64_t> next(at_.begin(), at_.end() - 1);
  for (std::size_t j = 0; j + 1 < ptr_.size(); ++j)
    for (std::int64_t i = ptr_[j]; i < ptr_[j + 1]; ++i) {
      const std::int64_t to = next[id_[i]]++;
      token_[to] = static_cast<std::int32_t>(j);
      if (values_) value_[to] = (*values_)[i];
    }
}

void GainSearch::add_pairs(std::int32_t a, std::span<const bool> left, std::span<const bool> right,
                           const std::vector<std::int64_t>& begin,
                           const std::vector<std::int64_t>& place, double least, Partners& with,
                           Gains& out) const {
  const auto walk = [&](auto visit) {
    for (std::int64_t t = at_[a]; t < at_[a + 1]; ++t)
      for (std::int64_t r = begin[token_[t]]; r < begin[token_[t] + 1]; ++r) {
        const std::int32_t b = id_[place[r]];
        if (b != a && !(b < a && right[a] && left[b])) visit(b, t, place[r]);
      }
  };
  walk([&](std::int32_t b, std::int64_t t, std::int64_t) {
    if (with.count[b]++ == 0) with.seen.push_back(b);
    with.most[b] += most_[token_[t]];
  });
  std::sort(with.seen.begin(), with.seen.end());
  std::int64_t total = 0;
  for (const std::int32_t b : with.seen) {
    with.slot[b] = with.most[b] > least ? total : -1;
    if (with.slot[b] >= 0) total += with.count[b];
  }
  with.token.resize(total), with.value.resize(values_ ? total : 0);
  if (total)
    walk([&](std::int32_t b, std::int64_t t, std::int64_t i) {
      if (with.slot[b] < 0) return;
      const std::int64_t to = with.slot[b]++;
      with.token[to] = token_[t];
      if (values_) with.value[to] = value_[t] * (*values_)[i];
    });
  for (const std::int32_t b : with.seen) {
    if (with.slot[b] >= 0) {
      const std::int64_t from = with.slot[b] - with.count[b];
      add(a, b, {with.token.data() + from, static_cast<std::size_t>(with.count[b])},
          values_ ? with.value.data() + from : nullptr, least, out);
    }
    with.count[b] = 0, with.most[b] = 0.0;
  }
  with.seen.clear();
}

void GainSearch::add(std::int32_t left, std::int32_t right, Integers tokens, const double* value,
                     double least, Gains& out) const {
  double most = 0.0;
  for (const std::int32_t j : tokens) most += most_[j];
  if (most <= least) return;
  std::uint64_t mark = 0;
  for (const std::int32_t j : tokens) mark += mixed(static_cast<std::uint64_t>(j) + 1);
  for (std::int32_t y = 0; y < L_; ++y) {
    double up = 0.0, down = 0.0;  // no weight above or below 0 can gain more
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool rises = (gold_[tokens[i]] == y) == (!value || value[i] >= 0.0);
      (rises ? up : down) += bound_[tokens[i] * L_ + y];
    }
    if (std::max(up, down) <= least) continue;
    const double mu = best(tokens, value, y);
    const double gain = slope(tokens, value, y, mu, true).value;
    if (!(gain > least)) continue;
    out.left.push_back(left), out.right.push_back(right), out.label.push_back(y);
    out.tokens.push_back(static_cast<std::int64_t>(tokens.size())), out.mark.push_back(mark);
    out.mu.push_back(mu), out.gain.push_back(gain);
  }
}

std::uint64_t GainSearch::mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double GainSearch::best(Integers tokens, const double* value, std::int32_t y) const {
  constexpr double inf = std::numeric_limits<double>::infinity();
  double low = -inf, high = inf, mu = 0.0;
  for (int step = 0; step < 200; ++step) {
    const Slope at = slope(tokens, value, y, mu, false);
    (at.first > 0.0 ? low : high) = mu;
    // The slope falls by l2 at least, so that it is 0 within this distance.
    const double reach = std::fabs(at.first) / l2_;
    low = std::max(low, mu - reach), high = std::min(high, mu + reach);
    double next = mu - at.first / at.second;
    if (!(next >= low && next <= high)) next = low / 2.0 + high / 2.0;
    if (std::fabs(next - mu) <= 1e-10 * (1.0 + std::fabs(mu))) return next;
    mu = next;
  }
  return mu;
}

double GainSearch::log_total(double p, double x) {
  const double here = std::log(p) + x, others = std::log(std::max(1.0 - p, 0.0));
  const double top = std::max(here, others);
  return top + std::log1p(std::exp(std::min(here, others) - top));
}

GainSearch::Slope GainSearch::slope(Integers tokens, const double* value, std::int32_t y, double mu,
                                    bool valued) const {
  Slope sum{-l2_ * mu, -l2_, -0.5 * l2_ * mu * mu};
  double v = 1.0, x = std::min(std::fabs(mu), 700.0), e = std::exp(-x);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int32_t j = tokens[i];
    if (value) v = value[i], x = std::min(std::fabs(mu * v), 700.0), e = std::exp(-x);
    const bool rises = mu * v > 0.0;
    const double p = p_[j * L_ + y];
    const double a = rises ? p : p * e, b = rises ? (1.0 - p) * e : 1.0 - p;  // of y, of others
    const double total = a + b, q = a / total;
    const double w = weights_ ? (*weights_)[j] : 1.0, here = gold_[j] == y ? 1.0 : 0.0;
    sum.first += w * v * (here - q);
    sum.second -= w * v * v * q * (b / total);
    if (valued) sum.value += w * (here * mu * v - log_total(p, mu * v));
  }
  return sum;
}

}  // namespace crfkit
