// Labels from messages of maxima: variables one after the other, each given those before it.
//
// A message says what the best labeling of everything behind it is worth; where some of it is
// labeled already, the table says so instead.  Without cycles this is the best labeling, also
// among equally good ones; and what a table forbids is never chosen while something else is left.
// With cycles all labels of a variable may be forbidden by those before it: then that one begins.
#pragma once

#include "graph/messages/run.hpp"

namespace crfkit {

class MessageLabels {
 public:
  explicit MessageLabels(const MessageRun& run) : run_(run), p_(run.places), f_(run.factors) {}

  // [V]; false where a graph has none, in `found` [N].
  void run(std::int32_t* label, std::uint8_t* found) const;

 private:
  static constexpr int kTries = 64;  // orders of a component with cycles

  // Labels a component, from some variables on, neighbor by neighbor; all of its variables are in
  // `queue` afterwards.  Returns one for which no label is left, which should come first the next
  // time, or -1.
  std::int32_t follow(const std::vector<std::int32_t>& first, std::vector<std::int32_t>& queue,
                      std::vector<std::uint8_t>& seen, std::int32_t* label) const;

  bool choose(std::int32_t v, std::int32_t* label, double* score) const;

  // Whether another variable of the factor of a place has a label.
  bool labeled(std::int32_t place, const std::int32_t* label) const;

  // The message to a place, given labels.
  void condition(std::int32_t place, const std::int32_t* label, double* out) const;

  std::vector<double> told(std::int32_t v, std::int64_t but, bool nothing) const;

  const MessageRun& run_;
  const Places& p_;
  const Factors& f_;
};

}  // namespace crfkit
