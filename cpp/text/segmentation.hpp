// Where words, grapheme clusters and sentences begin: the rules of Unicode's UAX #29, in time
// proportional to the text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace crfkit {

using Characters = std::span<const std::uint32_t>;  // code points, halves of surrogates included

enum class Breaks { kWords, kGraphemes, kSentences };

// The places between parts, 0 and the end of the text included; none of an empty text.
std::vector<std::int64_t> breaks(Characters text, Breaks rule);

// The begin and the end of each part that has more than white space, one after the other.  In words
// each character of `alone` is a part of its own.
std::vector<std::int64_t> parts(Characters text, Breaks rule, Characters alone);

// The begin and the end of each run of characters that are not white space; characters of `off` at
// the end of a run are parts of their own.
std::vector<std::int64_t> between_blanks(Characters text, Characters off);

}  // namespace crfkit
