// How much memory there is, for Python.
#include <nanobind/nanobind.h>

#include "engine/memory.hpp"
#include "engine/threads/thread_room.hpp"
#include "shared/no_memory.hpp"

namespace nb = nanobind;

namespace crfkit {

void bind_memory(nb::module_& m) {
  using namespace nb::literals;
  room_is_limited();  // what it reads once is not to be read while another thread forks
  m.def("set_most_memory", &set_most_memory, "bytes"_a);
  m.def("most_memory", &most_memory);
  m.def("check_memory", &check_memory, "what"_a, "bytes"_a);
  m.def("threads_with_room", &threads_with_room, "wanted"_a);
}

}  // namespace crfkit
