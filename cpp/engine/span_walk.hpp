// Segments that labels spell, and how probable each is.
//
// What a chain of order 1 gives to labels, given the data, is a Markov chain itself: the share of a
// label that goes on to the next is the marginal of the step over that of the label before it.  The
// mass of the labelings that have a segment is a walk along this chain, from the position before
// the segment to the position after it, which takes only the steps that spell the segment.  It
// costs L^2 for each position of a segment, where a sweep with all else forbidden would cost it for
// each of the sequence.
#pragma once

#include <cstdint>
#include <vector>

namespace crfkit {

// Which steps from label to label spell a segment; the last row and column are the ends of a
// sequence.
struct SpanSteps {
  std::int64_t labels;        // L
  const std::uint8_t* enter;  // [L + 1, L] one begins
  const std::uint8_t* stay;   // [L, L] one goes on
  const std::uint8_t* leave;  // [L, L + 1] one ends
};

// Marginals of one sequence: edge[t] enters position t.
struct StepShares {
  std::int64_t length;  // T
  const double* node;   // [T, L]
  const double* edge;   // [T, L, L]
};

// The probability of the segment from `first` to `end`, whose first label is among these, [L].
double span_share(const StepShares& shares, const SpanSteps& steps, std::int64_t first,
                  std::int64_t end, const std::uint8_t* among, std::vector<double>& scratch);

struct FoundSpan {
  std::int64_t first, end;
  std::int32_t kind;
};

// What two neighboring labels say of segments between them, and of which kind the segments are.
class SpanRules {
 public:
  enum Flag : std::uint8_t { starts = 1, cuts = 2, ends = 4 };  // as crfkit.tags.reading has them

  // flags [L + 1, L + 1], the last for what lies before and behind a sequence; kind [L], of those
  // that a label may begin.
  SpanRules(std::vector<std::uint8_t> flags, std::vector<std::int32_t> kind);
  SpanRules(const SpanRules&) = delete;  // steps point into it
  SpanRules& operator=(const SpanRules&) = delete;

  std::int64_t labels() const { return static_cast<std::int64_t>(kind_.size()); }
  const SpanSteps& steps() const { return steps_; }

  // The labels of the segments of a kind, [L].
  const std::uint8_t* of_kind(std::int32_t kind) const { return among_[kind].data(); }
  std::int64_t kinds() const { return static_cast<std::int64_t>(among_.size()); }

  // The segments of a labeling, in order.
  void find(const std::int32_t* label, std::int64_t length, std::vector<FoundSpan>& out) const;

 private:
  std::vector<std::uint8_t> flags_;
  std::vector<std::int32_t> kind_;
  std::vector<std::uint8_t> enter_, stay_, leave_;
  std::vector<std::vector<std::uint8_t>> among_;
  SpanSteps steps_;
};

}  // namespace crfkit
