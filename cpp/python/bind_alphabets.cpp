// Strings and their ids for Python: alphabets that grow or are frozen, and what CRFsuite's model
// files have by the ids of strings.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/threads/parallel.hpp"
#include "python/arrays.hpp"
#include "python/frozen.hpp"
#include "python/released.hpp"
#include "python/spans.hpp"
#include "python/strings.hpp"
#include "text/cqdb_check.hpp"
#include "text/crfsuite_rows.hpp"
#include "text/words.hpp"

namespace crfkit {
namespace {

template <class Find>
Given<std::int32_t> look_up_all(Strings strings, Find find) {
  std::vector<std::int32_t> ids;
  ids.reserve(strings.size());
  for (nb::handle h : strings) ids.push_back(find(bytes_of(h)));
  return give(std::move(ids));
}

using Hashed = std::pair<std::string_view, std::uint64_t>;

Given<std::int32_t> find_each(const AlphabetView& names, const std::vector<Hashed>& wanted) {
  std::vector<std::int32_t> ids(wanted.size());
  constexpr std::size_t together = 256;
  for (std::size_t first = 0; first < wanted.size(); first += together)
    find_many(
        names, std::min(together, wanted.size() - first),
        [&](std::size_t i) { return wanted[first + i]; },
        [&](std::size_t i, std::int32_t id) { ids[first + i] = id; });
  return give(std::move(ids));
}

Given<std::int32_t> find_all(const AlphabetView& names, Strings strings) {
  std::vector<Hashed> wanted;  // the list keeps the strings
  wanted.reserve(strings.size());
  for (nb::handle h : strings) wanted.emplace_back(bytes_of(h), names.hash(bytes_of(h)));
  return find_each(names, wanted);
}

Given<std::int32_t> found_of(const AlphabetView& names, const Alphabet& other) {
  std::vector<Hashed> wanted;
  wanted.reserve(other.size());
  for (std::size_t i = 0; i < other.size(); ++i)
    wanted.emplace_back(other.at(i), names.hash(other.at(i)));
  return find_each(names, wanted);
}

// Strings of a text, each of which must be new and UTF-8; returns how many were added before one
// that is not.
std::size_t add_spans(Alphabet& names, const Bytes& text, Pointers begin, Pointers end) {
  if (begin.size() != end.size()) throw nb::value_error("begin and end differ in length");
  const std::string_view whole(reinterpret_cast<const char*>(text.data()), text.size());
  const auto size = static_cast<std::int64_t>(whole.size());
  for (std::size_t i = 0; i < begin.size(); ++i)
    if (begin.data()[i] < 0 || begin.data()[i] > end.data()[i] || end.data()[i] > size)
      throw nb::value_error("a string lies outside the text");
  Released release;
  return names.add_spans(whole, begin.data(), end.data(), begin.size(), valid_utf8);
}

// Hashes of strings as CRFsuite's files have them; each ends with a NUL where the next one begins.
Given<std::uint32_t> cqdb_hashes(const Bytes& text, Pointers begin) {
  const char* bytes = reinterpret_cast<const char*>(text.data());
  const std::int64_t* at = begin.data();
  const std::size_t count = begin.size() ? begin.size() - 1 : 0;
  for (std::size_t i = 0; i < count; ++i)
    if (at[i] < 0 || at[i] >= at[i + 1] || at[i + 1] > static_cast<std::int64_t>(text.size()))
      throw nb::value_error("a string lies outside the text, or is empty");
  std::vector<std::uint32_t> hashes(count);
  {
    const Released released;
    for (std::size_t i = 0; i < count; ++i)
      hashes[i] = lookup3({bytes + at[i], static_cast<std::size_t>(at[i + 1] - at[i] - 1)});
  }
  return give(std::move(hashes));
}

// A string that may lie in a file that somebody overwrites: Python may read it twice.
nb::str kept_string(std::string_view s) { return str_of(std::string(s)); }

Strings all_strings(const AlphabetView& a) {
  Strings strings;
  for (std::uint64_t i = 0; i < a.size; ++i) strings.append(kept_string(a.at(i)));
  return strings;
}

using AlphabetArrays = Tuple<Given<std::uint8_t>, Given<std::uint64_t>, Given<std::uint64_t>>;

AlphabetArrays arrays_of(const Alphabet& a) {
  const AlphabetView v = a.view();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(v.bytes);
  return nb::make_tuple(give(std::vector<std::uint8_t>(bytes, bytes + v.byte_count)),
                        give(std::vector<std::uint64_t>(v.begin, v.begin + v.size + 1)),
                        give(a.settled_slots()));
}

Alphabet grown(const AlphabetView& from) {
  Alphabet made;
  for (std::uint64_t id = 0; id < from.size; ++id) made.add(from.at(id));
  return made;
}

// Calls part(first, last) for ranges of [0, count) on threads; whether all of them said yes.
template <class Part>
bool in_ranges(std::uint64_t count, int threads, Part part) {
  constexpr std::uint64_t least = 1 << 14;  // worth a thread
  const std::uint64_t ranges =
      std::clamp<std::uint64_t>(count / least, 1, static_cast<std::uint64_t>(std::max(threads, 1)));
  std::atomic<bool> good{true};
  parallel_for(static_cast<std::int64_t>(ranges), static_cast<int>(ranges), [&](std::int64_t i) {
    const auto r = static_cast<std::uint64_t>(i);
    if (!part(count * r / ranges, count * (r + 1) / ranges)) good = false;
  });
  return good;
}

// Strings 0 to count - 1 of a database of CRFsuite that begins at a byte of a file; none where it
// is not sound.
std::optional<Frozen> freeze_database(const Bytes& file, std::uint64_t at, std::uint64_t count,
                                      int threads) {
  const char* bytes = reinterpret_cast<const char*>(file.data()) + at;
  if (at > file.size() || file.size() - at < Database::head || std::memcmp(bytes, "CQDB", 4))
    return std::nullopt;
  const std::uint64_t size = little_word(bytes + 4), entries = little_word(bytes + 16),
                      back = little_word(bytes + 20);
  if (size < Database::head || size > file.size() - at || little_word(bytes + 12) != 0x62445371 ||
      entries < count || back < Database::head || back + 4 * entries > size)
    return std::nullopt;
  const Database database{bytes, size, count, back};
  const DatabaseCheck check(database);
  {
    const Released release;
    std::atomic<std::uint64_t> letters{0};
    const auto sound = [&](std::uint64_t first, std::uint64_t last) {
      const std::optional<std::uint64_t> some = check.strings(first, last);
      if (some) letters += *some;
      return some.has_value();
    };
    if (!check.tables() || !in_ranges(count, threads, sound) || letters > size) return std::nullopt;
  }
  return Frozen{file, {}, {}, database};
}

// An array that was filled already.
template <class T>
Given<T> give_filled(std::unique_ptr<T[]> values, std::size_t size) {
  nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(values.release(), {size}, owner));
}

// Rows of weights by attribute in a model file of CRFsuite: ptr, labels, weights; None where the
// file is not as CRFsuite writes it.
std::optional<Tuple<Given<std::int64_t>, Given<std::int32_t>, Given<double>>> crfsuite_rows(
    const Bytes& file, std::uint64_t features, std::uint64_t feature_count, std::uint64_t lists,
    std::uint64_t list_bytes, std::uint64_t attributes, std::uint32_t labels, int threads) {
  const std::uint64_t size = file.size();
  if (features > size || feature_count > (size - features) / 20 || lists > size ||
      list_bytes > size - lists || list_bytes < 12 || attributes > (list_bytes - 12) / 4)
    throw nb::value_error("features or lists lie outside the file");
  const FileRows rows({reinterpret_cast<const char*>(file.data()), size},
                      {features, feature_count, lists, list_bytes}, labels);
  std::optional<std::vector<std::int64_t>> ptr;
  std::unique_ptr<std::int32_t[]> column;
  std::unique_ptr<double[]> weight;
  std::size_t count = 0;
  {
    const Released release;
    if (!in_ranges(feature_count, threads, [&](std::uint64_t first, std::uint64_t last) {
          return rows.finite(first, last);
        }))
      return std::nullopt;
    ptr = rows.pointers(attributes);
    // A feature belongs to one attribute, and an attribute has it once.
    if (!ptr || static_cast<std::uint64_t>(ptr->back()) > feature_count) return std::nullopt;
    count = static_cast<std::size_t>(ptr->back());
    column = std::make_unique_for_overwrite<std::int32_t[]>(count);
    weight = std::make_unique_for_overwrite<double[]>(count);
    if (!in_ranges(attributes, threads, [&](std::uint64_t first, std::uint64_t last) {
          return rows.fill(first, last, ptr->data(), column.get(), weight.get());
        }))
      return std::nullopt;
  }
  return nb::make_tuple(give(std::move(*ptr)), give_filled(std::move(column), count),
                        give_filled(std::move(weight), count));
}

nb::str string_at(const AlphabetView& a, std::int64_t i) {
  if (i < 0 || static_cast<std::uint64_t>(i) >= a.size)
    throw nb::index_error("no string has this id");
  return kept_string(a.at(static_cast<std::uint64_t>(i)));
}

}  // namespace

