// Mapped files for Python: their bytes, and whether one was cut short since.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "engine/mapped.hpp"
#include "python/arrays.hpp"

namespace crfkit {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The bytes of an open file of so many; they stay mapped as long as the array lives.
Given<std::uint8_t> map_bytes(int descriptor, std::size_t size, const std::string& name) {
  try {
    auto* file = new MappedFile(descriptor, size, name);
    nb::capsule owner(file, [](void* p) noexcept { delete static_cast<MappedFile*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, const std::uint8_t>(file->data(), {file->size()}, owner));
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, name.c_str());
    throw nb::python_error();
  }
}

}  // namespace

void bind_mapped(nb::module_& m) {
  using namespace nb::literals;
  m.def("map_bytes", &map_bytes, "descriptor"_a, "size"_a, "name"_a);
  // Raises where bytes lie in a mapped file that was cut short.
  m.def("check_file", [](const Bytes& bytes) { Origin(bytes.data()).check(); }, "bytes"_a);
}

}  // namespace crfkit
