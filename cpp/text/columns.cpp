#include "text/columns.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "text/words.hpp"

namespace crfkit {

void ColumnParser::feed(std::string_view chunk) {
  nul_ = (nul_ && !partial_.empty()) || chunk.find('\0') != std::string_view::npos;
  while (!chunk.empty()) {
    const std::size_t newline = chunk.find('\n');
    if (newline == std::string_view::npos) {
      partial_.append(chunk);
      return;
    }
    if (partial_.empty()) {
      read_line(chunk.substr(0, newline));
    } else {
      partial_.append(chunk.substr(0, newline));
      read_line(partial_);
      partial_.clear();
    }
    chunk.remove_prefix(newline + 1);
  }
}

void ColumnParser::finish() {
  if (!partial_.empty()) read_line(partial_);
  partial_.clear();
  end_sequence();
}

ColumnParser::Taken ColumnParser::take() {
  Taken taken;
  const std::size_t whole = static_cast<std::size_t>(seq_ptr_.back());
  taken.ids.resize(ids_.size());
  for (std::size_t c = 0; c < ids_.size(); ++c) {
    taken.ids[c].assign(ids_[c].begin(), ids_[c].begin() + whole);
    ids_[c].erase(ids_[c].begin(), ids_[c].begin() + whole);
  }
  taken.seq_ptr = std::move(seq_ptr_);
  taken.line = std::move(sequence_line_);
  seq_ptr_.assign(1, 0);
  sequence_line_.clear();
  return taken;
}

void ColumnParser::read_line(std::string_view text) {
  ++line_;
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (line_ == 1 && text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  if (!options_.comment.empty() && text.substr(0, options_.comment.size()) == options_.comment)
    return;
  if (nul_ && text.find('\0') != std::string_view::npos)
    throw BadLine{line_, "holds a NUL byte; is this a text file?"};
  const bool ends = options_.blank_starts_end && !text.empty() && blank(text.front());
  if (ends || text.find_first_not_of(" \t") == std::string_view::npos) return end_sequence();
  if (pending() == 0) begin_line_ = line_;
  split(text);
}

void ColumnParser::split(std::string_view text) {
  fields_.clear();
  if (options_.separator) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t next = std::min(text.find(*options_.separator, at), text.size());
      fields_.push_back(text.substr(at, next - at));
      at = next + 1;
    }
  } else {
    for (std::size_t at = 0; at < text.size();) {
      if (blank(text[at])) {
        ++at;
        continue;
      }
      std::size_t next = at;
      while (next < text.size() && !blank(text[next])) ++next;
      fields_.push_back(text.substr(at, next - at));
      at = next;
    }
  }
  if (fields_.size() > kMostColumns)
    throw BadLine{line_, "has " + std::to_string(fields_.size()) + " columns, expected " +
                             std::to_string(kMostColumns) + " at most; is this the right format?"};
  if (ids_.empty()) {
    ids_.resize(fields_.size());
    alphabets_.resize(fields_.size());
  }
  if (fields_.size() != ids_.size())
    throw BadLine{line_, "has " + std::to_string(fields_.size()) +
                             (fields_.size() > 1 ? " columns" : " column") + ", expected " +
                             std::to_string(ids_.size()) +
                             " as on the first line; separate columns alike on every line"};
  for (std::size_t c = 0; c < fields_.size(); ++c) {
    if (fields_[c].size() > kLongestToken) [[unlikely]]
      throw BadLine{line_, "has a token of " + std::to_string(fields_[c].size()) +
                               " bytes in column " + std::to_string(c + 1) +
                               ", expected 1 MiB at most; is this the right format?"};
    const std::size_t before = alphabets_[c].size();
    const std::int32_t id = alphabets_[c].add(fields_[c]);
    if (alphabets_[c].size() > before && !valid_utf8(fields_[c]))
      throw BadLine{line_, "is not valid UTF-8 in column " + std::to_string(c + 1)};
    ids_[c].push_back(id);
  }
}

void ColumnParser::end_sequence() {
  const std::size_t n = pending();
  if (n == 0) return;
  if (options_.skip_docstart && n == 1 && alphabets_[0].at(ids_[0].back()) == "-DOCSTART-") {
    for (auto& ids : ids_) ids.pop_back();
    return;
  }
  seq_ptr_.push_back(static_cast<std::int64_t>(ids_[0].size()));
  sequence_line_.push_back(begin_line_);
}

}  // namespace crfkit
