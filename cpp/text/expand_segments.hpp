// Templates of segments: strings made of all positions of a segment, of places around its ends and
// of its length, for every segment of at most D positions.
//
// A phrase grows by a word when its segment does. Most phrases of several words are new, so that
// each string is built, in one buffer, and looked up; the strings of all segments that begin at a
// position are looked up together, as their slots are on the way meanwhile.  Ids are given in order
// of first appearance: by where segments begin, by their length, and then by template.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/interrupts.hpp"
#include "text/name_bounds.hpp"
#include "text/templates.hpp"

namespace crfkit {

struct SegmentPart {
  enum From { nothing, length, all, begin, end };
  std::string literal;  // before the field
  From from = nothing;  // nothing: the literal ends the template
  int view = -1;
  int offset = 0;  // of begin and end; of all: longer segments have none, unless it is 0
};
using SegmentTemplate = std::vector<SegmentPart>;

class SegmentExpander {
 public:
  SegmentExpander(const std::vector<View>& views, const std::vector<SegmentTemplate>& templates,
                  const Names& names)
      : views_(views), templates_(templates), names_(names), phrases_(views.size()) {
    for (const SegmentTemplate& parts : templates)
      for (const SegmentPart& part : parts)
        if (part.from == SegmentPart::all) {
          Phrase& phrase = phrases_[part.view];
          const std::int64_t most = part.offset ? part.offset : INT64_MAX;
          phrase.most = phrase.most < most ? most : phrase.most;
        }
  }

  bool idle() const { return templates_.empty(); }

  void reserve(std::int64_t positions, std::int64_t longest, Attributes& out) const {
    const auto places = static_cast<std::size_t>(positions * longest);
    out.ptr.reserve(out.ptr.size() + places);
    out.attr.reserve(out.attr.size() + places * templates_.size());
  }

  // Attributes of the segments of sequence n: `longest` places for each position.
  void expand(const Tokens& tokens, std::int64_t n, std::int64_t longest, Attributes& out) {
    const std::int64_t begin = tokens.seq_ptr[n], T = tokens.seq_ptr[n + 1] - begin;
    for (std::int64_t t = 0; t < T; ++t) {
      worked(std::min(longest, T - t) * 16 * static_cast<std::int64_t>(templates_.size()));
      asked_.clear(), ends_.clear(), letters_.clear();
      for (Phrase& phrase : phrases_) phrase.text.clear(), phrase.known = true;
      for (std::int64_t d = 1; d <= longest && t + d <= T; ++d) {
        for (std::size_t v = 0; v < phrases_.size(); ++v)
          if (d <= phrases_[v].most)
            grow(v, tokens.column[views_[v].column][begin + t + d - 1], d > 1);
        for (const SegmentTemplate& parts : templates_) {
          text_.clear();
          choices_ = 0;
          build(parts, 0, tokens, Segment{n, begin, T, t, d});
        }
        ends_.push_back(asked_.size());
      }
      answer(out);
      for (std::size_t d = ends_.size(); d < static_cast<std::size_t>(longest); ++d) out.close();
    }
  }

 private:
  struct Phrase {
    std::int64_t most = 0;  // positions of the longest phrases that are used
    bool known = true;      // all positions have a value
    std::string text;
  };
  struct Asked {
    std::size_t begin, size;  // in letters_
    std::uint64_t hash;
  };
  struct Segment {
    std::int64_t n, first, T, t, d;  // sequence, where it begins, its length; the segment in it
  };

  void grow(std::size_t v, std::int32_t token, bool inner) {
    Phrase& phrase = phrases_[v];
    const View& view = views_[v];
    phrase.known = phrase.known && view.ptr[token] < view.ptr[token + 1];
    if (!phrase.known) return;
    if (inner) phrase.text += ' ';
    phrase.text += view.values.at(static_cast<std::size_t>(view.list[view.ptr[token]]));
  }

  // Appends part f and those after it to text_; several values make several strings, none makes
  // none.
  void build(const SegmentTemplate& parts, std::size_t f, const Tokens& tokens, const Segment& s) {
    const SegmentPart& part = parts[f];
    text_ += part.literal;
    if (part.from == SegmentPart::nothing) return ask(s);
    if (part.from == SegmentPart::length) {
      char digits[20];
      text_.append(digits, std::to_chars(digits, digits + sizeof digits, s.d).ptr);
      return build(parts, f + 1, tokens, s);
    }
    if (part.from == SegmentPart::all) {
      if (!phrases_[part.view].known || (part.offset && s.d > part.offset)) return;
      text_ += phrases_[part.view].text;
      return build(parts, f + 1, tokens, s);
    }
    const std::int64_t at =
        s.t + part.offset + (part.from == SegmentPart::end ? s.d - 1 : std::int64_t{0});
    if (at < 0 || at >= s.T) {
      append_pad(text_, at < 0, static_cast<int>(at < 0 ? -at : at - s.T + 1));
      return build(parts, f + 1, tokens, s);
    }
    const View& view = views_[part.view];
    const std::int32_t token = tokens.column[view.column][s.first + at];
    const std::size_t size = text_.size();
    for (std::int64_t k = view.ptr[token]; k < view.ptr[token + 1]; ++k) {
      count_choice(choices_, parts.front().literal);
      text_.resize(size);
      text_ += view.values.at(static_cast<std::size_t>(view.list[k]));
      build(parts, f + 1, tokens, s);
    }
  }

  // Keeps text_ until `answer`; its slot is on the way.
  void ask(const Segment& s) {
    check_names(static_cast<double>(letters_.size() + text_.size()), s.n, s.t);
    const auto* growing = std::get_if<Alphabet*>(&names_);
    if (growing) check_name(text_);
    const AlphabetView names = growing ? (*growing)->view() : std::get<AlphabetView>(names_);
    const std::uint64_t hash = names.hash(text_);
    names.fetch(hash);
    asked_.push_back({letters_.size(), text_.size(), hash});
    letters_ += text_;
  }

  void answer(Attributes& out) {
    std::size_t i = 0;
    for (const std::size_t end : ends_) {
      for (; i < end; ++i) {
        const std::string_view text(letters_.data() + asked_[i].begin, asked_[i].size);
        const auto* growing = std::get_if<Alphabet*>(&names_);
        const std::int32_t id = growing ? (*growing)->add(text, asked_[i].hash)
                                        : std::get<AlphabetView>(names_).find(text, asked_[i].hash);
        if (id >= 0) out.attr.push_back(id);
      }
      out.close();
    }
  }

  const std::vector<View>& views_;
  const std::vector<SegmentTemplate>& templates_;
  Names names_;
  std::vector<Phrase> phrases_;    // [views]
  std::vector<Asked> asked_;       // by the segments that begin at the position at hand
  std::vector<std::size_t> ends_;  // of each segment, in asked_
  std::string letters_, text_;
  std::size_t choices_ = 0;  // of values that the template at hand has had
};

}  // namespace crfkit
