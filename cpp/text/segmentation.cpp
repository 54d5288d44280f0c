#include "text/segmentation.hpp"

#include <algorithm>
#include <utility>

#include "shared/interrupts.hpp"
#include "text/unicode_classes.hpp"

namespace crfkit {

namespace {

constexpr std::int64_t kBlock = 1 << 16;  // characters between two looks for interrupts

// A set of classes, as bits.
template <class Class, class... Others>
constexpr std::uint32_t any_of(Class first, Others... others) {
  return ((1u << static_cast<int>(first)) | ... | (1u << static_cast<int>(others)));
}
template <class Class>
constexpr bool in(Class one, std::uint32_t set) {
  return set >> static_cast<int>(one) & 1;
}

class Scanned {
 public:
  explicit Scanned(Characters text) : text_(text), classes_(UnicodeClasses::get()) {}
  std::int64_t size() const { return static_cast<std::int64_t>(text_.size()); }
  Classes operator[](std::int64_t i) const { return classes_(text_[static_cast<std::size_t>(i)]); }

 private:
  Characters text_;
  const UnicodeClasses& classes_;
};

// Calls at(i) where a part begins, but for the first.  A rule says whether text breaks before
// character i, which it is asked of every character in turn.
template <class Rule, class At>
void walk(Characters text, At at) {
  const Scanned scanned(text);
  Rule rule(scanned);
  for (std::int64_t i = 1; i < scanned.size(); ++i) {
    if (i % kBlock == 0) worked(4 * kBlock);
    if (rule.before(i)) at(i);
  }
}

// ---- words: WB3 to WB999

using enum WordClass;
constexpr std::uint32_t kSkipped = any_of(Extend, Format, ZWJ);  // WB4
constexpr std::uint32_t kLineEnds = any_of(CR, LF, Newline);
constexpr std::uint32_t kLetters = any_of(ALetter, HebrewLetter);
constexpr std::uint32_t kInWords = any_of(MidLetter, MidNumLet, SingleQuote);
constexpr std::uint32_t kInNumbers = any_of(MidNum, MidNumLet, SingleQuote);
constexpr std::uint32_t kWordlike = kLetters | any_of(Numeric, Katakana, ExtendNumLet);

class WordRule {
 public:
  explicit WordRule(const Scanned& text) : text_(text), raw_(text[0].word()), last_(raw_) {
    flags_ = last_ == RegionalIndicator;
  }

  bool before(std::int64_t i) {
    const Classes classes = text_[i];
    const WordClass now = classes.word(), raw = std::exchange(raw_, now);
    if (in(raw, kLineEnds) || in(now, kLineEnds)) {
      advance(now);
      return !(raw == CR && now == LF);  // WB3, 3a, 3b
    }
    if (in(now, kSkipped)) return false;                           // WB4
    const bool joined = (raw == ZWJ && classes.pictograph()) ||    // WB3c
                        (raw == WSegSpace && now == WSegSpace) ||  // WB3d
                        follows(now, i);
    advance(now);
    return !joined;
  }

 private:
  bool follows(WordClass now, std::int64_t i) const {
    switch (now) {
      case ALetter:
      case HebrewLetter:
        return in(last_, kLetters | any_of(Numeric, ExtendNumLet)) ||  // WB5, 10, 13b
               (in(last_, kInWords) && in(before_last_, kLetters)) ||  // WB7
               (now == HebrewLetter && last_ == DoubleQuote && before_last_ == HebrewLetter);  // 7c
      case Numeric:
        return in(last_, kLetters | any_of(Numeric, ExtendNumLet)) ||  // WB8, 9, 13b
               (in(last_, kInNumbers) && before_last_ == Numeric);     // WB11
      case Katakana:
        return last_ == Katakana || last_ == ExtendNumLet;  // WB13, 13b
      case ExtendNumLet:
        return in(last_, kWordlike);  // WB13a
      case RegionalIndicator:
        return last_ == RegionalIndicator && flags_ % 2 == 1;  // WB15, 16
      case SingleQuote:
        if (last_ == HebrewLetter) return true;  // WB7a
        [[fallthrough]];
      case MidLetter:
      case MidNumLet:
      case MidNum:
        return (in(now, kInWords) && in(last_, kLetters) && in(next(i), kLetters)) ||  // WB6
               (in(now, kInNumbers) && last_ == Numeric && next(i) == Numeric);        // WB12
      case DoubleQuote:
        return last_ == HebrewLetter && next(i) == HebrewLetter;  // WB7b
      default:
        return false;
    }
  }

