// Strings <-> ids.  Grows by interning, in order of first appearance; frozen, it is four flat
// arrays that can be memory-mapped: bytes of all strings in a row, where each begins, and an open
// hash table of (hash, id) pairs; or the database of a CRFsuite model, as it lies in the file.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/cqdb.hpp"
#include "text/words.hpp"

namespace crfkit {

// 64 bits from the bytes of a string, of which tables use the upper half; part of the file format,
// so it never changes.
inline std::uint64_t hash_bytes(std::string_view s) {
  constexpr std::uint64_t multiplier = 0x9fb21c651e98df25ULL;
  std::uint64_t h = s.size() * multiplier + 0x2545f4914f6cdd1dULL;
  const char* p = s.data();
  std::size_t n = s.size();
  const auto mix = [&h](std::uint64_t word) {
    h = (h ^ word) * multiplier;
    h ^= h >> 29;
  };
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    mix(word);
  }
  if (n) mix(tail_word(p, n, s.size()));
  h = (h ^ (h >> 32)) * multiplier;
  return h ^ (h >> 32);
}

// A frozen alphabet: looks up in arrays that it does not own, and checks what it finds there before
// it uses it.
struct AlphabetView {
  const char* bytes;
  std::uint64_t byte_count;
  const std::uint64_t* begin;  // [size + 1]
  std::uint64_t size;
  const std::uint64_t* slots;  // [slot_count]: high half hash, low half id + 1; 0 is empty
  std::uint64_t slot_count;    // a power of two
  Database database = {};      // in place of these arrays

  // How many slots a search looks at.  In tables that are half full no string lies 100 behind its
  // place by chance.
  static constexpr std::uint64_t farthest = 1 << 9;

  static AlphabetView of(const Database& database) {
    return {nullptr, 0, nullptr, database.size, nullptr, 0, database};
  }

  // The hash by which a string is found.
  std::uint64_t hash(std::string_view s) const { return database ? lookup3(s) : hash_bytes(s); }

  // Asks for what a search for this hash reads first.
  void fetch(std::uint64_t hash) const {
    if (database) return database.fetch(hash);
    if (slot_count) __builtin_prefetch(first_slot(hash));
  }
  // The same for what it reads next: where a string begins, and then the string.
  void fetch_begin(const std::uint64_t* slot) const {
    if (const std::uint64_t id = id_in(*slot); id < size) __builtin_prefetch(begin + id);
  }
  void fetch_bytes(const std::uint64_t* slot) const {
    if (const std::uint64_t id = id_in(*slot); id < size)
      if (const std::uint64_t a = begin[id]; a < byte_count) __builtin_prefetch(bytes + a);
  }

  std::string_view at(std::uint64_t id) const {
    if (database) return database.at(id);
    const std::string_view found = string(id);
    if (!found.data())
      throw std::invalid_argument("the alphabet is damaged: string " + std::to_string(id) +
                                  " lies outside its bytes");
    return found;
  }

  // The string of an id below `size`, of the arrays; one without data where it lies outside.
  std::string_view string(std::uint64_t id) const {
    const std::uint64_t a = begin[id], b = begin[id + 1];
    if (a > b || b > byte_count) return {};
    return {bytes ? bytes + a : "", b - a};
  }

  // The id of the string that a slot names; none is below the largest number.
  static std::uint64_t id_in(std::uint64_t slot) { return (slot & 0xffffffffULL) - 1; }

  // Where the search for a string begins; there must be slots.
  const std::uint64_t* first_slot(std::uint64_t hash) const {
    return slots + (hash >> 32 & (slot_count - 1));
  }

  // Throws unless strings tile the bytes, there is one slot for each, and no look-up takes long.
  // Look-ups check what they touch all the same: whoever owns the arrays may change them later.
  void check() const {
    const auto refuse = [](const std::string& what) {
      throw std::invalid_argument("the alphabet is damaged: " + what);
    };
    if (size >= 0x7fffffff) refuse("it claims " + std::to_string(size) + " strings");
    if (begin[0] != 0 || begin[size] != byte_count)
      refuse("its strings go from byte " + std::to_string(begin[0]) + " to " +
             std::to_string(begin[size]) + ", expected 0 to " + std::to_string(byte_count));
    bool rising = true;  // without branches, which would be guessed wrong for every second slot
    for (std::uint64_t id = 0; id < size; ++id) rising &= begin[id] <= begin[id + 1];
    for (std::uint64_t id = 0; !rising && id < size; ++id)
      if (begin[id] > begin[id + 1])
        refuse("string " + std::to_string(id) + " ends before it begins");
    if (slot_count & (slot_count - 1) || slot_count / 2 < size)
      refuse("its table has " + std::to_string(slot_count) + " slots for " + std::to_string(size) +
             " strings, expected a power of two and two slots for each");
    const auto distance = [this](std::uint64_t i) {
      return (i - (slots[i] >> 32)) & (slot_count - 1);
    };
    std::uint64_t taken = 0;
    bool good = true;
    for (std::uint64_t i = 0; i < slot_count; ++i) {
      const bool used = slots[i] != 0;
      good &= !used || ((id_in(slots[i]) < size) & (distance(i) < farthest));
      taken += used;
    }
    for (std::uint64_t i = 0; !good && i < slot_count; ++i) {
      if (slots[i] == 0) continue;
      if (id_in(slots[i]) >= size)
        refuse("slot " + std::to_string(i) + " names a string that is not there");
      if (distance(i) >= farthest)
        refuse("its table is crowded around slot " + std::to_string(i) +
               ": look-ups would take long");
    }
    if (taken != size)
      refuse(std::to_string(taken) + " slots are taken, expected one for each of " +
             std::to_string(size) + " strings");
  }

