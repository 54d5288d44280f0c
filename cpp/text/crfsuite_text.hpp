// CRFsuite's text: label TAB attribute TAB attribute:value ..., an empty line after each sequence.
// What is special is told in src/crfkit/data/formats/crfsuite_text.py.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

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
    const char mark = token(head_);
    if (text[0] == '@') return declare(mark);
    if (mark == ':')
      throw Refused{"gives the label {0!r} a value; write \\: for a colon in a label", head_};
    const std::int32_t label = sink_.labels().add(head_);
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
  char token(std::string& into, bool anew = true) {
    if (anew) into.clear();
    const char* begin = at_;
    while (true) {
      while (at_ < end_ && !special()[static_cast<unsigned char>(*at_)]) ++at_;
      if (at_ == end_ || *at_ != '\\') break;
      const bool escapes = at_ + 1 < end_ && (at_[1] == '\\' || at_[1] == ':');
      into.append(begin, escapes ? at_ : at_ + 1);
      at_ += escapes ? 2 : 1;
      if (escapes) into.push_back(at_[-1]);
      begin = at_;
    }
    into.append(begin, at_);
    return at_ == end_ ? '\0' : *at_++;
  }

  void attribute() {
    const std::size_t begin = sink_.letters().size();
    char mark = token(sink_.letters(), false);
    if (mark != ':') return sink_.name(begin, 1);
    const double first = value(mark, [&] { return sink_.letters().substr(begin); });
    sink_.name(begin, first);
    while (mark == ':') {  // a:1:2 has the empty name too
      const double more = value(mark, [] { return std::string(); });
      sink_.name(sink_.letters().size(), more);
    }
  }

  template <class Name>
  double value(char& mark, Name name) {
    mark = token(number_);
    const double number = number_of(number_);
    if (!std::isfinite(number))
      throw Refused{
          "gives attribute {0!r} the value {1!r}, which is not a finite number; write \\: "
          "for a colon in a name",
          name(), number_};
    return number;
  }

  void declare(char mark) {
    if (head_ == "@weight" && mark == ':' && token(number_) == '\0') {
      const double weight = number_of(number_);
      if (std::isfinite(weight)) return sink_.weigh(weight);
      throw Refused{
          "gives @weight the value {0!r}, which is not a finite number; write \\: for a "
          "colon in a name",
          number_};
    }
    throw Refused{"begins with {0!r}; the only declaration is @weight:NUMBER, on its own line",
                  head_};
  }

  static const std::array<bool, 256>& special() {
    static constexpr std::array<bool, 256> table = [] {
      std::array<bool, 256> made{};
      made['\t'] = made[':'] = made['\\'] = true;
      return made;
    }();
    return table;
  }

  RowSink& sink_;
  const char *at_ = nullptr, *end_ = nullptr;
  std::string head_, number_;
};

}  // namespace crfkit
