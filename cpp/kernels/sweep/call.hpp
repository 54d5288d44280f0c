// What a call of the sweep works on: the problem, the task, and tables that are made once for all
// threads.
#pragma once

#include "kernels/sweep/best_steps.hpp"
#include "kernels/sweep/tables.hpp"

namespace crfkit::CRFKIT_ARCH {

// Tables for the semirings of a task; `scores` serve log space, which sums need only as a fallback.
struct Prepared {
  Tables probabilities, scores;
  ListedSteps listed;  // where they serve
  Tables by_pairs;     // probabilities of these
  BestSteps best;

  Prepared(const Problem& p, const Task& t);
};

struct Call {
  const Problem& problem;
  const Task& task;
  const Prepared& prepared;
  double* pooled;
  Arena& arena;

  double* expected(std::int64_t n) const { return task.expected ? task.expected + n : nullptr; }
  bool wants_gradients() const { return pooled != nullptr; }
  std::int64_t positions() const { return problem.seq_ptr[problem.sequences]; }
  // For sums over so many lanes of at most `longest` positions.  Listed steps have no gradients of
  // others; a listed step of a vector of lanes costs about 4 W cells of dense ones (17 us a
  // position against 43 for one lane of 472 labels, 8,020 steps listed; 0.6 against 0.2 for 40 and
  // 160). Cells take the room of kStripe lanes even for one, which must not be too much.
  const Tables& probabilities(int lanes, std::int64_t longest) const {
    constexpr double most = 256e6;  // bytes
    const double L = problem.labels, count = static_cast<double>(prepared.listed.pairs().count),
                 vectors = (lanes + W - 1) / W;
    const bool faster = lanes * L * L > vectors * 4 * W * (count + 4 * L),
               fits = 3.0 * 8.0 * kStripe * L * static_cast<double>(longest) <= most,
               able = !wants_gradients() || task.gradients.no_steps;
    return prepared.by_pairs.count > 0 && able && faster && fits ? prepared.by_pairs
                                                                 : prepared.probabilities;
  }

  template <class Structure>
  Structure structure(std::int64_t sequence) const {
    return Structure(problem, task, pooled, sequence, arena);
  }

  void no_path(std::int64_t n, int i) const {
    std::int32_t* path = task.path + i * positions();
    for (std::int64_t p = problem.seq_ptr[n]; p < problem.seq_ptr[n + 1]; ++p) path[p] = -1;
  }
  template <class Structure>
  void emit(const Structure& s, const std::int64_t* cell, int i) const {
    s.emit(cell, task.path + i * positions(), task.begin ? task.begin + i * positions() : nullptr);
  }
};

}  // namespace crfkit::CRFKIT_ARCH
