// Which attributes always come together, so that their rows need adding only once (shared sums).
//
// Attribute b implies attribute a when every position that has b also has a: the word "of" implies
// its part of speech, a trigram its bigrams.  The occurrence of a at the positions of b can then
// go, if the row of b is read as row(b) + row(a): one sum per attribute instead of one per
// position. Rows so composed may be members of others: trigrams take bigrams that took unigrams.
//
// Greedy, the most frequent first, so that composed rows nest: b takes what is still free at all of
// its positions, where that saves at positions twice what it costs in the table.  Only attributes
// whose values are all 1 and that no position has twice take part.  CoNLL-2000 with 19 templates:
// 19 rows per position become 7.0 in 0.1 s if all is taken that saves anything; the rarest first:
// 13.4; by id: 8.9.  Demanding half or three times as much is no faster, and less means a larger
// table.  Not done: new rows for pairs that often meet (7.0 -> 5.7, of hot rows, for 0.5 s more).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/linear/index.hpp"
#include "shared/padded.hpp"

namespace crfkit {

// How an attribute's row is read: one weight after the other, straight from the weights because it
// has all of them, or from a table of rows padded to whole cache lines.
enum class Reading : std::uint8_t { singles, full, table };

// The rows of the table, and which of them contain which.
struct Slots {
  std::vector<std::int32_t> attribute;      // [slots], by level, then by rising attribute
  std::vector<std::int64_t> level_ptr;      // [levels + 1] slots; members have lower levels
  std::vector<std::int64_t> member_ptr;     // [slots + 1]
  std::vector<std::int32_t> member;         // slots that a row contains, and kAhead more entries
  std::vector<std::int64_t> container_ptr;  // [slots + 1]
  std::vector<std::int32_t> container;      // slots of rows that contain a row, likewise

  std::int64_t size() const { return static_cast<std::int64_t>(attribute.size()); }
  std::int64_t levels() const { return static_cast<std::int64_t>(level_ptr.size()) - 1; }
};

class Factoring {
 public:
  std::vector<Reading> reading;        // [A]
  std::vector<std::int32_t> slot;      // [A] row of the table, or -1
  std::vector<std::uint8_t> absorbed;  // [nnz] occurrences that a row of their position contains
  Slots slots;

  // `weights` are the weights of each attribute, ptr [A + 1] of a layout.
  Factoring(const Occurrences& o, std::int64_t positions, const std::int64_t* weights,
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

  // Occurrences of an attribute, and their positions, rising; how many occurrences are absorbed.
  std::int64_t count(std::int32_t a) const { return index_.count(a); }
  const std::int32_t* positions(std::int32_t a) const {
    return index_.position.data() + index_.ptr[a];
  }
  std::int64_t gone() const { return gone_; }

 private:
  bool known(std::int64_t i) const { return static_cast<std::uint32_t>(o_.attr[i]) < A_; }

  // Attributes whose values are all 1 and that no position has twice.
  void find_plain() {
    plain_.assign(A_, 1);
    for (std::int64_t a = 0; a < A_; ++a)
      for (std::int64_t i = index_.ptr[a]; i < index_.ptr[a + 1] && plain_[a]; ++i)
        if (index_.value_at(i) != 1.0 ||
            (i > index_.ptr[a] && index_.position[i - 1] == index_.position[i]))
          plain_[a] = 0;
  }

  // Costs count cache lines; adding one weight is a load, an addition and a store.
  std::int64_t row_cost() const { return lines_ + 2; }
  std::int64_t cost(std::int32_t a) const {
    return reading[a] == Reading::singles ? 2 * weights_[a] : row_cost();
  }

  void choose_readings(const std::int64_t* weights) {
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

  void absorb() {
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

  // Calls f with the first positions of an attribute, where most of what it may imply is ruled out.
  template <class F>
  void fetch(std::int32_t b, F f) const {
    const std::int64_t n = std::min<std::int64_t>(count(b), 3);
    for (std::int64_t k = 0; k < n; ++k) f(positions(b)[k]);
  }

  // Fills implied_ with what is free at all positions of b, and where it stands in their lists.
  bool find_implied(std::int32_t b) {
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

  struct Implied {
    std::int32_t attribute;
    std::int64_t place;  // in the list of the first position; often the same in the others
  };

  // The free occurrence of an attribute at a position, or -1.
  std::int64_t find(std::int64_t p, const Implied& c) const {
    const std::int64_t first = o_.ptr[p], last = o_.ptr[p + 1];
    std::int64_t i = first + c.place;
    if (i >= last || o_.attr[i] != c.attribute) {
      for (i = first; i < last && o_.attr[i] != c.attribute;) ++i;
      if (i == last) return -1;
    }
    return absorbed[i] ? -1 : i;
  }

  bool pays(std::int32_t b) const {
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

  void use_table(std::int32_t a) {
    used_slots_ += reading[a] != Reading::table;
    reading[a] = Reading::table;
  }

  void take(std::int32_t b) {
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

  void number_slots() {
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

  struct Pair {
    std::int32_t container, member;
  };

  Occurrences o_;
  std::int64_t A_;
  int width_;
  std::int64_t lines_, most_slots_, used_slots_ = 0, gone_ = 0;
  Index index_;                        // positions of each attribute
  std::vector<std::uint8_t> plain_;    // [A] values 1, never twice at a position
  std::vector<std::int32_t> weights_;  // [A]
  std::vector<std::int32_t> often_;    // [A] occurrences, 0 for attributes that cannot be taken
  std::vector<std::int32_t> level_;    // [A]
  std::vector<Implied> implied_;
  std::vector<Pair> pairs_;
};

}  // namespace crfkit
