// One sequence at a time for Python: Decoder (what a model needs, shared by threads) and Reading (a
// sequence that was scored, to ask several things about it).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "engine/checks.hpp"
#include "python/decoder.hpp"

namespace crfkit {
namespace {

// A sequence that was read and scored.
struct Reading {
  nb::object
      kept;  // the decoder as a Python object: nanobind's keep_alive takes longer than to read
  const Decoder& decoder;
  std::vector<double> node;  // [T, L]

  explicit Reading(nb::handle of)
      : kept(nb::borrow(of)), decoder(*nb::inst_ptr<const Decoder>(of)) {}

  std::size_t size() const { return node.size() / decoder.labels(); }

  Strings tag() const {
    if (node.empty()) return Strings();
    return decoder.with_workspace([&](Workspace& with) { return decoder.tag(node, with); });
  }
  double log_partition() const {
    if (node.empty()) return 0.0;
    return decoder.with_workspace(
        [&](Workspace& with) { return decoder.log_partition(node, with); });
  }
  double path_score(const std::vector<std::int32_t>& path) const {
    check_length("the labeling", path.size(), static_cast<std::int64_t>(size()));
    for (const std::int32_t y : path)
      if (y < 0 || y >= decoder.labels()) refuse("label " + text(y) + " does not exist");
    return decoder.path_score(node, path);
  }
  Given<double> marginals() const {
    Array<double> found({size(), static_cast<std::size_t>(decoder.labels())});
    if (!node.empty())
      decoder.with_workspace([&](Workspace& with) {
        decoder.marginals(node, found.data.get(), with);
        return 0;
      });
    return found.give();
  }
};

using ThisDecoder = nb::handle_t<Decoder>;

Reading read(ThisDecoder self, nb::handle items) {
  Reading made(self);
  made.decoder.with_workspace([&](Workspace& with) {
    made.decoder.read(items, with);
    made.decoder.score(with, made.node);
    return 0;
  });
  return made;
}

// Rows of ids, as Batch has them; ids that do not exist are ignored.
Reading read_rows(ThisDecoder self, Pointers ptr, Integers attr,
                  const std::optional<KeptReals>& value) {
  Reading made(self);
  const Occurrences o = occurrences(ptr, attr, value);
  made.decoder.with_workspace([&](Workspace& with) {
    with.walk.ptr.assign(o.ptr, o.ptr + ptr.size());
    for (std::size_t i = 0; i < attr.size(); ++i)
      with.walk.add(o.attr[i], o.value ? o.value[i] : 1.0);
    made.decoder.score(with, made.node);
    return 0;
  });
  return made;
}

// The labels of a sequence, and the sequence to ask more about, in one call.
Tuple<Strings, Reading> answer(ThisDecoder self, nb::handle items) {
  Reading made(self);
  Strings labels = made.decoder.with_workspace([&](Workspace& with) {
    made.decoder.read(items, with);
    made.decoder.score(with, made.node);
    return made.node.empty() ? Strings() : made.decoder.tag(made.node, with);
  });
  return nb::make_tuple(std::move(labels), std::move(made));
}

Strings tag(const Decoder& decoder, nb::handle items) {
  return decoder.with_workspace([&](Workspace& with) {
    decoder.read(items, with);
    decoder.score(with, with.node);
    return with.node.empty() ? Strings() : decoder.tag(with.node, with);
  });
}

using AnyNames = std::variant<const Frozen*, Hasher*>;

Names names_of(const AnyNames& names) {
  if (const auto* frozen = std::get_if<const Frozen*>(&names)) return (*frozen)->view();
  return std::get<Hasher*>(names);
}

}  // namespace

void bind_decoder(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Reading>(m, "Reading")
      .def("__len__", &Reading::size)
      .def("tag", &Reading::tag)
      .def("log_partition", &Reading::log_partition)
      .def("path_score", &Reading::path_score, "path"_a)
      .def("marginals", &Reading::marginals);
  nb::class_<Decoder>(m, "Decoder")
      .def(
          "__init__",
          [](Decoder* self, const Kernels& kernels, const AnyNames& names, const ReadyRows& rows,
             std::vector<Scores> tables, std::optional<Scores> start, std::optional<Scores> stop,
             Labels labels) {
            new (self) Decoder(kernels, names_of(names), rows, std::move(tables), start, stop,
                               std::move(labels));
          },
          "kernels"_a, "names"_a, "rows"_a, "tables"_a, "start"_a.none(), "stop"_a.none(),
          "labels"_a, nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("tag", &tag, "items"_a.none())
      .def("answer", &answer, "items"_a.none())
      .def("read", &read, "items"_a.none())
      .def("read_rows", &read_rows, "ptr"_a, "attr"_a, "value"_a.none());
}

}  // namespace crfkit