  std::int32_t find(std::string_view s) const { return find(s, hash(s)); }
  std::int32_t find(std::string_view s, std::uint64_t hash) const {
    if (database) return database.find(s, hash);
    if (slot_count == 0) return -1;
    const std::uint64_t mark = hash >> 32;
    for (std::uint64_t i = 0; i < farthest; ++i) {
      const std::uint64_t slot = slots[(mark + i) & (slot_count - 1)];
      if (slot == 0) return -1;
      const std::uint64_t id = id_in(slot);
      if (slot >> 32 == mark && id < size)
        if (const std::string_view own = string(id); own.data() && own == s)
          return static_cast<std::int32_t>(id);
    }
    return -1;
  }
};

// Finds many strings: `at(i)` gives one and its hash.  Passes that each fetch what the next one
// reads, as a look-up is three cache misses, one after the other.  Calls found(i, id) in order; an
// unknown string has the id -1.
template <class At, class Found>
void find_many(const AlphabetView& names, std::size_t count, At at, Found found) {
  for (std::size_t i = 0; i < count; ++i) names.fetch(at(i).second);
  if (names.database)
    for (std::size_t i = 0; i < count; ++i) names.database.fetch_record(at(i).second);
  if (names.slot_count) {
    for (std::size_t i = 0; i < count; ++i) names.fetch_begin(names.first_slot(at(i).second));
    for (std::size_t i = 0; i < count; ++i) names.fetch_bytes(names.first_slot(at(i).second));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto [string, hash] = at(i);
    found(i, names.find(string, hash));
  }
}

class Alphabet {
 public:
  Alphabet() : begin_(1, 0), slots_(64, 0) {}

  std::size_t size() const { return begin_.size() - 1; }
  std::string_view at(std::size_t id) const {
    return {bytes_.data() + begin_[id], begin_[id + 1] - begin_[id]};
  }
  AlphabetView view() const {
    return {bytes_.data(), bytes_.size(), begin_.data(), size(), slots_.data(), slots_.size()};
  }
  // Bytes of memory; crowded strings are few.
  std::size_t room() const {
    return bytes_.capacity() + 8 * (begin_.capacity() + slots_.capacity()) + 4 * marks_.capacity();
  }
  std::int32_t find(std::string_view s) const {
    const std::int32_t id = view().find(s);
    return id < 0 && !crowded_.empty() ? find_crowded(s) : id;
  }

  // The slots of a table that will not grow: as few as leave half of them empty.
  std::vector<std::uint64_t> settled_slots() const {
    std::size_t count = 64, homeless = 0;
    while (count < 2 * size()) count *= 2;
    const auto refuse = [&](std::uint64_t) { ++homeless; };
    std::vector<std::uint64_t> table = placed(count, AlphabetView::farthest, refuse);
    for (const auto& [string, id] : crowded_)
      place(table, slot_of(id), AlphabetView::farthest, refuse);
    if (homeless)
      throw std::invalid_argument(
          std::to_string(homeless) + " of " + std::to_string(size()) +
          " names have hashes that collide with those of too many others, as if they were made "
          "to; leave them out of the data");
    return table;
  }

  // The id of a string; a new one gets the next id.
  std::int32_t add(std::string_view s) { return add(s, hash_bytes(s)); }
  std::int32_t add(std::string_view s, std::uint64_t hash) {
    return add_marked(s, static_cast<std::uint32_t>(hash >> 32));
  }

  // A place among `size` for every string, by its hash.
  std::vector<std::int32_t> hashed(std::uint64_t size) const {
    std::vector<std::int32_t> places;
    places.reserve(marks_.size());
    for (const std::uint32_t mark : marks_)
      places.push_back(static_cast<std::int32_t>(mark * size >> 32));
    return places;
  }

  // Ids here of all strings of another alphabet, in its order; new ones are added.  Slots are
  // fetched ahead: this is bound by memory.
  std::vector<std::int32_t> merge(const Alphabet& other) {
    std::vector<std::int32_t> ids(other.size());
    reserve(size() + other.size());
    constexpr std::size_t ahead = 12;
    for (std::size_t i = 0; i < other.size(); ++i) {
      if (i + ahead < other.size())
        __builtin_prefetch(&slots_[other.marks_[i + ahead] & (slots_.size() - 1)], 1);
      ids[i] = add_marked(other.at(i), other.marks_[i]);
    }
    return ids;
  }

