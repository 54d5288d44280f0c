#include "text/expand_segments.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/interrupts.hpp"
#include "text/name_bounds.hpp"

namespace crfkit {

SegmentExpander::SegmentExpander(const std::vector<View>& views,
                                 const std::vector<SegmentTemplate>& templates, const Names& names)
    : views_(views), templates_(templates), names_(names), phrases_(views.size()) {
  for (const SegmentTemplate& parts : templates)
    for (const SegmentPart& part : parts)
      if (part.from == SegmentPart::all) {
        Phrase& phrase = phrases_[part.view];
        const std::int64_t most = part.offset ? part.offset : INT64_MAX;
        phrase.most = phrase.most < most ? most : phrase.most;
      }
}

void SegmentExpander::reserve(std::int64_t positions, std::int64_t longest, Attributes& out) const {
  const auto places = static_cast<std::size_t>(positions * longest);
  out.ptr.reserve(out.ptr.size() + places);
  out.attr.reserve(out.attr.size() + places * templates_.size());
}

void SegmentExpander::expand(const Tokens& tokens, std::int64_t n, std::int64_t longest,
                             Attributes& out) {
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

void SegmentExpander::grow(std::size_t v, std::int32_t token, bool inner) {
  Phrase& phrase = phrases_[v];
  const View& view = views_[v];
  phrase.known = phrase.known && view.ptr[token] < view.ptr[token + 1];
  if (!phrase.known) return;
  if (inner) phrase.text += ' ';
  phrase.text += view.values.at(static_cast<std::size_t>(view.list[view.ptr[token]]));
}

void SegmentExpander::build(const SegmentTemplate& parts, std::size_t f, const Tokens& tokens,
                            const Segment& s) {
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

void SegmentExpander::ask(const Segment& s) {
  check_names(static_cast<double>(letters_.size() + text_.size()), s.n, s.t);
  const auto* growing = std::get_if<Alphabet*>(&names_);
  if (growing) check_name(text_);
  const AlphabetView names = growing ? (*growing)->view() : std::get<AlphabetView>(names_);
  const std::uint64_t hash = names.hash(text_);
  names.fetch(hash);
  asked_.push_back({letters_.size(), text_.size(), hash});
  letters_ += text_;
}

void SegmentExpander::answer(Attributes& out) {
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

}  // namespace crfkit
