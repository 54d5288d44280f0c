#include "text/cqdb_check.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/words.hpp"

namespace crfkit {

bool DatabaseCheck::tables() const {
  if (d_.size >= 0x7fffffff) return false;
  std::uint64_t slots = 0;
  for (std::uint64_t t = 0; t < 256; ++t) slots += d_.table(t).slots;
  if (slots > d_.byte_count / 8) return false;  // tables that share bytes
  for (std::uint64_t t = 0; t < 256; ++t)
    if (!passable(d_.table(t))) return false;
  return true;
}

std::optional<std::uint64_t> DatabaseCheck::strings(std::uint64_t first, std::uint64_t last) const {
  std::vector<std::uint64_t> slots(last - first);  // high half record, low half hash
  std::uint64_t letters = 0, begin[257] = {};
  for (std::uint64_t id = first; id < last; ++id) {
    const std::uint64_t record = d_.word(d_.back + 4 * id);
    if (record < Database::head || !d_.inside(record, 9) || d_.word(record) != id)
      return std::nullopt;
    const std::string_view s = d_.string(record);
    if (!s.data() || s.data()[s.size()]) return std::nullopt;
    std::uint32_t bits = 0;
    const std::uint32_t h = lookup3(s, [&](std::uint32_t word) { bits |= word; });
    if (bits & 0x80808080U && !valid_utf8(s)) return std::nullopt;
    letters += s.size() + 1;
    if (letters > d_.byte_count) return std::nullopt;  // strings that share bytes
    slots[id - first] = record << 32 | h;
    ++begin[(h & 255) + 1];
  }
  // Table by table, as one fits into the nearest cache and all of them do not.
  for (int t = 0; t < 256; ++t) begin[t + 1] += begin[t];
  std::vector<std::uint64_t> sorted(last - first);
  for (const std::uint64_t own : slots) sorted[begin[own & 255]++] = own;
  std::uint64_t i = 0;
  for (int t = 0; t < 256; ++t) {
    const Database::Table table = d_.table(t);
    for (std::uint64_t at = 0; at < 8 * table.slots; at += 64)
      __builtin_prefetch(d_.bytes + table.at + at);
    for (; i < begin[t]; ++i)
      if (!soon_found(table, sorted[i]) && !found(sorted[i])) return std::nullopt;
  }
  return letters;
}

bool DatabaseCheck::soon_found(const Database::Table& table, std::uint64_t wanted) const {
  const auto slots = static_cast<std::uint32_t>(table.slots);
  if (slots < 4) return false;
  const std::uint64_t home = static_cast<std::uint32_t>(wanted) / 256 % slots;
  if (home + 4 > slots) return false;
  if (slot(table.at + 8 * home) == wanted) return true;
  unsigned ends = 0, hits = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint64_t found = slot(table.at + 8 * (home + k));
    const bool empty = found >> 32 == 0, same_hash = !static_cast<std::uint32_t>(found ^ wanted);
    ends |= static_cast<unsigned>(empty | same_hash) << k;
    hits |= static_cast<unsigned>(found == wanted) << k;
  }
  return (ends & -ends & hits) != 0;
}

bool DatabaseCheck::found(std::uint64_t wanted) const {
  const std::uint64_t hash = wanted & 0xffffffffULL, own = wanted >> 32;
  const std::string_view s = d_.string(own);
  if (!s.data()) return false;
  Database::Home home = d_.home_of(hash);
  for (std::uint64_t i = 0; i < home.slots; ++i) {
    const std::uint64_t at = home.slot_at(), record = d_.word(at + 4);
    if (record == own && d_.word(at) == hash) return true;
    if (record == 0) return false;
    if (d_.word(at) == hash && d_.holds(record, s)) return false;
    if (++home.slot == home.slots) home.slot = 0;
  }
  return false;
}

bool DatabaseCheck::passable(const Database::Table& t) const {
  const auto taken = [&](std::uint64_t i) { return d_.word(t.at + 8 * i + 4) != 0; };
  const std::uint64_t parts = t.slots / (longest_run / 2) + 1;
  bool sure = true;
  for (std::uint64_t part = 0, i = 0; part < parts && sure; ++part) {
    const std::uint64_t end = t.slots * (part + 1) / parts;
    for (i = t.slots * part / parts; i < end && taken(i);) ++i;
    sure = i < end;
  }
  if (sure) return true;
  std::uint64_t run = 0, first_run = 0;
  for (std::uint64_t i = 0; i < t.slots; ++i) {
    run = taken(i) ? run + 1 : 0;
    if (run == i + 1) first_run = run;
    if (run + (i + 1 == t.slots ? first_run : 0) > longest_run) return false;
  }
  return true;
}

}  // namespace crfkit
