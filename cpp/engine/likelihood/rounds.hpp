// Rounds of blocks that take turns in the same rows of scores, so that these have bounded memory.
//
// The rows of a round are those of its positions, then those of its partial sums.  Rows of the
// table and loose attributes get gradients from several rounds: those of the rounds before the last
// are listed round by round, and the index over all of them keeps those of the last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/linear/index.hpp"

namespace crfkit {

struct Stretch {
  std::int64_t first, last;

  std::int64_t size() const { return last - first; }
};

// Ranges of about `most` work each; work(i) is that of one.
template <class Work>
std::vector<Stretch> cut(Stretch all, std::int64_t most, Work work) {
  std::vector<Stretch> ranges;
  std::int64_t sum = 0, begin = all.first;
  for (std::int64_t i = all.first; i < all.last; ++i) {
    sum += work(i);
    if (sum < most && i + 1 < all.last) continue;
    ranges.push_back({begin, i + 1});
    begin = i + 1, sum = 0;
  }
  return ranges;
}

// Gradients that things of several rounds get in one of them.
struct RoundGradients {
  std::vector<std::int32_t> thing;  // rising: those that the round has
  Index gradients;                  // their rows in the round, by entry of `thing`
  std::vector<Stretch> tasks;       // of entries

  void add(std::int64_t i, std::int64_t row, const double* value) {
    if (gradients.ptr.empty()) gradients.ptr.push_back(0);
    if (thing.empty() || thing.back() != i) {
      thing.push_back(static_cast<std::int32_t>(i));
      gradients.ptr.push_back(gradients.ptr.back());
    }
    ++gradients.ptr.back();
    gradients.add(row, value);
  }

  template <class Self, class Archive>
  static void each_part(Self& self, Archive& archive) {
    archive(self.thing), archive(self.gradients), archive(self.tasks);
  }
};

struct Round {
  Stretch block, position, partial;
  RoundGradients slots = {}, loose = {};  // of all rounds but the last

  std::int64_t rows() const { return position.size() + partial.size(); }
  // The row of partial sum 0, were it of this round.
  std::int64_t partial_row() const { return position.size() - partial.first; }

  template <class Self, class Archive>
  static void each_part(Self& self, Archive& archive) {
    archive(self.block), archive(self.position), archive(self.partial);
    archive(self.slots), archive(self.loose);
  }
};

// Consecutive sequences of about equal numbers of positions: `wanted` ranges at the most.
inline std::vector<Stretch> cut_sequences(std::int64_t sequences, const std::int64_t* seq_ptr,
                                          std::int64_t wanted) {
  const std::int64_t positions = seq_ptr[sequences];
  if (wanted == 1) return {{0, sequences}};
  wanted = std::min(wanted, sequences);
  return cut({0, sequences}, (positions + wanted - 1) / wanted,
             [&](std::int64_t n) { return seq_ptr[n + 1] - seq_ptr[n]; });
}

// Turns positions, and partial sums from `positions` on, into rows of their rounds.  Of the things
// from `shared` on, what rounds before the last have moves to `part` of these.
inline void split(Index& index, std::int64_t positions, std::int64_t shared,
                  RoundGradients Round::* part, std::vector<Round>& rounds, std::int64_t task) {
  const auto at = [&](std::int64_t p) {
    return std::partition_point(rounds.begin(), rounds.end(), [&](const Round& r) {
      return p < positions ? r.position.last <= p : r.partial.last <= p - positions;
    });
  };
  Index kept;
  kept.ptr.push_back(0);
  for (std::int64_t i = 0; i < index.size(); ++i) {
    for (std::int64_t j = index.ptr[i]; j < index.ptr[i + 1]; ++j) {
      const std::int64_t p = index.position[j];
      const double* value = index.value.empty() ? nullptr : &index.value[j];
      const auto round = at(p);
      const std::int64_t row =
          p < positions ? p - round->position.first : p - positions + round->partial_row();
      if (i < shared || round + 1 == rounds.end()) {
        kept.add(row, value);
      } else {
        ((*round).*part).add(i, row, value);
      }
    }
    kept.close();
  }
  kept.end();
  index = std::move(kept);
  for (Round& round : rounds) {
    if (!part) break;
    RoundGradients& made = round.*part;
    made.gradients.end();
    made.tasks = cut({0, static_cast<std::int64_t>(made.thing.size())}, task,
                     [&](std::int64_t i) { return 3 + made.gradients.count(i); });
  }
}

}  // namespace crfkit
