// One sequence at a time for Python: Decoder (what a model needs, shared by threads) and Reading (a
// sequence that was scored, to ask several things about it).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
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
  SequenceScores scores;

  explicit Reading(nb::handle of)
      : kept(nb::borrow(of)), decoder(*nb::inst_ptr<const Decoder>(of)) {}

  std::size_t size() const { return scores.node.size() / decoder.labels(); }

  Strings tag() const {
    if (scores.node.empty()) return Strings();
    return decoder.with_workspace([&](Workspace& with) { return decoder.tag(scores, with); });
  }
  double log_partition() const {
    if (scores.node.empty()) return 0.0;
    return decoder.with_workspace(
        [&](Workspace& with) { return decoder.log_partition(scores, with); });
  }
  double path_score(const std::vector<std::int32_t>& path) const {
    check_length("the labeling", path.size(), static_cast<std::int64_t>(size()));
    for (const std::int32_t y : path)
      if (y < 0 || y >= decoder.labels()) refuse("label " + text(y) + " does not exist");
    return decoder.path_score(scores, path);
  }
  Given<double> marginals() const {
    Array<double> found({size(), static_cast<std::size_t>(decoder.labels())});
    if (!scores.node.empty())
      decoder.with_workspace([&](Workspace& with) {
        decoder.marginals(scores, found.data.get(), with);
        return 0;
      });
    return found.give();
  }
};

using ThisDecoder = nb::handle_t<Decoder>;

Reading read(ThisDecoder self, nb::handle items) {
  Reading made(self);
  made.decoder.with_workspace([&](Workspace& with) {
    made.decoder.read(items, Doubt::none, with);
    made.decoder.score(with, made.scores);
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
    made.decoder.score(with, made.scores);
    return 0;
  });
  return made;
}

// The labels of a sequence, and the sequence to ask more about, in one call.
Tuple<Strings, Reading> answer(ThisDecoder self, nb::handle items) {
  Reading made(self);
  Strings labels = made.decoder.with_workspace([&](Workspace& with) {
    made.decoder.read(items, Doubt::none, with);
    made.decoder.score(with, made.scores);
    return made.scores.node.empty() ? Strings() : made.decoder.tag(made.scores, with);
  });
  return nb::make_tuple(std::move(labels), std::move(made));
}

Strings tag(const Decoder& decoder, nb::handle items) {
  return decoder.with_workspace([&](Workspace& with) {
    decoder.read(items, Doubt::none, with);
    decoder.score(with, with.scores);
    return with.scores.node.empty() ? Strings() : decoder.tag(with.scores, with);
  });
}

// What follows are answers to items or tokens; None where the caller is to look closer.

template <class Answer>
auto answered(const Decoder& decoder, nb::handle sequence, int doubt, Answer answer)
    -> std::optional<decltype(answer(std::declval<Workspace&>()))> {
  return decoder.with_workspace([&](Workspace& with) -> std::optional<decltype(answer(with))> {
    if (!decoder.read(sequence, static_cast<Doubt>(doubt), with)) return std::nullopt;
    decoder.score(with, with.scores);
    return answer(with);
  });
}

std::optional<Strings> labels_of(const Decoder& decoder, nb::handle sequence, int doubt) {
  return answered(decoder, sequence, doubt, [&](Workspace& with) {
    return with.scores.node.empty() ? Strings() : decoder.tag(with.scores, with);
  });
}

std::optional<Reading> reading_of(ThisDecoder self, nb::handle sequence, int doubt) {
  const Decoder& decoder = *nb::inst_ptr<const Decoder>(self);
  return answered(decoder, sequence, doubt, [&](Workspace& with) {
    Reading made(self);
    made.scores = with.scores;
    return made;
  });
}

// What a decoder says as segments.
struct SpanNames {
  SpanRules rules;
  std::vector<nb::object> kinds;  // names, by kind; None: not wanted
  nb::object type;                // of tuples (first, end, kind, probability)

