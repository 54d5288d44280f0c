// How much memory there is, for Python.
#include <nanobind/nanobind.h>

#include "engine/memory.hpp"
#include "shared/no_memory.hpp"

namespace nb = nanobind;

namespace crfkit {

void bind_memory(nb::module_& m) {
  using namespace nb::literals;
  m.def("set_most_memory", &set_most_memory, "bytes"_a);
  m.def("most_memory", &most_memory);
  m.def("check_memory", &check_memory, "what"_a, "bytes"_a);
}

}  // namespace crfkit
