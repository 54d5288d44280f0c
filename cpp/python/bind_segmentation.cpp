// Texts cut into words, grapheme clusters and sentences.
#include <nanobind/stl/string_view.h>

#include <memory>
#include <string>
#include <string_view>

#include "engine/checks.hpp"
#include "python/arrays.hpp"
#include "python/released.hpp"
#include "text/segmentation.hpp"
#include "text/unicode_classes.hpp"

namespace crfkit {
namespace {

// The code points of a str.
class CodePoints {
 public:
  explicit CodePoints(nb::str text) {
    const Py_ssize_t size = PyUnicode_GetLength(text.ptr());
    if (size < 0) throw nb::python_error();
    size_ = static_cast<std::size_t>(size);
    std::uint32_t* to = few_;
    if (size_ > kFew) {
      many_.reset(new std::uint32_t[size_]);
      to = many_.get();
    }
    if (size_ && !PyUnicode_AsUCS4(text.ptr(), to, size, 0)) throw nb::python_error();
  }
  Characters view() const { return {size_ > kFew ? many_.get() : few_, size_}; }

 private:
  static constexpr std::size_t kFew = 1024;
  std::size_t size_;
  std::unique_ptr<std::uint32_t[]> many_;
  std::uint32_t few_[kFew];
};

Breaks breaks_named(std::string_view rule) {
  if (rule == "words") return Breaks::kWords;
  if (rule == "graphemes") return Breaks::kGraphemes;
  if (rule == "sentences") return Breaks::kSentences;
  refuse("the rule is '" + std::string(rule) + "', expected 'words', 'graphemes' or 'sentences'");
}

// Runs work that needs no object of Python; where it is short, without giving up the lock.
template <class Work>
std::vector<std::int64_t> run(const CodePoints& text, Work work) {
  if (text.view().size() < 1 << 14) return work();
  Released release;
  return work();
}

Given<std::int64_t> rows_of_two(std::vector<std::int64_t>&& ends) {
  Array<std::int64_t> made({ends.size() / 2, 2});
  std::copy(ends.begin(), ends.end(), made.data.get());
  return made.give();
}

Given<std::int64_t> text_breaks(nb::str text, std::string_view rule) {
  const Breaks asked = breaks_named(rule);
  const CodePoints points(text);
  return give(run(points, [&] { return breaks(points.view(), asked); }));
}

Given<std::int64_t> text_parts(nb::str text, std::string_view rule, nb::str alone) {
  const CodePoints points(text), set(alone);
  if (rule == "blanks")
    return rows_of_two(run(points, [&] { return between_blanks(points.view(), set.view()); }));
  const Breaks asked = breaks_named(rule);
  return rows_of_two(run(points, [&] { return parts(points.view(), asked, set.view()); }));
}

}  // namespace

void bind_segmentation(nb::module_& m) {
  using namespace nb::literals;
  m.attr("unicode_version") = kUnicodeVersion;
  m.def("text_breaks", &text_breaks, "text"_a, "rule"_a);
  m.def("text_parts", &text_parts, "text"_a, "rule"_a, "alone"_a);
}

}  // namespace crfkit
