// Dictionaries for Python: similarities of phrases to entries.

#include <nanobind/stl/string_view.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"
#include "python/arrays.hpp"
#include "python/released.hpp"
#include "python/spans.hpp"
#include "python/strings.hpp"
#include "text/dictionary.hpp"

namespace crfkit {
namespace {

// Tokens of many phrases in a row; the list keeps the strings.
std::vector<std::string_view> views(const Strings& tokens) {
  std::vector<std::string_view> made;
  made.reserve(tokens.size());
  for (nb::handle h : tokens) made.push_back(bytes_of(h));
  return made;
}

Dictionary::Similarity similarity(std::string_view name) {
  if (name == "jaccard") return Dictionary::jaccard;
  if (name == "tfidf") return Dictionary::tfidf;
  if (name == "jarowinkler") return Dictionary::jarowinkler;
  throw nb::value_error(
      ("unknown similarity '" + std::string(name) + "'; choose jaccard, tfidf or jarowinkler")
          .c_str());
}

std::unique_ptr<Dictionary> make(Strings tokens, Pointers ptr, Integers source) {
  const std::vector<std::string_view> all = views(tokens);
  if (ptr.size() < 2) refuse("a dictionary needs an entry");
  check_pointers(ptr, "ptr", static_cast<std::int64_t>(all.size()));
  check_length("source", source.size(), static_cast<std::int64_t>(ptr.size()) - 1);
  Released release;
  return std::make_unique<Dictionary>(all, ptr, source);
}

Given<double> best(const Dictionary& dictionary, Strings tokens, Pointers ptr, Integers exclude,
                   std::string_view name, int threads) {
  const std::vector<std::string_view> all = views(tokens);
  const Dictionary::Similarity kind = similarity(name);
  if (ptr.size() == 0) refuse("ptr is empty; it needs a first entry 0");
  check_pointers(ptr, "ptr", static_cast<std::int64_t>(all.size()));
  const auto count = static_cast<std::int64_t>(ptr.size()) - 1;
  check_length("exclude", exclude.size(), count);
  check_threads(threads);
  std::vector<double> made(count);
  {
    Released release;
    constexpr std::int64_t together = 512;
    parallel_for((count + together - 1) / together, threads, [&](std::int64_t block) {
      Dictionary::Scratch scratch;
      const Dictionary::Tokens whole(all);
      for (std::int64_t i = together * block; i < std::min(count, together * (block + 1)); ++i)
        made[i] =
            dictionary.best(whole.subspan(ptr[i], ptr[i + 1] - ptr[i]), kind, exclude[i], scratch);
    });
  }
  return give(std::move(made));
}

Given<double> every(const Dictionary& dictionary, Strings tokens, std::string_view name) {
  const std::vector<std::string_view> all = views(tokens);
  const Dictionary::Similarity kind = similarity(name);
  std::vector<double> made(dictionary.size());
  {
    Released release;
    Dictionary::Scratch scratch;
    dictionary.every(all, kind, scratch, made.data());
  }
  return give(std::move(made));
}

}  // namespace

void bind_dictionary(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Dictionary>(m, "Dictionary")
      .def(nb::new_(&make), "tokens"_a, "ptr"_a, "source"_a)
      .def("best", &best, "tokens"_a, "ptr"_a, "exclude"_a, "similarity"_a, "threads"_a)
      .def("every", &every, "tokens"_a, "similarity"_a);
}

}  // namespace crfkit
