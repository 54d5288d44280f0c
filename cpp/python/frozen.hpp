// A frozen alphabet together with the arrays, or the file of CRFsuite, that it looks up in, which
// may be memory-mapped.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "text/alphabet.hpp"

namespace crfkit {

namespace nb = nanobind;

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Frozen {
  Bytes bytes;
  Words begin, slots;
  Database database = {};  // within bytes, in place of the other arrays

  AlphabetView view() const {
    if (database) return AlphabetView::of(database);
    return {reinterpret_cast<const char*>(bytes.data()),
            bytes.size(),
            begin.data(),
            begin.size() - 1,
            slots.data(),
            slots.size()};
  }
};

inline std::unique_ptr<Frozen> freeze(const Bytes& bytes, const Words& begin, const Words& slots) {
  if (begin.size() < 1)
    throw nb::value_error("the alphabet is damaged: begin is empty, expected one entry at least");
  auto made = std::make_unique<Frozen>(Frozen{bytes, begin, slots});
  made->view().check();
  return made;
}

// Strings 0 to count - 1 of a database of CRFsuite that begins at a byte of a file; none where it
// is not sound.
inline std::optional<Frozen> freeze_database(const Bytes& file, std::uint64_t at,
                                             std::uint64_t count) {
  const char* bytes = reinterpret_cast<const char*>(file.data()) + at;
  if (at > file.size() || file.size() - at < Database::head || std::memcmp(bytes, "CQDB", 4))
    return std::nullopt;
  const std::uint64_t size = little_word(bytes + 4), entries = little_word(bytes + 16),
                      back = little_word(bytes + 20);
  if (size < Database::head || size > file.size() - at || little_word(bytes + 12) != 0x62445371 ||
      entries < count || back < Database::head || back + 4 * entries > size)
    return std::nullopt;
  const Database database{bytes, size, count, back};
  {
    const nb::gil_scoped_release release;
    if (!database.sound()) return std::nullopt;
  }
  return Frozen{file, {}, {}, database};
}

}  // namespace crfkit