  // The class of the next character that counts.  Only characters that are not skipped ask, so that
  // all looks ahead together are as long as the text at most.
  WordClass next(std::int64_t i) const {
    while (++i < text_.size())
      if (const WordClass found = text_[i].word(); !in(found, kSkipped)) return found;
    return Other;
  }

  void advance(WordClass now) {
    before_last_ = std::exchange(last_, now);
    flags_ = now == RegionalIndicator ? flags_ + 1 : 0;
  }

  const Scanned& text_;
  WordClass raw_;                         // of the character before
  WordClass last_, before_last_ = Other;  // of those before that count
  std::int64_t flags_;                    // regional indicators in a row
};

// ---- grapheme clusters: GB3 to GB999

class GraphemeRule {
  using G = GraphemeClass;

 public:
  explicit GraphemeRule(const Scanned& text) : text_(text) { take(text[0]); }

  bool before(std::int64_t i) {
    const Classes classes = text_[i];
    const G now = classes.grapheme();
    const bool joined = follows(now, classes.pictograph());
    take(classes);
    return !joined;
  }

 private:
  bool follows(G now, bool pictograph) const {
    constexpr std::uint32_t controls = any_of(G::Control, G::CR, G::LF);
    if (last_ == G::CR && now == G::LF) return true;             // GB3
    if (in(last_, controls) || in(now, controls)) return false;  // GB4, 5
    if (in(now, any_of(G::Extend, G::ZWJ, G::SpacingMark)) || last_ == G::Prepend)
      return true;  // GB9
    switch (last_) {
      case G::L:
        return in(now, any_of(G::L, G::V, G::LV, G::LVT));  // GB6
      case G::LV:
      case G::V:
        return in(now, any_of(G::V, G::T));  // GB7
      case G::LVT:
      case G::T:
        return now == G::T;  // GB8
      case G::ZWJ:
        return joining_ && pictograph;  // GB11
      case G::RegionalIndicator:
        return now == last_ && flags_ % 2 == 1;  // GB12, 13
      default:
        return false;
    }
  }

  void take(Classes classes) {
    last_ = classes.grapheme();
    flags_ = last_ == G::RegionalIndicator ? flags_ + 1 : 0;
    if (classes.pictograph())
      joining_ = true;
    else if (!in(last_, any_of(G::Extend, G::ZWJ)))
      joining_ = false;
  }

  const Scanned& text_;
  G last_ = G::Other;
  std::int64_t flags_ = 0;  // regional indicators in a row
  bool joining_ = false;    // a pictograph, and only Extend and ZWJ since
};

// ---- sentences: SB3 to SB998

class SentenceRule {
  using S = SentenceClass;

 public:
  explicit SentenceRule(const Scanned& text) : text_(text), raw_(text[0].sentence()) { take(raw_); }

  bool before(std::int64_t i) {
    const S now = text_[i].sentence(), raw = std::exchange(raw_, now);
    if (in(raw, kSeparators)) {
      const bool one = raw == S::CR && now == S::LF;  // SB3
      if (!one) stage_ = Stage::kNone;
      take(now);
      return !one;  // SB4
    }
    if (in(now, any_of(S::Extend, S::Format))) return false;  // SB5
    const bool ends = stage_ != Stage::kNone && !goes_on(now, i);
    take(now);
    return ends;
  }

 private:
  enum class Stage { kNone, kStop, kClose, kSpace };  // how much of SATerm Close* Sp* is there
  static constexpr std::uint32_t kSeparators = any_of(S::Sep, S::CR, S::LF);
  static constexpr std::uint32_t kStops = any_of(S::ATerm, S::STerm);

