#include "text/json_items.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/alphabet.hpp"
#include "text/numbers.hpp"

namespace crfkit {

char JsonCursor::peek() {
  while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  return at_ < end_ ? *at_ : '\0';
}

void JsonCursor::expect(char c) {
  if (peek() != c) throw Refused{};
  ++at_;
}

bool JsonCursor::skip(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

bool JsonCursor::skip_word(std::string_view word) {
  if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word)
    return false;
  at_ += word.size();
  return true;
}

void JsonCursor::string(Letters& into) {
  expect('"');
  while (true) {
    into.append_until(at_, end_, [](std::uint64_t word) {
      return Letters::equal(word, '"') | Letters::equal(word, '\\') | Letters::below(word, 0x20);
    });
    if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) throw Refused{};
    if (*at_++ == '"') return;
    escape(into);
  }
}

double JsonCursor::number(bool words) {
  peek();
  if (words && skip_word("true")) return 1;
  if (words && skip_word("false")) return 0;
  const char* begin = at_;
  if (at_ < end_ && *at_ == '-') ++at_;
  if (at_ < end_ && *at_ == '0') {
    ++at_;
  } else {
    digits();
  }
  const char* whole = at_;
  if (at_ < end_ && *at_ == '.') ++at_, digits();
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    digits();
  }
  if (at_ - begin > 300) throw Refused{};  // Python has a limit for integers
  if (at_ - begin == 1) return *begin - '0';
  const double value = number_of({begin, static_cast<std::size_t>(at_ - begin)});
  if (!std::isfinite(value)) throw Refused{};
  return whole == at_ ? value + 0.0 : value;  // the integer -0 is 0
}

void JsonCursor::digits() {
  const char* begin = at_;
  while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
  if (at_ == begin) throw Refused{};
}

void JsonCursor::escape(Letters& into) {
  if (at_ == end_) throw Refused{};
  const char c = *at_++;
  constexpr std::string_view written = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
  if (const std::size_t i = written.find(c); i != std::string_view::npos) {
    into.push_back(meant[i]);
    return;
  }
  if (c != 'u') throw Refused{};
  std::uint32_t code = hex4();
  if (code >= 0xd800 && code < 0xe000) {
    if (code >= 0xdc00 || !skip_word("\\u")) throw Refused{};
    const std::uint32_t low = hex4();
    if (low < 0xdc00 || low >= 0xe000) throw Refused{};
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  const auto put = [&](std::uint32_t byte) { into.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

std::uint32_t JsonCursor::hex4() {
  std::uint32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = at_ < end_ ? *at_++ : '\0';
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) throw Refused{};
    code = code << 4 | static_cast<std::uint32_t>(digit);
  }
  return code;
}

void KeysSeen::clear() {
  count_ = 0;
  if (++now_ == 0) slots_.assign(slots_.size(), {}), now_ = 1;
}

bool KeysSeen::add(std::uint64_t hash) {
  if (2 * ++count_ > slots_.size()) grow();
  std::size_t i = hash & (slots_.size() - 1), tried = 0;
  for (; slots_[i].time == now_; i = (i + 1) & (slots_.size() - 1))
    if (slots_[i].hash == hash || ++tried == kReach) return false;
  slots_[i] = {hash, now_};
  return true;
}

void KeysSeen::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.time != now_) continue;
    std::size_t i = slot.hash & (slots_.size() - 1);
    while (slots_[i].time == now_) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
}

void JsonItems::line(std::string_view text) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) return;
  json_.start(text);
  json_.expect('{');
  most_letters_ = sink_.letters().size() + kMostLetters * text.size();
  const std::size_t first = sink_.queued();
  labels_.clear();
  ends_.clear();
  bool items = false, labels = false, known = false, weighed = false;
  double weight = 1;
  json_.elements('}', [&] {
    key_.clear();
    json_.string(key_);
    json_.expect(':');
    if (key_.view() == "items" && !items) {
      items = true;
      json_.expect('[');
      json_.elements(']', [&] { item(); });
    } else if (key_.view() == "labels" && !labels) {
      labels = true;
      known = read_labels();
    } else if (key_.view() == "weight" && !weighed) {
      weighed = true;
      weight = json_.number(false);
    } else {
      throw Refused{};
    }
  });
  const std::size_t rows = sink_.queued() - first;
  if (json_.peek() || !items || (known && ends_.size() != rows)) throw Refused{};
  for (std::size_t t = 0, begin = 0; t < ends_.size(); ++t) {
    if (ends_[t] != kUnknown) {
      sink_.queued_label(first + t) = sink_.label(labels_.view().substr(begin, ends_[t] - begin));
      begin = ends_[t];
    }
  }
  sink_.weigh(weight);
  sink_.end_sequence();
}

bool JsonItems::read_labels() {
  json_.peek();
  if (json_.skip_word("null")) return false;
  json_.expect('[');
  json_.elements(']', [&] {
    json_.peek();
    if (json_.skip_word("null")) return ends_.push_back(kUnknown);
    json_.string(labels_);
    ends_.push_back(labels_.size());
  });
  return true;
}

void JsonItems::item() {
  if (json_.skip('[')) {
    names(0);
  } else {
    json_.expect('{');
    seen_.clear();
    prefix_.clear();
    object(0);
  }
  sink_.end_row(-1);
}

void JsonItems::name(std::size_t begin, double value) {
  if (sink_.letters().size() > most_letters_) throw Refused{};
  sink_.name(begin, value);
}

void JsonItems::names(std::size_t prefix) {
  json_.elements(']', [&] {
    Letters& letters = sink_.letters();
    const std::size_t begin = letters.size();
    letters.append(prefix_.view().substr(0, prefix));
    json_.string(letters);
    name(begin);
  });
}

void JsonItems::object(int depth) {
  if (depth == kDeep) throw Refused{};
  const std::size_t above = prefix_.size();
  json_.elements('}', [&] {
    json_.string(prefix_);
    if (!seen_.add(hash_bytes(prefix_.view()))) throw Refused{};
    json_.expect(':');
    const char c = json_.peek();
    if (c == '"') {
      Letters& letters = sink_.letters();
      const std::size_t begin = letters.size();
      letters.append(prefix_.view());
      letters.push_back(':');
      json_.string(letters);
      name(begin);
    } else if (c == '{' || c == '[') {
      prefix_.push_back(':');
      json_.expect(c);
      if (c == '{') {
        object(depth + 1);
      } else {
        names(prefix_.size());
      }
    } else {
      const std::size_t begin = sink_.letters().size();
      sink_.letters().append(prefix_.view());
      name(begin, json_.number(true));
    }
    prefix_.cut(above);
  });
}

}  // namespace crfkit
