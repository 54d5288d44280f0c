// Columns of text (CoNLL and its relatives), read as a stream: tokens become ids of one alphabet
// per column.
//
// One token per line, fields separated by blanks (runs count once) or by one given character; an
// empty line ends a sequence.  LF and CRLF; any line length.  Only finished sequences leave the
// parser, so any cut of the input into chunks gives the same result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.hpp"

namespace crfkit {

struct ColumnOptions {
  std::optional<char> separator;  // absent: blanks and tabs
  std::string comment;            // lines that begin with it are skipped; empty: there are none
  bool skip_docstart = true;      // a sequence that is one -DOCSTART- line is skipped
  bool blank_starts_end = false;  // CRF++: a line that begins with a blank ends a sequence
};

// A mistake in the input, with the line that holds it.
struct BadLine {
  std::int64_t line;
  std::string what;
};

class ColumnParser {
 public:
  explicit ColumnParser(ColumnOptions options) : options_(std::move(options)) {}

  // Reads a chunk; throws BadLine.
  void feed(std::string_view chunk);

  void finish();

  // What has been read since the last call, whole sequences only.
  struct Taken {
    std::vector<std::vector<std::int32_t>> ids;  // [columns][P]
    std::vector<std::int64_t> seq_ptr;           // [N + 1]
    std::vector<std::int64_t> line;              // [N] where each sequence begins
  };
  Taken take();

  std::size_t columns() const { return ids_.size(); }
  Alphabet& alphabet(std::size_t column) { return alphabets_[column]; }
  const std::vector<Alphabet>& alphabets() const { return alphabets_; }
  std::int64_t lines() const { return line_; }

 private:
  static constexpr std::size_t kMostColumns = std::size_t{1} << 14;  // each has an alphabet

  static bool blank(char c) { return c == ' ' || c == '\t'; }

  void read_line(std::string_view text);

  void split(std::string_view text);

  std::size_t pending() const {
    return ids_.empty() ? 0 : ids_[0].size() - static_cast<std::size_t>(seq_ptr_.back());
  }

  void end_sequence();

  ColumnOptions options_;
  std::string partial_;
  bool nul_ =
      false;  // whether there is a NUL byte in the chunk at hand or in what is left of others
  std::int64_t line_ = 0, begin_line_ = 0;
  std::vector<std::string_view> fields_;
  std::vector<Alphabet> alphabets_;
  std::vector<std::vector<std::int32_t>> ids_;
  std::vector<std::int64_t> seq_ptr_ = {0}, sequence_line_;
};

}  // namespace crfkit