void bind_alphabets(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Alphabet>(m, "Alphabet")
      .def(nb::init<>())
      .def("__len__", &Alphabet::size)
      .def("__getitem__", [](const Alphabet& a, std::int64_t i) { return string_at(a.view(), i); })
      .def("strings", [](const Alphabet& a) { return all_strings(a.view()); })
      .def("add", [](Alphabet& a, nb::str s) { return a.add(bytes_of(s)); })
      .def("find", [](const Alphabet& a, nb::str s) { return a.find(bytes_of(s)); })
      .def("add_all",
           [](Alphabet& a, Strings strings) {
             return look_up_all(strings, [&](std::string_view s) { return a.add(s); });
           })
      .def("find_all",
           [](const Alphabet& a, Strings strings) {
             return look_up_all(strings, [&](std::string_view s) { return a.find(s); });
           })
      .def("hashed",
           [](const Alphabet& a, std::int64_t size) {
             if (size < 1 || size > 0x7fffffff)
               throw nb::value_error("size must lie between 1 and 2^31 - 1");
             return give(a.hashed(static_cast<std::uint64_t>(size)));
           })
      .def("add_spans", &add_spans, "text"_a, "begin"_a, "end"_a)
      // Ids here of all strings of another alphabet, which are added.
      .def("merge", [](Alphabet& a, const Alphabet& other) { return give(a.merge(other)); })
      .def("arrays", [](const Alphabet& a) -> AlphabetArrays { return arrays_of(a); });

  nb::class_<Frozen>(m, "FrozenAlphabet")
      .def_static("from_arrays", &freeze, "bytes"_a, "begin"_a, "slots"_a)
      .def_static("of_database", &freeze_database, "file"_a, "at"_a, "count"_a, "threads"_a = 1)
      .def("__len__", [](const Frozen& a) { return a.view().size; })
      .def("__getitem__", [](const Frozen& a, std::int64_t i) { return string_at(a.view(), i); })
      .def("strings", [](const Frozen& a) { return all_strings(a.view()); })
      .def("find", [](const Frozen& a, nb::str s) { return a.view().find(bytes_of(s)); })
      .def("find_all", [](const Frozen& a, Strings strings) { return find_all(a.view(), strings); })
      // Ids here of all strings of another alphabet, -1 of unknown ones.
      .def("merge",
           [](const Frozen& a, const Alphabet& other) { return found_of(a.view(), other); })
      .def("arrays", [](const Frozen& a) -> AlphabetArrays {
        if (!a.database) return nb::make_tuple(a.bytes, a.begin, a.slots);
        return arrays_of(grown(a.view()));
      });

  m.def("cqdb_hashes", &cqdb_hashes, "text"_a, "begin"_a);
  m.def("crfsuite_rows", &crfsuite_rows, "file"_a, "features"_a, "feature_count"_a, "lists"_a,
        "list_bytes"_a, "attributes"_a, "labels"_a, "threads"_a = 1);
}

}  // namespace crfkit