  bool goes_on(S now, std::int64_t i) const {
    if (stage_ != Stage::kSpace && in(now, kSeparators | any_of(S::Close, S::Sp)))
      return true;                                            // SB9
    if (in(now, kSeparators | any_of(S::Sp))) return true;    // SB10
    if (in(now, kStops | any_of(S::SContinue))) return true;  // SB8a
    if (stop_ != S::ATerm) return false;
    if (stage_ == Stage::kStop) {
      if (now == S::Numeric) return true;                                                // SB6
      if (now == S::Upper && in(before_stop_, any_of(S::Upper, S::Lower))) return true;  // SB7
    }
    return lower_follows(i);  // SB8
  }

  // One look ahead for each ATerm at most, up to the next one: all together as long as the text.
  bool lower_follows(std::int64_t i) const {
    constexpr std::uint32_t ends = kSeparators | kStops | any_of(S::OLetter, S::Upper, S::Lower);
    for (; i < text_.size(); ++i)
      if (const S found = text_[i].sentence(); in(found, ends)) return found == S::Lower;
    return false;
  }

  void take(S now) {
    if (in(now, kStops)) {
      stage_ = Stage::kStop;
      stop_ = now;
      before_stop_ = last_;
    } else if (now == S::Close && (stage_ == Stage::kStop || stage_ == Stage::kClose)) {
      stage_ = Stage::kClose;
    } else if (now == S::Sp && stage_ != Stage::kNone) {
      stage_ = Stage::kSpace;
    } else if (!in(now, kSeparators)) {
      stage_ = Stage::kNone;
    }
    last_ = now;
  }

  const Scanned& text_;
  S raw_;                                                         // of the character before
  S last_ = S::Other, stop_ = S::Other, before_stop_ = S::Other;  // of those that count
  Stage stage_ = Stage::kNone;
};

template <class At>
void walk(Characters text, Breaks rule, At at) {
  if (rule == Breaks::kWords) return walk<WordRule>(text, at);
  if (rule == Breaks::kGraphemes) return walk<GraphemeRule>(text, at);
  return walk<SentenceRule>(text, at);
}

bool contains(Characters set, std::uint32_t character) {
  return std::find(set.begin(), set.end(), character) != set.end();
}

}  // namespace

// ---- parts of texts

std::vector<std::int64_t> breaks(Characters text, Breaks rule) {
  std::vector<std::int64_t> found;
  if (text.empty()) return found;
  found.push_back(0);
  walk(text, rule, [&](std::int64_t i) { found.push_back(i); });
  found.push_back(static_cast<std::int64_t>(text.size()));
  return found;
}

std::vector<std::int64_t> parts(Characters text, Breaks rule, Characters alone) {
  std::vector<std::int64_t> found;
  if (text.empty()) return found;
  const Scanned scanned(text);
  std::int64_t begin = 0;
  const auto put = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i)
      if (!scanned[i].white()) {
        found.push_back(from);
        found.push_back(to);
        return;
      }
  };
  const auto end_at = [&](std::int64_t end) {
    if (!alone.empty())
      for (std::int64_t i = begin; i < end; ++i)
        if (contains(alone, text[static_cast<std::size_t>(i)])) {
          if (begin < i) put(begin, i);
          put(i, i + 1);
          begin = i + 1;
        }
    if (begin < end) put(begin, end);
    begin = end;
  };
  walk(text, rule, end_at);
  end_at(scanned.size());
  return found;
}

std::vector<std::int64_t> between_blanks(Characters text, Characters off) {
  std::vector<std::int64_t> found;
  const Scanned scanned(text);
  std::int64_t begin = 0;
  const auto end_at = [&](std::int64_t end) {
    std::int64_t tail = end;  // characters of `off` from here on
    while (tail > begin && contains(off, text[static_cast<std::size_t>(tail - 1)])) --tail;
    if (begin < tail) found.insert(found.end(), {begin, tail});
    for (; tail < end; ++tail) found.insert(found.end(), {tail, tail + 1});
  };
  for (std::int64_t i = 0; i < scanned.size(); ++i) {
    if (i % kBlock == 0) worked_if_many(4 * std::min(kBlock, scanned.size()));
    if (!scanned[i].white()) continue;
    end_at(i);
    begin = i + 1;
  }
  end_at(scanned.size());
  return found;
}

}  // namespace crfkit
