// Templates of segments: strings made of all positions of a segment, of places around its ends and
// of its length, for every segment of at most D positions.
//
// A phrase grows by a word when its segment does. Most phrases of several words are new, so that
// each string is built, in one buffer, and looked up; the strings of all segments that begin at a
// position are looked up together, as their slots are on the way meanwhile.  Ids are given in order
// of first appearance: by where segments begin, by their length, and then by template.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
                  const Names& names);

  bool idle() const { return templates_.empty(); }

  void reserve(std::int64_t positions, std::int64_t longest, Attributes& out) const;

  // Attributes of the segments of sequence n: `longest` places for each position.
  void expand(const Tokens& tokens, std::int64_t n, std::int64_t longest, Attributes& out);

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

  void grow(std::size_t v, std::int32_t token, bool inner);

  // Appends part f and those after it to text_; several values make several strings, none makes
  // none.
  void build(const SegmentTemplate& parts, std::size_t f, const Tokens& tokens, const Segment& s);

  // Keeps text_ until `answer`; its slot is on the way.
  void ask(const Segment& s);

  void answer(Attributes& out);

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
