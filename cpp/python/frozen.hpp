// A frozen alphabet together with the arrays, or the file of CRFsuite, that it looks up in, which
// may lie in a mapped file.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>

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

}  // namespace crfkit
