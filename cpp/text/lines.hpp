// Lines of text, and ranges of them for threads.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/rows.hpp"
#include "text/words.hpp"

namespace crfkit {

// Calls read(line) with every line, without its end (LF or CRLF, or nothing at the end of the
// text), until one is refused, by throwing Refused.  Lines that are not text are refused here.
template <class Read>
std::optional<Refused> each_line(std::string_view text, RowSink& sink, Read read) {
  const auto is_text = [](std::string_view s) {
    return s.find('\0') == std::string_view::npos && valid_utf8(s);
  };
  const bool clean = is_text(text);
  for (std::size_t at = 0; at < text.size();) {
    const auto* found =
        static_cast<const char*>(std::memchr(text.data() + at, '\n', text.size() - at));
    const std::size_t end = found ? static_cast<std::size_t>(found - text.data()) : text.size();
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    at = end + 1;
    ++sink.lines;
    const std::size_t queued = sink.queued();
    try {
      if (!clean && !is_text(line)) throw Refused{};
      read(line);
    } catch (Refused& refused) {
      sink.drop(queued);
      if (!refused.line) refused.line = sink.lines;
      refused.text = line;
      refused.behind = at;
      return std::move(refused);
    }
    sink.end_line();
  }
  return std::nullopt;
}

// Cuts whole lines into at most so many ranges of at least `least` bytes, each of which begins with
// a line, or (not `anywhere`) behind an empty line.
inline std::vector<std::string_view> cut_lines(std::string_view text, std::size_t count,
                                               std::size_t least, bool anywhere) {
  std::vector<std::string_view> ranges;
  const std::size_t step =
      std::max({text.size() / std::max<std::size_t>(count, 1), least, std::size_t{1}});
  const auto border = [&](std::size_t from) {
    for (std::size_t at = from; (at = text.find('\n', at)) < text.size();) {
      ++at;
      if (anywhere) return at;
      if (text.substr(at, 1) == "\n") return at + 1;
      if (text.substr(at, 2) == "\r\n") return at + 2;
    }
    return text.size();
  };
  while (!text.empty()) {
    const std::size_t end = text.size() < 2 * step ? text.size() : border(step - 1);
    ranges.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return ranges;
}

}  // namespace crfkit
