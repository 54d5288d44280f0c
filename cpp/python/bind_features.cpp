// Text to ids for Python: columns, templates.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "python/arrays.hpp"
#include "python/features.hpp"
#include "python/frozen.hpp"
#include "python/released.hpp"
#include "text/columns.hpp"

namespace crfkit {

void bind_features(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<ColumnParser>(m, "ColumnParser")
      .def(
          "__init__",
          [](ColumnParser* self, std::optional<std::string> separator, std::string comment,
             bool skip_docstart, bool blank_starts_end) {
            if (separator && separator->size() != 1)
              throw nb::value_error("separator must be one character");
            new (self)
                ColumnParser({separator ? std::optional<char>((*separator)[0]) : std::nullopt,
                              std::move(comment), skip_docstart, blank_starts_end});
          },
          "separator"_a.none(), "comment"_a, "skip_docstart"_a, "blank_starts_end"_a)
      // None, or the line of a mistake and what it is.
      .def("feed",
           [](ColumnParser& p,
              nb::bytes chunk) -> std::optional<std::tuple<std::int64_t, std::string>> {
             try {
               const Released release;
               p.feed({chunk.c_str(), chunk.size()});
             } catch (const BadLine& bad) {
               return std::tuple(bad.line, bad.what);
             }
             return std::nullopt;
           })
      .def("finish",
           [](ColumnParser& p) -> std::optional<std::tuple<std::int64_t, std::string>> {
             try {
               p.finish();
             } catch (const BadLine& bad) {
               return std::tuple(bad.line, bad.what);
             }
             return std::nullopt;
           })
      .def("take",
           [](ColumnParser& p) -> Tuple<nb::typed<nb::list, Given<std::int32_t>>,
                                        Given<std::int64_t>, Given<std::int64_t>> {
             ColumnParser::Taken taken = p.take();
             nb::list ids;
             for (auto& column : taken.ids) ids.append(give(std::move(column)));
             return nb::make_tuple(ids, give(std::move(taken.seq_ptr)),
                                   give(std::move(taken.line)));
           })
      .def_prop_ro("columns", &ColumnParser::columns)
      .def(
          "alphabet",
          [](ColumnParser& p, std::size_t column) -> Alphabet& {
            if (column >= p.columns()) throw nb::index_error("no such column");
            return p.alphabet(column);
          },
          nb::rv_policy::reference_internal);

  nb::class_<Features>(m, "Features")
      .def(nb::init<const std::vector<RawView>&, const std::vector<RawTemplate>&,
                    const std::string&>(),
           "views"_a, "templates"_a, "padding"_a)
      .def("freeze",
           [](Features& f, const Frozen& node, const Frozen& edge, const Frozen& segment) {
             f.freeze({std::make_shared<Frozen>(node), std::make_shared<Frozen>(edge),
                       std::make_shared<Frozen>(segment)});
           })
      .def("update", &Features::update, "view"_a, "tokens"_a)
      .def("supply", &Features::supply, "view"_a, "tokens"_a, "values"_a)
      .def("expand", &Features::expand, "columns"_a, "seq_ptr"_a, "threads"_a, "longest"_a = 0)
      .def_prop_ro(
          "node_names", [](Features& f) -> Alphabet& { return f.names(0); },
          nb::rv_policy::reference_internal)
      .def_prop_ro(
          "edge_names", [](Features& f) -> Alphabet& { return f.names(1); },
          nb::rv_policy::reference_internal)
      .def_prop_ro(
          "segment_names", [](Features& f) -> Alphabet& { return f.names(2); },
          nb::rv_policy::reference_internal);
}

}  // namespace crfkit
