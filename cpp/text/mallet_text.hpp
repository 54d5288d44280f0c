// MALLET's SimpleTagger text: feature feature ... label, lines of white space between sequences.
// What is special is told in src/crfkit/data/formats/mallet_text.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "text/rows.hpp"

namespace crfkit {

class MalletText {
 public:
  MalletText(RowSink& sink, bool labeled) : sink_(sink), labeled_(labeled) {}

  void line(std::string_view text) {
    if (text.find_first_not_of(" \t\v\f\r") == std::string_view::npos) return end();
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    std::int32_t label = -1;
    if (labeled_) {
      const std::size_t space = text.rfind(' ');
      const bool alone = space == std::string_view::npos;
      label = sink_.label(alone ? text : text.substr(space + 1));
      if (alone) return sink_.end_row(label);
      text = text.substr(0, space);
    }
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t next = std::min(text.find(' ', at), text.size());
      sink_.name(text.substr(at, next - at), 1);
      at = next + 1;
    }
    sink_.end_row(label);
  }

  // An empty line, or the end of the text.
  void end() {
    if (sink_.open()) sink_.end_sequence();
  }

 private:
  RowSink& sink_;
  bool labeled_;
};

}  // namespace crfkit
