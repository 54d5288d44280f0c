// Compiled once per instruction set: what is made once for a call.
#include "kernels/sweep/call.hpp"

namespace crfkit::CRFKIT_ARCH {
namespace {

constexpr std::int64_t kEnough = 256;  // positions, which pay for listing

// Tables without sequences are made ahead, for many calls.
bool sums_without_steps(const Problem& p, const Task& t) {
  return t.query == Query::sum && t.gradients.no_steps && !t.log_space && !t.expected && !p.pairs &&
         (p.sequences == 0 || p.seq_ptr[p.sequences] >= kEnough);
}
Problem with_pairs(Problem p, const Pairs& pairs) {
  p.pairs = &pairs;
  return p;
}

}  // namespace

Prepared::Prepared(const Problem& p, const Task& t)
    : probabilities(p, (t.query == Query::sum || t.query == Query::sample) && !t.log_space, true),
      scores(p, t.query == Query::sum || t.query == Query::sample || t.query == Query::best, false),
      listed(p, t.query == Query::best || sums_without_steps(p, t)),
      by_pairs(with_pairs(p, listed.pairs()), listed.made() && t.query == Query::sum, true),
      best(p, t.query == Query::best, listed) {}

}  // namespace crfkit::CRFKIT_ARCH
