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

#include <cstdint>
#include <vector>

#include "engine/linear/index.hpp"

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
            std::int64_t attributes, int width, std::int64_t table_bytes);

  // Occurrences of an attribute, and their positions, rising; how many occurrences are absorbed.
  std::int64_t count(std::int32_t a) const { return index_.count(a); }
  const std::int32_t* positions(std::int32_t a) const {
    return index_.position.data() + index_.ptr[a];
  }
  std::int64_t gone() const { return gone_; }

 private:
  bool known(std::int64_t i) const { return static_cast<std::uint32_t>(o_.attr[i]) < A_; }

  // Attributes whose values are all 1 and that no position has twice.
  void find_plain();

  // Costs count cache lines; adding one weight is a load, an addition and a store.
  std::int64_t row_cost() const { return lines_ + 2; }
  std::int64_t cost(std::int32_t a) const {
    return reading[a] == Reading::singles ? 2 * weights_[a] : row_cost();
  }

  void choose_readings(const std::int64_t* weights);

  void absorb();

  // Calls f with the first positions of an attribute, where most of what it may imply is ruled out.
  template <class F>
  void fetch(std::int32_t b, F f) const;

  // Fills implied_ with what is free at all positions of b, and where it stands in their lists.
  bool find_implied(std::int32_t b);

  struct Implied {
    std::int32_t attribute;
    std::int64_t place;  // in the list of the first position; often the same in the others
  };

  // The free occurrence of an attribute at a position, or -1.
  std::int64_t find(std::int64_t p, const Implied& c) const;

  bool pays(std::int32_t b) const;

  void use_table(std::int32_t a);

  void take(std::int32_t b);

  void number_slots();

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
