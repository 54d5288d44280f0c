// Bounds on the names that templates make, and what names will cost before they are made.
//
// A template makes a name of every combination of the values of its fields, so that a few tokens
// with many or long values could ask for more memory than there is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/alphabet.hpp"
#include "text/templates.hpp"

namespace crfkit {

// Bytes of a name that is kept; names of one template at one position (or of one segment), which
// are the product of the values of its fields; and bytes of all names of a position (or of the
// segments that begin there).
constexpr std::size_t kMostName = std::size_t{1} << 20, kMostChoices = 100'000;
constexpr std::size_t kMostNames = std::size_t{1} << 24;

// The beginning of a text, for messages.
inline std::string beginning(std::string_view text) {
  std::size_t end = std::min<std::size_t>(text.size(), 60);
  if (end < text.size())
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

// Throws where a name is too long to be kept.
inline void check_name(std::string_view name) {
  if (name.size() > kMostName)
    throw std::invalid_argument("the attribute '" + beginning(name) + "...' has " +
                                std::to_string(name.size()) + " bytes, more than " +
                                std::to_string(kMostName) +
                                "; shorten the token, or leave it out of the template");
}

// Throws where the names of one position take too many bytes.
inline void check_names(double bytes, std::int64_t sequence, std::int64_t position) {
  if (bytes > static_cast<double>(kMostNames))
    throw std::invalid_argument("the names of attributes at position " + std::to_string(position) +
                                " of sequence " + std::to_string(sequence) + " have more than " +
                                std::to_string(kMostNames) +
                                " bytes; shorten its tokens, or take fewer templates");
}

// Throws where a template makes too many names, or chooses so many values for them.
inline void check_choices(double choices, std::string_view head) {
  if (choices > static_cast<double>(kMostChoices))
    throw std::invalid_argument(
        "the template '" + beginning(head) + "' makes more than " + std::to_string(kMostChoices) +
        " attributes at one position; join fewer fields with several values");
}
inline void count_choice(std::size_t& choices, std::string_view head) {
  if (++choices > kMostChoices) check_choices(static_cast<double>(choices), head);
}

// What the names of one position cost, by the values of its tokens.
class NameCosts {
 public:
  NameCosts(const std::vector<View>& views, const std::vector<Template>& templates,
            const Namings& names)
      : views_(views), templates_(templates), names_(names) {}

  // Whether the names of a template are kept: frozen alphabets take no new ones.
  bool kept(const Template& made) const {
    return !std::holds_alternative<AlphabetView>(names_[naming_of(made.kind)]);
  }

  // Bytes of the names of one position that are kept, at the most, whatever its tokens.
  double most() const {
    const auto values = [&](const Part& part) {
      return std::max<std::size_t>(views_[part.view].most_values, 1);
    };
    const auto bytes = [&](const Part& part) {
      return std::max(views_[part.view].most_bytes, kLongestPad);
    };
    double sum = 0.0;
    for (const Template& one : templates_)
      if (kept(one)) sum += cost_of(one, values, bytes).bytes;
    return sum;
  }

  // Throws where the names of a position of sequence n take too many bytes, or one template makes
  // too many.
  void check(const Tokens& tokens, std::int64_t n) const {
    const std::int64_t length = tokens.seq_ptr[n + 1] - tokens.seq_ptr[n];
    for (std::int64_t t = 0; t < length; ++t) check_names(at(tokens, n, t), n, t);
  }

 private:
  // Bytes of the names of position t of sequence n that are kept.
  double at(const Tokens& tokens, std::int64_t n, std::int64_t t) const {
    const std::int64_t begin = tokens.seq_ptr[n], length = tokens.seq_ptr[n + 1] - begin;
    const auto of = [&](const Part& part, auto View::* known, auto outside) {
      const std::int64_t place = part.place(t, length);
      if (place < 0 || place >= length) return outside;
      const View& view = views_[part.view];
      return (view.*known)(static_cast<std::size_t>(tokens.column[view.column][begin + place]));
    };
    const auto values = [&](const Part& part) {
      return of(part, &View::values_of, std::size_t{1});
    };
    const auto bytes = [&](const Part& part) { return of(part, &View::bytes_of, kLongestPad); };
    double sum = 0.0;
    for (const Template& one : templates_) {
      if (!kept(one) || (one.kind == kEdge && t == 0)) continue;
      const Cost cost = cost_of(one, values, bytes);
      check_choices(cost.names, one.parts.front().literal);
      sum += cost.bytes;
    }
    return sum;
  }

  struct Cost {
    double names, bytes;
  };

  // What a template makes of fields with `values(field)` values of `bytes(field)` bytes together.
  template <class Values, class Bytes>
  static Cost cost_of(const Template& made, Values values, Bytes bytes) {
    Cost cost = {1.0, 0.0};
    for (const Part& part : made.parts) {
      cost.bytes += cost.names * static_cast<double>(part.literal.size());
      if (part.view < 0) continue;
      const auto many = static_cast<double>(values(part));
      cost.bytes = cost.bytes * many + cost.names * static_cast<double>(bytes(part));
      cost.names *= many;
    }
    cost.bytes *= made.both ? 2.0 : 1.0;
    return cost;
  }

  static constexpr std::size_t kLongestPad = 4;  // bytes of _B-1

  const std::vector<View>& views_;
  const std::vector<Template>& templates_;
  Namings names_;
};

}  // namespace crfkit
