// Text in, rows of attribute ids out: one reader for all formats of rows, on threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/threads/parallel.hpp"
#include "text/crfsuite_text.hpp"
#include "text/json_items.hpp"
#include "text/lines.hpp"
#include "text/mallet_text.hpp"
#include "text/rows.hpp"

namespace crfkit {

enum class RowFormat { crfsuite, mallet, mallet_without_labels, json };

class RowReader {
 public:
  explicit RowReader(RowFormat format) : format_(format), sink_(labels, attributes, once()) {}
  RowReader(const RowReader&) = delete;

  Alphabet labels, attributes;

  // Reads a chunk from a place on; the line that it ends in is kept for the next one.  Ranges of at
  // least `least` bytes go to threads.  A refused line has been passed: `behind` is where to go on.
  std::optional<Refused> read(std::string_view chunk, std::size_t at, int threads,
                              std::size_t least) {
    std::optional<Refused> refused;
    if (!partial_.empty()) {
      const std::size_t newline = chunk.find('\n', at);
      partial_.append(
          chunk.substr(at, newline == std::string_view::npos ? newline : newline + 1 - at));
      if (newline == std::string_view::npos) return std::nullopt;
      at = newline + 1;
      refused = read_partial();
      if (refused) refused->behind = at;
    }
    const std::size_t end = chunk.rfind('\n') + 1;  // 0: there is none
    while (!refused && at < end) {
      std::size_t to = end;
      if (reach_ < end - at) to = chunk.find('\n', at + reach_) + 1;
      std::string_view lines = chunk.substr(at, to - at);
      if (sink_.lines == 0) lines = without_mark(lines);
      const std::size_t shift = static_cast<std::size_t>(lines.data() - chunk.data());
      refused = read_lines(lines, threads, least);
      if (refused) {
        refused->behind += shift;
        reach_ = kLeastReach;
      } else {
        at = to;
        reach_ = reach_ > kNoLimit / 2 ? kNoLimit : 2 * reach_;
      }
    }
    if (!refused) partial_ = chunk.substr(std::min(at, chunk.size()));
    return refused;
  }

  // Reads the last line, and ends the last sequence; to be called until nothing is refused.
  std::optional<Refused> finish() {
    if (std::optional<Refused> refused = read_partial()) return refused;
    return in_format(sink_, [](auto& reader) -> std::optional<Refused> {
      try {
        reader.end();
      } catch (Refused& refused) {
        return std::move(refused);
      }
      return std::nullopt;
    });
  }

  Rows take() { return sink_.take(); }

  RowSink& sink() { return sink_; }

 private:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kLeastReach = 1 << 16;

  bool once() const { return format_ != RowFormat::crfsuite && format_ != RowFormat::json; }

  template <class Use>
  std::optional<Refused> in_format(RowSink& sink, Use use) const {
    if (format_ == RowFormat::crfsuite) {
      CrfsuiteText reader(sink);
      return use(reader);
    }
    if (format_ == RowFormat::json) {
      JsonItems reader(sink);
      return use(reader);
    }
    MalletText reader(sink, format_ == RowFormat::mallet);
    return use(reader);
  }

  std::optional<Refused> read_range(std::string_view text, RowSink& sink) const {
    return in_format(sink, [&](auto& reader) {
      return each_line(text, sink, [&](std::string_view line) { reader.line(line); });
    });
  }

  std::optional<Refused> read_partial() {
    std::string line = std::exchange(partial_, {});
    return read_range(sink_.lines == 0 ? without_mark(line) : line, sink_);
  }

  // Ranges with alphabets of their own, joined in order: ids as if one thread had read everything.
  // The first range goes on where the text before it ended.
  std::optional<Refused> read_lines(std::string_view lines, int threads, std::size_t least) {
    const std::vector<std::string_view> ranges = cut_lines(
        lines, static_cast<std::size_t>(std::max(threads, 1)), least, format_ == RowFormat::json);
    struct Local {
      explicit Local(bool once) : sink(labels, attributes, once) {}
      Alphabet labels, attributes;
      RowSink sink;
    };
    std::deque<Local> locals;
    for (std::size_t i = 1; i < ranges.size(); ++i) locals.emplace_back(once());
    std::vector<std::optional<Refused>> refused(ranges.size());
    parallel_for(static_cast<std::int64_t>(ranges.size()), threads, [&](std::int64_t i) {
      refused[i] = read_range(ranges[i], i == 0 ? sink_ : locals[i - 1].sink);
    });
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const std::int64_t before = sink_.lines;
      if (i > 0) sink_.join(locals[i - 1].sink);
      if (!refused[i]) continue;
      if (i > 0) refused[i]->line += before;
      refused[i]->behind += static_cast<std::size_t>(ranges[i].data() - lines.data());
      return std::move(refused[i]);
    }
    return std::nullopt;
  }

  static std::string_view without_mark(std::string_view text) {
    return text.substr(text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0);
  }

  RowFormat format_;
  RowSink sink_;
  std::string partial_;           // of a line whose end has not come
  std::size_t reach_ = kNoLimit;  // bytes that are read together: fewer behind a refused line
};

}  // namespace crfkit
