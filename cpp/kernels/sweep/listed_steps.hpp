// The steps of a chain of order 1 that have not the score of most others, found in a shared table.
#pragma once

#include "kernels/sweep/structure.hpp"

namespace crfkit::CRFKIT_ARCH {

class ListedSteps {
 public:
  static bool covers(const Problem& p) {
    return p.shape == Shape::chain && p.order == 1 && p.edge_step == 0;
  }

  ListedSteps(const Problem& p, bool wanted) : L_(p.labels) {
    if (!wanted || !covers(p) || L_ < kFewest) return;
    const double* score = p.edge[0];
    const std::int64_t cells = static_cast<std::int64_t>(L_) * L_;
    std::int64_t votes = 0, count = 0;  // Boyer & Moore: whoever has most of the cells remains
    for (std::int64_t c = 0; c < cells; ++c) {
      if (votes == 0) common_ = score[c];
      votes += score[c] == common_ ? 1 : -1;
    }
    for (std::int64_t c = 0; c < cells; ++c) count += score[c] != common_;
    if (count * kShare <= cells) list(score, count);
  }

  // False where too many steps differ, or there are few labels.
  bool made() const { return pairs_.ptr != nullptr; }
  double common() const { return common_; }
  const Pairs& pairs() const { return pairs_; }

 private:
  static constexpr int kFewest = 32;  // labels, below which dense steps are as quick
  static constexpr int kShare = 8;    // listed steps are at most a kShare-th of all

  void list(const double* score, std::int64_t count) {
    std::int32_t* ptr = arena_.take<std::int32_t>(static_cast<std::size_t>(L_) + 2, 0);
    std::int32_t* from = arena_.take<std::int32_t>(static_cast<std::size_t>(count));
    const auto visit = [&](auto see) {
      const double* s = score;
      for (int i = 0; i < L_; ++i)
        for (int j = 0; j < L_; ++j, ++s)
          if (*s != common_) see(i, j);
    };
    visit([&](int, int j) { ++ptr[j + 2]; });
    for (int j = 0; j < L_; ++j) ptr[j + 2] += ptr[j + 1];
    visit([&](int i, int j) { from[ptr[j + 1]++] = i; });
    pairs_ = {count, ptr, from};
  }

  Arena arena_;
  int L_;
  double common_ = kZero;
  Pairs pairs_ = {};
};

}  // namespace crfkit::CRFKIT_ARCH
