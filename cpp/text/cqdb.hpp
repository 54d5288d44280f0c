// CQDB: the database of strings in CRFsuite's model files, looked up in as it lies there.
//
// Records (id, size, bytes with a closing NUL), 256 open hash tables of (hash, record), and an
// array from ids back to records; hashes are Bob Jenkins' lookup3 (hashlittle) of the bytes with
// the NUL. Numbers are little-endian and lie anywhere, offsets count from the first byte.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "text/words.hpp"

namespace crfkit {

// hashlittle, with the initial value 0, of a string and a NUL.  Calls seen(word) with words that
// have all its bytes between them, and zeros.
template <class Seen>
inline std::uint32_t lookup3(std::string_view s, Seen seen) {
  const char* p = s.data();
  std::size_t left = s.size() + 1;
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(left), b = a, c = a;
  const auto take = [&](std::uint32_t& x, std::uint64_t word) {
    x += static_cast<std::uint32_t>(word);
    seen(static_cast<std::uint32_t>(word));
  };
  const auto add = [&](const char* from) {
    take(a, little_word(from));
    take(b, little_word(from + 4));
    take(c, little_word(from + 8));
  };
  const auto mix = [](std::uint32_t& x, std::uint32_t y, std::uint32_t& z, int k) {
    x = (x - z) ^ std::rotl(z, k);
    z += y;
  };
  const auto finish = [](std::uint32_t& x, std::uint32_t y, int k) {
    x = (x ^ y) - std::rotl(y, k);
  };
  for (; left > 12; left -= 12, p += 12) {
    add(p);
    mix(a, b, c, 4), mix(b, c, a, 6), mix(c, a, b, 8);
    mix(a, b, c, 16), mix(b, c, a, 19), mix(c, a, b, 4);
  }
  std::size_t n = left - 1;  // 0 to 11 bytes, and the NUL
  if constexpr (std::endian::native == std::endian::little) {
    if (n >= 8) {
      take(a, little_word(p)), take(b, little_word(p + 4));
      if (n > 8) take(c, tail_word(p + 8, n - 8, s.size()));
    } else if (n) {
      const std::uint64_t word = tail_word(p, n, s.size());
      take(a, word), take(b, word >> 32);
    }
  } else {
    char last[12] = {};
    std::memcpy(last, p, n);
    add(last);
  }
  finish(c, b, 14), finish(a, c, 11), finish(b, a, 25);
  finish(c, b, 16), finish(a, c, 4), finish(b, a, 14), finish(c, b, 24);
  return c;
}
inline std::uint32_t lookup3(std::string_view s) {
  return lookup3(s, [](std::uint32_t) {});
}

// The strings with the ids 0 to size - 1 of a database that it does not own.  Trusts nothing in it:
// every word is checked before it is used.
struct Database {
  const char* bytes = nullptr;  // null where no database is given
  std::uint64_t byte_count = 0;
  std::uint64_t size = 0;
  std::uint64_t back = 0;  // where the array of records by id is

  static constexpr std::uint64_t head = 24 + 256 * 8;
  static constexpr std::uint64_t longest_run = 1 << 9;  // taken slots in a row, as in alphabets

  explicit operator bool() const { return bytes != nullptr; }

  std::string_view at(std::uint64_t id) const {
    const std::string_view found = string(word(back + 4 * id));
    if (!found.data())
      throw std::invalid_argument("the database is damaged: string " + std::to_string(id) +
                                  " lies outside its bytes");
    return found;
  }

  // The string of a record; one without data where it lies outside.
  std::string_view string(std::uint64_t record) const {
    if (!inside(record, 8)) return {};
    const std::uint64_t length = word(record + 4);
    if (length == 0 || !inside(record, 8 + length)) return {};
    return {bytes + record + 8, length - 1};
  }

  void fetch(std::uint64_t hash) const {
    const Home home = home_of(hash);
    if (home.slots) __builtin_prefetch(bytes + home.slot_at());
  }
  // The record that a search looks at first, where there is one.
  void fetch_record(std::uint64_t hash) const { __builtin_prefetch(bytes + first_record(hash)); }

  std::int32_t find(std::string_view s, std::uint64_t hash) const {
    Home home = home_of(hash);
    for (std::uint64_t i = 0; i < home.slots && i <= longest_run; ++i) {
      const std::uint64_t at = home.slot_at(), record = word(at + 4);
      if (record == 0) return -1;
      if (word(at) == hash && holds(record, s)) {
        const std::uint64_t id = word(record);
        return id < size ? static_cast<std::int32_t>(id) : -1;
      }
      if (++home.slot == home.slots) home.slot = 0;
    }
    return -1;
  }

  struct Table {
    std::uint64_t at, slots;
  };
  // Where a search begins.
  struct Home : Table {
    std::uint64_t slot;
    std::uint64_t slot_at() const { return at + 8 * slot; }
  };

  std::uint32_t word(std::uint64_t offset) const { return little_word(bytes + offset); }
  bool inside(std::uint64_t from, std::uint64_t length) const {
    return from <= byte_count && length <= byte_count - from;
  }
  // The table of a hash; one that lies outside has no slots.
  Table table(std::uint64_t hash) const {
    const std::uint64_t place = 24 + 8 * (hash & 255);
    const Table t{word(place), word(place + 4)};
    return inside(t.at, 8 * t.slots) ? t : Table{0, 0};
  }
  Home home_of(std::uint64_t hash) const {
    const Table t = table(hash);
    const auto slots = static_cast<std::uint32_t>(t.slots);  // divides faster than 64 bits
    return {t, slots ? static_cast<std::uint32_t>(hash) / 256 % slots : 0};
  }
  std::uint64_t first_record(std::uint64_t hash) const {
    const Home home = home_of(hash);
    const std::uint64_t record = home.slots ? word(home.slot_at() + 4) : 0;
    return record < byte_count ? record : 0;
  }
  bool holds(std::uint64_t record, std::string_view s) const {
    return inside(record, 9 + s.size()) && word(record + 4) == s.size() + 1 &&
           std::memcmp(bytes + record + 8, s.data(), s.size()) == 0;
  }
};

}  // namespace crfkit
