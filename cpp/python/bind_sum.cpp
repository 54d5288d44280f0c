// The sum of a file's bytes, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "engine/xxh64.hpp"
#include "python/released.hpp"

namespace nb = nanobind;

namespace crfkit {

using SummedBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void bind_sum(nb::module_& m) {
  using namespace nb::literals;
  m.def(
      "xxh64",
      [](const SummedBytes& bytes) {
        const Released released;
        return Xxh64::of(bytes.data(), bytes.size());
      },
      "bytes"_a);
}

}  // namespace crfkit
