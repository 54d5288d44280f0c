// Readers of rows of attributes, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "engine/checks.hpp"
#include "python/arrays.hpp"
#include "python/released.hpp"
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
                 refused->behind, refused->what.text, {refused->first, refused->second});
}

RowFormat format_of(const std::string& name) {
  if (name == "crfsuite") return RowFormat::crfsuite;
  if (name == "mallet") return RowFormat::mallet;
  if (name == "mallet-without-labels") return RowFormat::mallet_without_labels;
  if (name == "jsonl") return RowFormat::json;
  throw nb::value_error("format must be crfsuite, mallet, mallet-without-labels or jsonl");
}

// A sequence that was read elsewhere: for each position its label and where its names end, then
// names and values of all.
void add(RowReader& reader, nb::typed<nb::list, std::optional<nb::str>> labels,
         nb::typed<nb::list, nb::int_> ends, Strings names, nb::typed<nb::list, nb::float_> values,
         double weight) {
  if (names.size() != values.size() || labels.size() != ends.size())
    throw nb::value_error("names and values, or labels and ends, differ in number");
  RowSink& sink = reader.sink();
  const std::size_t queued = sink.queued();
  std::size_t i = 0;
  try {
    for (std::size_t t = 0; t < ends.size(); ++t) {
      const auto end = std::min(nb::cast<std::size_t>(ends[t]), names.size());
      for (; i < end; ++i) sink.name(bytes_of(names[i]), nb::cast<double>(values[i]));
      const nb::handle label = labels[t];
      sink.end_row(label.is_none() ? -1 : sink.label(bytes_of(label)));
    }
  } catch (const Refused&) {
    sink.drop(queued);
    throw nb::value_error("has a name of more than 1 MiB");
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
              Released release;
              refused = reader.read(text, at, threads, least);
            }
            return told(refused);
          },
          "chunk"_a, "at"_a, "threads"_a, "least"_a)
      .def("finish", [](RowReader& reader) { return told(reader.finish()); })
      .def("add", &add, "labels"_a, "ends"_a, "names"_a, "values"_a, "weight"_a)
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