  SpanNames(std::vector<std::uint8_t> flags, std::vector<std::int32_t> kind,
            std::vector<nb::object> names, nb::object of)
      : rules(std::move(flags), std::move(kind)), kinds(std::move(names)), type(std::move(of)) {
    if (static_cast<std::int64_t>(kinds.size()) < rules.kinds())
      refuse("there are " + text(static_cast<std::int64_t>(kinds.size())) + " names for " +
             text(rules.kinds()) + " kinds");
    if (!PyType_Check(type.ptr()) ||
        !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), &PyTuple_Type))
      throw nb::type_error("segments are tuples");
  }
};

using Spans = nb::typed<nb::list, nb::any>;

std::optional<Tuple<Strings, Spans>> spans_of(const Decoder& decoder, nb::handle sequence,
                                              int doubt, const SpanNames& names) {
  if (names.rules.labels() != decoder.labels()) refuse("the segments are of other labels");
  return answered(decoder, sequence, doubt, [&](Workspace& with) -> Tuple<Strings, Spans> {
    if (with.scores.node.empty()) return nb::make_tuple(nb::list(), nb::list());
    Strings labels = decoder.tag(with.scores, with);
    return nb::make_tuple(std::move(labels),
                          decoder.spans(with.scores, names.rules, names.kinds, names.type, with));
  });
}

// The probabilities of segments [K] of a batch, from its marginals; `first` and `end` count over
// the batch.
template <class T>
using Table = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

Given<double> span_shares(const Table<double>& node, const Table<double>& edge, Pointers seq_ptr,
                          Pointers first, Pointers end, const Table<bool>& among,
                          const Table<bool>& enter, const Table<bool>& stay,
                          const Table<bool>& leave) {
  if (node.ndim() != 2) refuse("node has not two axes");
  const auto P = static_cast<std::int64_t>(node.shape(0)),
             L = static_cast<std::int64_t>(node.shape(1));
  const auto K = static_cast<std::int64_t>(first.size());
  check_pointers(seq_ptr, "seq_ptr", P);
  check_length("edge", edge.size(), P * L * L);
  check_length("end", end.size(), K);
  check_length("among", among.size(), K * L);
  check_length("enter", enter.size(), (L + 1) * L);
  check_length("stay", stay.size(), L * L);
  check_length("leave", leave.size(), L * (L + 1));
  const auto bytes = [](const Table<bool>& of) {
    return reinterpret_cast<const std::uint8_t*>(of.data());
  };
  const SpanSteps steps{L, bytes(enter), bytes(stay), bytes(leave)};
  Array<double> found({static_cast<std::size_t>(K)});
  std::vector<double> scratch;
  std::size_t n = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    while (n + 2 < seq_ptr.size() && seq_ptr[n + 1] <= first[k]) ++n;
    const std::int64_t begin = seq_ptr[n], length = seq_ptr[n + 1] - begin;
    if (first[k] < begin || end[k] <= first[k] || end[k] > begin + length)
      refuse("segment " + text(k) + " does not lie in a sequence; give segments in order");
    const StepShares shares{length, node.data() + begin * L, edge.data() + begin * L * L};
    found.data[static_cast<std::size_t>(k)] =
        span_share(shares, steps, first[k] - begin, end[k] - begin, bytes(among) + k * L, scratch);
  }
  return found.give();
}

// ---- tokens

using Sources = std::vector<std::pair<std::size_t, nb::object>>;

using AnyNames = std::variant<const Frozen*, Hasher*>;

// Frozen alphabets that a reader looks up in, and the reader.
struct KeptReader {
  std::vector<Frozen> frozen;
  TokenReader reader;

