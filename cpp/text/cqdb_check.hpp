// Whether a database of strings in a file of CRFsuite is sound: all of it is looked at once, in
// parts that may run side by side.
#pragma once

#include <cstdint>
#include <optional>

#include "text/cqdb.hpp"

namespace crfkit {

class DatabaseCheck {
 public:
  // The array of records must lie within the bytes.
  explicit DatabaseCheck(const Database& database) : d_(database) {}

  // Whether no look-up takes long, and ids are not too large.
  bool tables() const;

  // How many bytes the strings first to last - 1 have, NULs included; nothing where one of them
  // lies outside, is not UTF-8 or is not found in its table.
  std::optional<std::uint64_t> strings(std::uint64_t first, std::uint64_t last) const;

 private:
  static constexpr std::uint64_t longest_run = Database::longest_run;
  const Database& d_;

  std::uint64_t slot(std::uint64_t at) const {
    return std::uint64_t{d_.word(at + 4)} << 32 | d_.word(at);
  }

  // Whether a search for the string of a slot surely ends at this slot, within four.  Two of three
  // end where they begin; the others anywhere, so that branches would be guessed wrong.
  bool soon_found(const Database::Table& table, std::uint64_t wanted) const;
  bool found(std::uint64_t wanted) const;

  // Whether no more than longest_run slots in a row are taken.  With an empty slot in each part of
  // half as many that is certain; else all slots are counted, the first ones after the last ones.
  bool passable(const Database::Table& t) const;
};

}  // namespace crfkit
