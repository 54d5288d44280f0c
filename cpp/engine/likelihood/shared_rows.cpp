#include "engine/likelihood/shared_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "shared/padded.hpp"

namespace crfkit {

Factoring::Factoring(const Occurrences& o, std::int64_t positions, const std::int64_t* weights,
                     std::int64_t attributes, int width, std::int64_t table_bytes)
    : o_(o),
      A_(attributes),
      width_(width),
      lines_(padded(width) / kPad),
      index_(o, positions, attributes) {
  most_slots_ = table_bytes / (lines_ * 64);
  find_plain();
  absorbed.assign(o.ptr[positions], 0);
  choose_readings(weights);
  absorb();
  number_slots();
}

void Factoring::find_plain() {
  plain_.assign(A_, 1);
  for (std::int64_t a = 0; a < A_; ++a)
    for (std::int64_t i = index_.ptr[a]; i < index_.ptr[a + 1] && plain_[a]; ++i)
      if (index_.value_at(i) != 1.0 ||
          (i > index_.ptr[a] && index_.position[i - 1] == index_.position[i]))
        plain_[a] = 0;
}

void Factoring::choose_readings(const std::int64_t* weights) {
  reading.resize(A_);
  weights_.resize(A_);
  const std::int64_t few = std::max<std::int64_t>(1, lines_ / 2);
  for (std::int64_t a = 0; a < A_; ++a) {
    const std::int64_t n = weights_[a] = static_cast<std::int32_t>(weights[a + 1] - weights[a]);
    const bool wide = n > few && n < width_ && used_slots_ < most_slots_ && count(a) > 0;
    reading[a] = n == width_ ? Reading::full : wide ? Reading::table : Reading::singles;
    used_slots_ += wide;
  }
}

void Factoring::absorb() {
  std::vector<std::int32_t> order;
  for (std::int32_t a = 0; a < A_; ++a)
    if (count(a) > 1 && plain_[a]) order.push_back(a);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return count(a) > count(b); });
  level_.assign(A_, 0);
  often_.resize(A_);
  for (std::int32_t a = 0; a < A_; ++a)
    often_[a] = plain_[a] && weights_[a] ? static_cast<std::int32_t>(count(a)) : 0;
  constexpr std::size_t kFar = 16, kNear = 8;
  for (std::size_t i = 0; i < order.size(); ++i) {
    worked_if_many(4 * count(order[i]));
    if (i + kFar < order.size())
      fetch(order[i + kFar], [&](std::int64_t p) { __builtin_prefetch(o_.ptr + p); });
    if (i + kNear < order.size())
      fetch(order[i + kNear], [&](std::int64_t p) {
        __builtin_prefetch(o_.attr + o_.ptr[p]);
        __builtin_prefetch(absorbed.data() + o_.ptr[p]);
      });
    if (find_implied(order[i]) && pays(order[i])) take(order[i]);
  }
}

template <class F>
void Factoring::fetch(std::int32_t b, F f) const {
  const std::int64_t n = std::min<std::int64_t>(count(b), 3);
  for (std::int64_t k = 0; k < n; ++k) f(positions(b)[k]);
}

bool Factoring::find_implied(std::int32_t b) {
  const std::int32_t* position = positions(b);
  const std::int64_t n = count(b), first = o_.ptr[position[0]];
  implied_.clear();
  for (std::int64_t i = first; i < o_.ptr[position[0] + 1]; ++i) {
    const std::int32_t a = o_.attr[i];
    if (a == b && absorbed[i]) return false;
    if (a == b || absorbed[i] || !known(i) || often_[a] < n) continue;
    implied_.push_back({a, i - first});
  }
  for (std::int64_t k = 1; k < n && !implied_.empty(); ++k) {
    std::size_t kept = 0;
    for (const Implied& c : implied_)
      if (find(position[k], c) >= 0) implied_[kept++] = c;
    implied_.resize(kept);
  }
  return !implied_.empty();
}

std::int64_t Factoring::find(std::int64_t p, const Implied& c) const {
  const std::int64_t first = o_.ptr[p], last = o_.ptr[p + 1];
  std::int64_t i = first + c.place;
  if (i >= last || o_.attr[i] != c.attribute) {
    for (i = first; i < last && o_.attr[i] != c.attribute;) ++i;
    if (i == last) return -1;
  }
  return absorbed[i] ? -1 : i;
}

bool Factoring::pays(std::int32_t b) const {
  const bool ready = reading[b] == Reading::table;
  std::int64_t saved = ready ? 0 : cost(b) - row_cost(), once = ready ? 0 : row_cost();
  std::int64_t fresh = !ready;
  for (const Implied& c : implied_) {
    const bool waits = reading[c.attribute] == Reading::table;
    saved += cost(c.attribute);
    once += row_cost() * (waits ? 1 : 2);
    fresh += !waits;
  }
  return saved * count(b) > 2 * once && used_slots_ + fresh <= most_slots_;
}

void Factoring::use_table(std::int32_t a) {
  used_slots_ += reading[a] != Reading::table;
  reading[a] = Reading::table;
}

void Factoring::take(std::int32_t b) {
  use_table(b);
  for (const Implied& c : implied_) {
    use_table(c.attribute);
    level_[b] = std::max<std::int32_t>(level_[b], level_[c.attribute] + 1);
    pairs_.push_back({b, c.attribute});
    for (std::int64_t k = index_.ptr[b]; k < index_.ptr[b + 1]; ++k)
      absorbed[find(index_.position[k], c)] = 1;
    gone_ += count(b);
  }
}

void Factoring::number_slots() {
  auto& [attribute, level_ptr, member_ptr, member, container_ptr, container] = slots;
  const std::int32_t top = A_ ? *std::max_element(level_.begin(), level_.end()) : 0;
  level_ptr.assign(top + 2, 0);
  for (std::int64_t a = 0; a < A_; ++a)
    if (reading[a] == Reading::table) ++level_ptr[level_[a] + 1];
  std::partial_sum(level_ptr.begin(), level_ptr.end(), level_ptr.begin());
  slot.assign(A_, -1);
  attribute.resize(level_ptr.back());
  std::vector<std::int64_t> next(level_ptr.begin(), level_ptr.end() - 1);
  for (std::int32_t a = 0; a < A_; ++a) {
    if (reading[a] != Reading::table) continue;
    slot[a] = static_cast<std::int32_t>(next[level_[a]]++);
    attribute[slot[a]] = a;
  }
  member_ptr.assign(slots.size() + 1, 0);
  container_ptr.assign(slots.size() + 1, 0);
  for (const auto& [b, a] : pairs_) ++member_ptr[slot[b] + 1], ++container_ptr[slot[a] + 1];
  std::partial_sum(member_ptr.begin(), member_ptr.end(), member_ptr.begin());
  std::partial_sum(container_ptr.begin(), container_ptr.end(), container_ptr.begin());
  member.resize(pairs_.size());
  container.resize(pairs_.size());
  std::vector<std::int64_t> to_member(member_ptr), to_container(container_ptr);
  for (const auto& [b, a] : pairs_) {
    member[to_member[slot[b]]++] = slot[a];
    container[to_container[slot[a]]++] = slot[b];
  }
  for (std::int64_t s = 0; s < slots.size(); ++s)
    std::sort(container.begin() + container_ptr[s], container.begin() + container_ptr[s + 1]);
  member.resize(member.size() + kAhead, 0);
  container.resize(container.size() + kAhead, 0);
}

}  // namespace crfkit
