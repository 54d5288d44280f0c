// CRFsuite's text: label TAB attribute TAB attribute:value ..., an empty line after each sequence.
// What is special is told in src/crfkit/data/formats/crfsuite_text.py.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/letters.hpp"
#include "text/numbers.hpp"
#include "text/rows.hpp"

namespace crfkit {

class CrfsuiteText {
 public:
  explicit CrfsuiteText(RowSink& sink) : sink_(sink) {}

  void line(std::string_view text) {
    if (text.empty()) return end();
    if (text[0] == '\t')
      throw Refused{"begins with a TAB, so it has no label; begin with a label or a placeholder"};
    at_ = text.data();
    end_ = at_ + text.find_last_not_of('\t') + 1;
    head_.clear();
    const char mark = token(head_);
    if (text[0] == '@') return declare(mark);
    if (mark == ':')
      throw Refused{"gives the label {0!r} a value; write \\: for a colon in a label",
                    std::string(head_.view())};
    const std::int32_t label = sink_.label(head_.view());
    while (at_ < end_) {
      if (*at_ == '\t') {
        ++at_;
      } else {
        attribute();
      }
    }
    sink_.end_row(label);
  }

  // An empty line, or the end of the text.
  void end() {
    if (sink_.open()) return sink_.end_sequence();
    if (sink_.weight_line())
      throw Refused{"weighs a sequence that has no items; put @weight inside its sequence", "", "",
                    sink_.weight_line()};
  }

 private:
  // Appends what lies before the next TAB, colon or line end, which is passed and returned (0: the
  // line ends).
  char token(Letters& into) {
    while (true) {
      into.append_until(at_, end_, [](std::uint64_t word) {
        return Letters::equal(word, '\t') | Letters::equal(word, ':') | Letters::equal(word, '\\');
      });
      if (at_ == end_) return '\0';
      if (*at_ != '\\') return *at_++;
      if (at_ + 1 < end_ && (at_[1] == '\\' || at_[1] == ':')) ++at_;
      into.push_back(*at_++);
    }
  }

  void attribute() {
    const std::size_t begin = sink_.letters().size();
    char mark = token(sink_.letters());
    if (mark != ':') return sink_.name(begin, 1);
    const double first = value(mark, [&] { return std::string(sink_.letters().from(begin)); });
    sink_.name(begin, first);
    while (mark == ':') {  // a:1:2 has the empty name too
      const double more = value(mark, [] { return std::string(); });
      sink_.name(sink_.letters().size(), more);
    }
  }

  template <class Name>
  double value(char& mark, Name name) {
    number_.clear();
    mark = token(number_);
    const double number = number_of(number_.view());
    if (!std::isfinite(number))
      throw Refused{
          "gives attribute {0!r} the value {1!r}, which is not a finite number; write \\: "
          "for a colon in a name",
          name(), std::string(number_.view())};
    return number;
  }

  void declare(char mark) {
    number_.clear();
    if (head_.view() == "@weight" && mark == ':' && token(number_) == '\0') {
      const double weight = number_of(number_.view());
      if (std::isfinite(weight)) return sink_.weigh(weight);
      throw Refused{
          "gives @weight the value {0!r}, which is not a finite number; write \\: for a "
          "colon in a name",
          std::string(number_.view())};
    }
    throw Refused{"begins with {0!r}; the only declaration is @weight:NUMBER, on its own line",
                  std::string(head_.view())};
  }

  RowSink& sink_;
  const char *at_ = nullptr, *end_ = nullptr;
  Letters head_, number_;
};

}  // namespace crfkit