  KeptReader(const Features& features, const std::vector<AnyNames>& names, TokenColumns columns,
             const Sources& sources, std::vector<nb::object> functions, std::int64_t margin,
             std::int64_t made) {
    reader.views = features.views();
    reader.templates = features.templates();
    reader.padding = features.padding();
    check_length("names", names.size(), kNamings);
    check_length("functions", functions.size(), static_cast<std::int64_t>(reader.views.size()));
    check_length("places", columns.places.size(), static_cast<std::int64_t>(columns.names.size()));
    for (const auto& [column, marks] : sources) {
      if (column >= columns.names.size()) refuse("a source names a column that is not there");
      reader.sources.push_back({column, marks});
    }
    for (std::size_t v = 0; v < reader.views.size(); ++v) {
      if (reader.views[v].known()) refuse("the views know tokens already");
      if (static_cast<std::size_t>(reader.views[v].column) >= sources.size())
        refuse("a view asks for a missing column");
    }
    frozen.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (const auto* given = std::get_if<const Frozen*>(&names[i])) {
        frozen.push_back(**given);
        reader.names[i] = frozen.back().view();
      } else {
        reader.names[i] = std::get<Hasher*>(names[i]);
      }
    }
    reader.columns = std::move(columns);
    reader.functions = std::move(functions);
    reader.margin = margin;
    reader.made = made;
  }
};

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
  nb::class_<KeptReader>(m, "TokenReader")
      .def(
          "__init__",
          [](KeptReader* self, const Features& features, const std::vector<AnyNames>& names,
             std::vector<nb::str> columns, std::vector<int> places,
             std::vector<std::int64_t> widths, const Sources& sources,
             std::vector<nb::object> functions, std::int64_t margin, std::int64_t made) {
            new (self) KeptReader(features, names,
                                  {std::move(columns), std::move(places), std::move(widths)},
                                  sources, std::move(functions), margin, made);
          },
          "features"_a, "names"_a, "columns"_a, "places"_a, "widths"_a, "sources"_a,
          "functions"_a.none(), "margin"_a, "made"_a, nb::keep_alive<1, 3>());
  m.def("span_shares", &span_shares, "node"_a, "edge"_a, "seq_ptr"_a, "first"_a, "end"_a, "among"_a,
        "enter"_a, "stay"_a, "leave"_a);
  nb::class_<SpanNames>(m, "SpanNames")
      .def(nb::init<std::vector<std::uint8_t>, std::vector<std::int32_t>, std::vector<nb::object>,
                    nb::object>(),
           "flags"_a, "kind"_a, "kinds"_a, "type"_a);
  nb::class_<Decoder>(m, "Decoder")
      .def(
          "__init__",
          [](Decoder* self, const Kernels& kernels, const AnyNames& names, const ReadyRows& rows,
             std::vector<Scores> tables, std::optional<Scores> start, std::optional<Scores> stop,
             Labels labels, const KeptReader* reader, const ReadyRows* steps,
             std::optional<Scores> base) {
            std::optional<StepRows> by_step;
            if (steps) {
              const auto cells = static_cast<std::size_t>(steps->view().width);
              if (base) check_length("base", base->size(), static_cast<std::int64_t>(cells));
              by_step = StepRows{steps, std::move(base)};
            }
            new (self)
                Decoder(kernels, names_of(names), rows, std::move(tables), start, stop,
                        std::move(labels), reader ? &reader->reader : nullptr, std::move(by_step));
          },
          "kernels"_a, "names"_a, "rows"_a, "tables"_a, "start"_a.none(), "stop"_a.none(),
          "labels"_a, "reader"_a.none() = nb::none(), "steps"_a.none() = nb::none(),
          "base"_a.none() = nb::none(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 10>(),
          nb::keep_alive<1, 4>(), nb::keep_alive<1, 9>())
      .def("tag", &tag, "items"_a.none())
      .def("answer", &answer, "items"_a.none())
      .def("read", &read, "items"_a.none())
      .def("read_rows", &read_rows, "ptr"_a, "attr"_a, "value"_a.none())
      .def("labels_of", &labels_of, "sequence"_a.none(), "doubt"_a)
      .def("reading_of", &reading_of, "sequence"_a.none(), "doubt"_a)
      .def("spans_of", &spans_of, "sequence"_a.none(), "doubt"_a, "spans"_a);
}

}  // namespace crfkit
