// Ids to text for Python: columns of strings as lines.
#include <nanobind/stl/variant.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/checks.hpp"
#include "python/checked.hpp"
#include "python/frozen.hpp"
#include "python/released.hpp"
#include "shared/interrupts.hpp"

namespace crfkit {
namespace {

AlphabetView view_of(nb::handle alphabet) {
  if (nb::isinstance<Frozen>(alphabet)) return nb::cast<const Frozen&>(alphabet).view();
  return nb::cast<const Alphabet&>(alphabet).view();
}

// One line for each position with the strings of all columns, TABs between them, and an empty line
// after every sequence.
nb::bytes render_lines(nb::typed<nb::list, std::variant<Alphabet*, Frozen*>> alphabets,
                       const std::vector<KeptIntegers>& ids, Pointers seq_ptr) {
  std::vector<AlphabetView> names;
  for (nb::handle alphabet : alphabets) names.push_back(view_of(alphabet));
  check_length("ids", ids.size(), static_cast<std::int64_t>(names.size()));
  if (seq_ptr.size() == 0) refuse("seq_ptr is empty; it needs a first entry 0");
  const std::int64_t N = static_cast<std::int64_t>(seq_ptr.size()) - 1, P = seq_ptr.data()[N];
  check_pointers(seq_ptr, "seq_ptr", P);
  for (std::size_t c = 0; c < ids.size(); ++c) {
    check_length("a column", ids[c].size(), P);
    for (std::int64_t p = 0; p < P; ++p)
      if (static_cast<std::uint32_t>(ids[c].data()[p]) >= names[c].size)
        refuse("column " + text(static_cast<std::int64_t>(c)) + " has the id " +
               text(ids[c].data()[p]) + ", its alphabet has " +
               text(static_cast<std::int64_t>(names[c].size)) + " strings");
  }
  std::string lines;
  {
    Released release;
    lines.reserve(static_cast<std::size_t>(P) * 8 * (ids.size() + 1));
    for (std::int64_t n = 0; n < N; ++n) {
      worked((seq_ptr[n + 1] - seq_ptr[n]) * 8 * static_cast<std::int64_t>(ids.size()));
      for (std::int64_t p = seq_ptr.data()[n]; p < seq_ptr.data()[n + 1]; ++p) {
        for (std::size_t c = 0; c < ids.size(); ++c) {
          if (c) lines += '\t';
          lines += names[c].at(static_cast<std::uint64_t>(ids[c].data()[p]));
        }
        lines += '\n';
      }
      lines += '\n';
    }
  }
  return nb::bytes(lines.data(), lines.size());
}

}  // namespace

void bind_render(nb::module_& m) {
  using namespace nb::literals;
  m.def("render_lines", &render_lines, "alphabets"_a, "ids"_a, "seq_ptr"_a);
}

}  // namespace crfkit