  // Adds strings that lie in a text; stops before one that is known already or not good, and
  // returns how many there were until then.
  template <class Good>
  std::size_t add_spans(std::string_view text, const std::int64_t* begin, const std::int64_t* end,
                        std::size_t count, Good good) {
    reserve(size() + count);
    constexpr std::size_t ahead = 16;
    std::uint32_t mark[ahead];
    const auto span = [&](std::size_t i) {
      return text.substr(static_cast<std::size_t>(begin[i]),
                         static_cast<std::size_t>(end[i] - begin[i]));
    };
    const auto prepare = [&](std::size_t i) {
      mark[i % ahead] = static_cast<std::uint32_t>(hash_bytes(span(i)) >> 32);
      __builtin_prefetch(&slots_[mark[i % ahead] & (slots_.size() - 1)], 1);
    };
    for (std::size_t i = 0; i < count && i < ahead; ++i) prepare(i);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t known = size();
      const std::uint32_t own = mark[i % ahead];
      if (i + ahead < count) prepare(i + ahead);
      if (!good(span(i))) return i;
      add_marked(span(i), own);
      if (size() == known) return i;
    }
    return count;
  }

 private:
  // How far from its place a string may lie while the table grows.  By chance none gets so far;
  // those that were made to are kept in order instead, so that each costs a logarithm.
  static constexpr std::uint64_t kReach = 128;

  std::int32_t add_marked(std::string_view s, std::uint32_t mark) {
    const std::uint64_t last = slots_.size() - 1;
    for (std::uint64_t i = mark & last, tried = 0; tried < kReach; i = (i + 1) & last, ++tried) {
      const std::uint64_t slot = slots_[i];
      if (slot == 0) {
        if (!crowded_.empty()) [[unlikely]]
          if (const std::int32_t known = find_crowded(s); known >= 0) return known;
        append(s, mark);
        slots_[i] = slot_of(size() - 1);
        reserve(size());
        return static_cast<std::int32_t>(size() - 1);
      }
      const std::uint64_t id = (slot & 0xffffffffULL) - 1;
      if (slot >> 32 == mark && at(id) == s) return static_cast<std::int32_t>(id);
    }
    return add_crowded(s, mark);
  }

  [[gnu::noinline]] std::int32_t add_crowded(std::string_view s, std::uint32_t mark) {
    if (const std::int32_t known = find_crowded(s); known >= 0) return known;
    const auto place = crowded_.emplace(s, static_cast<std::int32_t>(size())).first;
    try {
      append(s, mark);
    } catch (...) {
      crowded_.erase(place);
      throw;
    }
    reserve(size());
    return static_cast<std::int32_t>(size() - 1);
  }

  [[gnu::noinline]] std::int32_t find_crowded(std::string_view s) const {
    const auto found = crowded_.find(s);
    return found == crowded_.end() ? -1 : found->second;
  }

  // The string gets the next id, or nothing has changed.
  void append(std::string_view s, std::uint32_t mark) {
    if (size() >= 0x7ffffffe) throw std::invalid_argument("more than 2^31 strings in one alphabet");
    if (marks_.size() == marks_.capacity()) marks_.reserve(2 * marks_.size() + 16);
    if (begin_.size() == begin_.capacity()) begin_.reserve(2 * begin_.size() + 16);
    bytes_.append(s);  // nothing below throws
    begin_.push_back(bytes_.size());
    marks_.push_back(mark);
  }

  std::uint64_t slot_of(std::size_t id) const {
    return static_cast<std::uint64_t>(marks_[id]) << 32 | (id + 1);
  }

  // Keeps at least half of the slots empty.
  void reserve(std::size_t strings) {
    if (2 * strings <= slots_.size()) return;
    std::size_t wanted = 4 * slots_.size();
    while (2 * strings > wanted) wanted *= 2;
    slots_ = placed(wanted, kReach, [this](std::uint64_t slot) {
      const std::uint64_t id = (slot & 0xffffffffULL) - 1;
      crowded_.emplace(at(id), static_cast<std::int32_t>(id));
    });
  }

  // The strings of the slots in a table of so many, a power of two; calls homeless(slot) for those
  // that find no room within `reach`.
  template <class Homeless>
  std::vector<std::uint64_t> placed(std::size_t count, std::uint64_t reach,
                                    Homeless homeless) const {
    std::vector<std::uint64_t> table(count, 0);
    for (const std::uint64_t slot : slots_)
      if (slot != 0) place(table, slot, reach, homeless);
    return table;
  }
  template <class Homeless>
  static void place(std::vector<std::uint64_t>& table, std::uint64_t slot, std::uint64_t reach,
                    Homeless homeless) {
    const std::uint64_t last = table.size() - 1;
    std::uint64_t i = (slot >> 32) & last, tried = 0;
    while (table[i] && ++tried < reach) i = (i + 1) & last;
    if (tried == reach) return homeless(slot);
    table[i] = slot;
  }

  std::string bytes_;
  std::vector<std::uint64_t> begin_, slots_;
  std::vector<std::uint32_t> marks_;                          // upper half of each hash
  std::map<std::string, std::int32_t, std::less<>> crowded_;  // those without a slot
};

}  // namespace crfkit
