// What concerns the process, for Python: interrupts, memory, sums of files.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>

#include "engine/threads/interrupts.hpp"
#include "engine/xxh64.hpp"
#include "python/released.hpp"
#include "shared/no_memory.hpp"

namespace nb = nanobind;

namespace crfkit {
namespace {

// The thread that handles signals, as `threading.get_ident` numbers it; 0: not known.
std::atomic<unsigned long> signals_here{0};

// Runs the handlers of signals that have come; where one raises, so does the native call.
void look_for_signals() {
  if (PyThread_get_thread_ident() != signals_here.load(std::memory_order_relaxed)) return;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Threads that call `run` are asked to end by `ask`: native calls raise KeyboardInterrupt.
nb::object run(const Stop& stop, nb::typed<nb::callable, nb::object()> call) {
  const Watching watching(stop);
  return call();
}

}  // namespace

void bind_process(nb::module_& m) {
  using namespace nb::literals;
  set_interrupt_hook(&look_for_signals);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Interrupted&) {
          PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
      },
      nullptr);
  m.def(
      "handle_signals_in",
      [](unsigned long thread) { signals_here.store(thread, std::memory_order_relaxed); },
      "thread"_a);
  nb::class_<Stop>(m, "Stop")
      .def(nb::init<>())
      .def("ask", &Stop::ask)
      .def_prop_ro("asked", &Stop::asked)
      .def("run", &run, "call"_a);
  m.def("set_most_memory", &set_most_memory, "bytes"_a);
  m.def("most_memory", &most_memory);
  m.def("check_memory", &check_memory, "what"_a, "bytes"_a);
  m.def(
      "xxh64",
      [](const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& bytes) {
        const Released released;
        return Xxh64::of(bytes.data(), bytes.size());
      },
      "bytes"_a);
}

}  // namespace crfkit
