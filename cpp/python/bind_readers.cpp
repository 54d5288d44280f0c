// Readers of rows of attributes, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "python/arrays.hpp"
#include "python/row_reader.hpp"
#include "python/strings.hpp"

namespace crfkit {
namespace {

// Line, its bytes, where the next one begins, what is wrong with it as a format of Python, and what
// to fill in.
using Refusal = std::tuple<std::int64_t, nb::bytes, std::size_t, std::string,
                           std::tuple<std::string, std::string>>;

std::optional<Refusal> told(const std::optional<Refused>& refused) {
  if (!refused) return std::nullopt;
  return Refusal(refused->line, nb::bytes(refused->text.data(), refused->text.size()),
                 refused->behind, refused->what, {refused->first, refused->second});
}

RowFormat format_of(const std::string& name) {
  if (name == "crfsuite") return RowFormat::crfsuite;
  if (name == "mallet") return RowFormat::mallet;
  if (name == "mallet-without-labels") return RowFormat::mallet_without_labels;
  if (name == "jsonl") return RowFormat::json;
  throw nb::value_error("format must be crfsuite, mallet, mallet-without-labels or jsonl");
}

using Item = std::tuple<std::optional<nb::str>, nb::typed<nb::list, nb::str>,
                        nb::typed<nb::list, nb::float_>>;

// A sequence that was read elsewhere: for each position its label, names and values.
void add(RowReader& reader, nb::typed<nb::list, Item> items, double weight) {
  RowSink& sink = reader.sink();
  for (nb::handle one : items) {
    const auto [label, names, values] = nb::cast<Item>(one);
    if (names.size() != values.size()) throw nb::value_error("names and values differ in number");
    for (std::size_t i = 0; i < names.size(); ++i)
      sink.name(bytes_of(names[i]), nb::cast<double>(values[i]));
    sink.end_row(label ? sink.labels().add(bytes_of(*label)) : -1);
  }
  sink.weigh(weight);
  sink.end_sequence();
  sink.end_line();
}

}  // namespace

void bind_readers(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<RowReader>(m, "RowReader")
      .def(
          "__init__",
          [](RowReader* self, const std::string& format) {
            new (self) RowReader(format_of(format));
          },
          "format"_a)
      .def(
          "read",
          [](RowReader& reader, nb::bytes chunk, std::size_t at, int threads, std::size_t least) {
            if (at > chunk.size()) throw nb::value_error("at lies behind the chunk");
            const std::string_view text(chunk.c_str(), chunk.size());
            std::optional<Refused> refused;
            {
              nb::gil_scoped_release release;
              refused = reader.read(text, at, threads, least);
            }
            return told(refused);
          },
          "chunk"_a, "at"_a, "threads"_a, "least"_a)
      .def("finish", [](RowReader& reader) { return told(reader.finish()); })
      .def("add", &add, "items"_a, "weight"_a)
      // Pointers of sequences, labels, pointers of positions, attributes, values and weights of the
      // sequences that have ended since the last call.
      .def("take",
           [](RowReader& reader)
               -> Tuple<Given<std::int64_t>, Given<std::int32_t>, Given<std::int64_t>,
                        Given<std::int32_t>, std::optional<Given<double>>, Given<double>> {
             Rows rows = reader.take();
             nb::object value = nb::none();
             if (rows.valued) value = give(std::move(rows.value));
             return nb::make_tuple(give(std::move(rows.seq_ptr)), give(std::move(rows.label)),
                                   give(std::move(rows.attr_ptr)), give(std::move(rows.attr)),
                                   value, give(std::move(rows.weight)));
           })
      .def_prop_ro(
          "labels", [](RowReader& reader) -> Alphabet& { return reader.labels; },
          nb::rv_policy::reference_internal)
      .def_prop_ro(
          "attributes", [](RowReader& reader) -> Alphabet& { return reader.attributes; },
          nb::rv_policy::reference_internal);
}

}  // namespace crfkit
