#include "text/wapiti_regex.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace crfkit {

WapitiRegex::WapitiRegex(std::string_view text) {
  if (!text.empty() && text.front() == '^') {
    anchored_ = true;
    text.remove_prefix(1);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 == text.size()) {
      to_end_ = true;
      break;
    }
    Item item{text[i] == '.' ? Item::any : Item::literal, text[i], Item::once};
    if (text[i] == '\\' && i + 1 < text.size()) {
      item.symbol = text[++i];
      item.kind = is_class(lower(item.symbol)) ? Item::character_class : Item::literal;
    }
    if (i + 1 < text.size() && (text[i + 1] == '*' || text[i + 1] == '?'))
      item.times = text[++i] == '*' ? Item::lazily : Item::at_most_once;
    quantified_ += item.times != Item::once;
    items_.push_back(item);
  }
  if (items_.size() > kMostItems)
    throw std::invalid_argument("a regular expression has " + std::to_string(items_.size()) +
                                " items, more than " + std::to_string(kMostItems));
}

std::optional<std::string_view> WapitiRegex::search(std::string_view s) const {
  if (quantified_ > (anchored_ ? kFewAnchored : kFew)) return sweep(s);
  std::size_t steps = kSteps * (s.size() + 1);
  for (std::size_t from = 0; from <= s.size(); ++from) {
    const std::ptrdiff_t end = match(0, s, from, steps);
    if (end >= 0) return s.substr(from, static_cast<std::size_t>(end) - from);
    if (steps == 0) return sweep(s);
    if (anchored_) break;
  }
  return std::nullopt;
}

bool WapitiRegex::in_class(char name, char c) {
  const bool is_lower = c >= 'a' && c <= 'z', is_upper = c >= 'A' && c <= 'Z',
             digit = c >= '0' && c <= '9';
  switch (name) {
    case 'a':
      return is_lower || is_upper;
    case 'd':
      return digit;
    case 'l':
      return is_lower;
    case 'u':
      return is_upper;
    case 's':
      return c == ' ' || (c >= '\t' && c <= '\r');
    case 'w':
      return is_lower || is_upper || digit;
    default:
      return c > ' ' && c <= '~' && !is_lower && !is_upper && !digit;  // p
  }
}

bool WapitiRegex::accepts(const Item& item, char c) {
  if (item.kind == Item::any) return true;
  if (item.kind == Item::literal) return c == item.symbol;
  const char name = lower(item.symbol);
  return in_class(name, c) == (name == item.symbol);
}

std::ptrdiff_t WapitiRegex::match(std::size_t i, std::string_view s, std::size_t at,
                                  std::size_t& steps) const {
  if (steps == 0 || --steps == 0) return -1;
  for (; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (item.times == Item::lazily) {
      for (;; ++at) {
        const std::ptrdiff_t end = match(i + 1, s, at, steps);
        if (end >= 0) return end;
        if (at >= s.size() || !accepts(item, s[at])) return -1;
      }
    }
    if (item.times == Item::at_most_once) {
      if (at < s.size() && accepts(item, s[at])) {
        const std::ptrdiff_t end = match(i + 1, s, at + 1, steps);
        if (end >= 0) return end;
      }
      continue;
    }
    if (at >= s.size() || !accepts(item, s[at])) return -1;
    ++at;
  }
  if (to_end_ && at != s.size()) return -1;
  return static_cast<std::ptrdiff_t>(at);
}

std::optional<std::string_view> WapitiRegex::sweep(std::string_view s) const {
  const std::size_t count = items_.size();
  std::vector<std::ptrdiff_t> end(count + 1, -1);
  std::optional<std::string_view> found;
  for (std::size_t at = s.size() + 1; at-- > 0;) {
    const bool last = at == s.size();
    std::ptrdiff_t next = end[count];  // of the item after, at the next byte
    end[count] = to_end_ && !last ? -1 : static_cast<std::ptrdiff_t>(at);
    for (std::size_t i = count; i-- > 0;) {
      const Item& item = items_[i];
      const bool accepted = !last && accepts(item, s[at]);
      const std::ptrdiff_t taken = !accepted ? -1 : item.times == Item::lazily ? end[i] : next;
      const std::ptrdiff_t left_out = item.times == Item::once ? -1 : end[i + 1];
      const bool prefer_taken = item.times == Item::at_most_once ? taken >= 0 : left_out < 0;
      next = end[i];
      end[i] = prefer_taken ? taken : left_out;
    }
    if (end[0] >= 0 && (!anchored_ || at == 0))
      found = s.substr(at, static_cast<std::size_t>(end[0]) - at);
  }
  return found;
}

}  // namespace crfkit
