// A frozen alphabet together with the arrays that it looks up in, which may be memory-mapped.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "alphabet.hpp"

namespace crfkit {

namespace nb = nanobind;

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Frozen {
  Bytes bytes;
  Words begin, slots;

  Frozen(Bytes bytes_, Words begin_, Words slots_)
      : bytes(std::move(bytes_)), begin(std::move(begin_)), slots(std::move(slots_)) {
    if (begin.size() < 1 || begin.size() > 0x7fffffff)
      throw nb::value_error("the alphabet is damaged: no strings");
    if (slots.size() & (slots.size() - 1))
      throw nb::value_error("the alphabet is damaged: slots are no power of two");
  }

  AlphabetView view() const {
    return {reinterpret_cast<const char*>(bytes.data()),
            bytes.size(),
            begin.data(),
            begin.size() - 1,
            slots.data(),
            slots.size()};
  }
};

}  // namespace crfkit
