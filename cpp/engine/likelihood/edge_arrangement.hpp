// How the edge attributes of a batch are laid out for the evaluations of its likelihood: made once.
//
// Occurrences are listed in the order of the sweep; those of first positions enter no step and are
// left out.  The credits of a row that one block alone has go straight to the gradient.  A row of
// several blocks has a partial sum in each of them, and these are added in the order of the blocks.
// Blocks of a round (rounds.hpp) whose partial sums fit into kPartials together form a turn: it is
// evaluated and its partial sums are added up before the next one begins, so that memory is bounded
// whatever the data and a sum has the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/likelihood/archive.hpp"
#include "engine/likelihood/rounds.hpp"
#include "engine/linear/index.hpp"
#include "shared/evaluation.hpp"
#include "shared/padded.hpp"

namespace crfkit {

class EdgeArrangement {
 public:
  static constexpr std::int64_t kPartials = 1 << 23;  // doubles of a turn: 64 MB
  static constexpr std::int64_t kTask = 1 << 16;      // doubles added by a task

  struct Sum {
    std::int32_t attribute;
    std::int64_t partial;
  };
  struct Turn {
    Stretch blocks;
    std::vector<Sum> sums;       // by attribute, then by block
    std::vector<Stretch> tasks;  // of sums, never within an attribute

    template <class Self, class Archive>
    static void each_part(Self& self, Archive& archive) {
      archive(self.blocks), archive(self.sums), archive(self.tasks);
    }
  };

  // Without edge attributes: each round is one turn.
  explicit EdgeArrangement(const std::vector<Round>& rounds) {
    for (const Round& round : rounds) turns_.push_back({round.block, {}, {}});
    partial_.resize(rounds.empty() ? 0 : rounds.back().block.last);
  }

  // `source`: positions in the order of the sweep; `rows` has the cells of a table as columns.
  EdgeArrangement(const Occurrences& o, const Rows& rows, int labels, std::int64_t sequences,
                  const std::int64_t* seq_ptr, const std::vector<std::int32_t>& source,
                  const std::vector<Block>& block, const std::vector<Round>& rounds)
      : rows_(rows), partial_(block.size() - 1) {
    list(o, sequences, seq_ptr, source);
    const int step = padded(labels);
    cell_.reserve(weights());
    for (std::int64_t k = 0; k < weights(); ++k) {
      const int from = rows.column[k] / labels, to = rows.column[k] % labels;
      cell_.push_back(
          {from * step + to, static_cast<std::int16_t>(from), static_cast<std::int16_t>(to)});
    }
    attribute_.assign(lists_.id.size() + 2 * kAhead, 0);
    std::copy(lists_.id.begin(), lists_.id.end(), attribute_.begin() + kAhead);
    place(block, rounds);
    for (std::int64_t a = 0; a < rows.attributes;) {
      const std::int64_t first = a;
      while (a < rows.attributes && rows.ptr[a] - rows.ptr[first] < kTask) ++a;
      attributes_.push_back({first, a});
    }
  }

  // The arrangement that `each_part` wrote, with the same rows.
  EdgeArrangement(ArchiveReader& from, const Rows& rows) : rows_(rows) { each_part(*this, from); }

  // Everything that is made here, but for rows_.
  template <class Self, class Archive>
  static void each_part(Self& self, Archive& archive) {
    const auto each = [&](auto&... parts) { (archive(parts), ...); };
    each(self.lists_.ptr, self.lists_.id, self.lists_.value, self.attribute_, self.target_);
    each(self.cell_, self.partial_, self.attributes_, self.partial_size_, self.turns_);
  }

  bool any() const { return !lists_.id.empty(); }
  bool has_values() const { return !lists_.value.empty(); }
  std::vector<EdgeRow> rows() const {
    std::vector<EdgeRow> rows(rows_.attributes);
    for (std::int64_t a = 0; a < rows_.attributes; ++a)
      rows[a] = {rows_.ptr[a], rows_.ptr[a + 1] - rows_.ptr[a], 0.0, 0.0};
    return rows;
  }
  std::int64_t weights() const { return rows_.ptr ? rows_.ptr[rows_.attributes] : 0; }
  std::int64_t partial_size() const { return partial_size_; }
  const std::vector<Turn>& turns() const { return turns_; }
  const std::vector<Stretch>& attribute_tasks() const { return attributes_; }
  Stretch partial(std::int64_t block) const { return partial_[block]; }

  // What the kernels see, still without weights and results.
  EdgeRows view() const {
    EdgeRows e = {};
    if (!any()) return e;
    e.ptr = lists_.ptr.data();
    e.attribute = attribute_.data() + kAhead;
    e.value = has_values() ? lists_.value.data() : nullptr;
    e.target = target_.data();
    e.cell = cell_.data();
    return e;
  }

  // Adds the partial sums of a task to the gradient of the edge weights.
  void add(const Turn& turn, const Stretch& task, const double* partial, double* gradient) const {
    for (std::int64_t i = task.first; i < task.last; ++i) {
      const std::int64_t first = rows_.ptr[turn.sums[i].attribute];
      const std::int64_t count = rows_.ptr[turn.sums[i].attribute + 1] - first;
      const double* from = partial + turn.sums[i].partial;
      for (std::int64_t k = 0; k < count; ++k) gradient[first + k] += from[k];
    }
  }

 private:
  void list(const Occurrences& o, std::int64_t sequences, const std::int64_t* seq_ptr,
            const std::vector<std::int32_t>& source) {
    std::vector<bool> begins(source.size() + 1, false);
    for (std::int64_t n = 0; n < sequences; ++n) begins[seq_ptr[n]] = true;
    for (const std::int32_t p : source) {
      for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1] && !begins[p]; ++i) {
        const std::int32_t a = o.attr[i];
        if (static_cast<std::uint32_t>(a) < static_cast<std::uint64_t>(rows_.attributes) &&
            rows_.ptr[a] < rows_.ptr[a + 1])
          lists_.add(a, o.value ? o.value + i : nullptr);
      }
      lists_.close();
    }
  }

  // Where the credits of each occurrence go, and the turns.
  void place(const std::vector<Block>& block, const std::vector<Round>& rounds) {
    const std::int64_t blocks = static_cast<std::int64_t>(block.size()) - 1;
    const auto first = [&](std::int64_t b) { return lists_.ptr[block[b].position]; };
    constexpr std::int64_t kNowhere = -1, kEverywhere = -2;
    std::vector<std::int64_t> home(rows_.attributes, kNowhere);
    for (std::int64_t b = 0; b < blocks; ++b)
      for (std::int64_t i = first(b); i < first(b + 1); ++i) {
        std::int64_t& at = home[lists_.id[i]];
        at = at == kNowhere || at == b ? b : kEverywhere;
      }
    std::vector<std::int64_t> offset(rows_.attributes, 0), met(rows_.attributes, kNowhere);
    target_.assign(lists_.id.size(), -1);
    std::int64_t used = 0;
    turns_.push_back({{0, 0}, {}, {}});
    auto round = rounds.begin();
    for (std::int64_t b = 0; b < blocks; ++b) {
      std::vector<Sum> sums;
      std::int64_t size = 0;
      for (std::int64_t i = first(b); i < first(b + 1); ++i) {
        const std::int32_t a = lists_.id[i];
        if (home[a] != kEverywhere) continue;
        if (met[a] != b) {
          met[a] = b, offset[a] = size;
          sums.push_back({a, size});
          size += rows_.ptr[a + 1] - rows_.ptr[a];
        }
        target_[i] = offset[a];
      }
      const bool begins = b == round->block.last;
      round += begins;
      if (begins || (used > 0 && used + size > kPartials)) {
        turns_.push_back({{b, b}, {}, {}});
        used = 0;
      }
      for (std::int64_t i = first(b); i < first(b + 1); ++i)
        if (target_[i] >= 0) target_[i] += used;
      for (const Sum& sum : sums) turns_.back().sums.push_back({sum.attribute, sum.partial + used});
      turns_.back().blocks.last = b + 1;
      partial_[b] = {used, used + size};
      used += size;
      partial_size_ = std::max(partial_size_, used);
    }
    for (Turn& turn : turns_) cut_sums(turn);
  }

  void cut_sums(Turn& turn) const {
    std::vector<Sum>& sums = turn.sums;
    std::stable_sort(sums.begin(), sums.end(),
                     [](const Sum& x, const Sum& y) { return x.attribute < y.attribute; });
    const std::int64_t count = static_cast<std::int64_t>(sums.size());
    std::int64_t work = 0, begin = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t a = sums[i].attribute;
      work += rows_.ptr[a + 1] - rows_.ptr[a];
      if (i + 1 < count && (work < kTask || sums[i + 1].attribute == a)) continue;
      turn.tasks.push_back({begin, i + 1});
      begin = i + 1, work = 0;
    }
  }

  Rows rows_ = {};
  Lists lists_;                          // edge attributes by position
  std::vector<std::int32_t> attribute_;  // the same with room on both sides
  std::vector<std::int64_t> target_;     // [occurrences]
  std::vector<EdgeCell> cell_;           // [edge weights]
  std::vector<Stretch> partial_;         // [blocks] places of their partial sums
  std::vector<Stretch> attributes_;      // tasks of about equal numbers of weights
  std::int64_t partial_size_ = 0;
  std::vector<Turn> turns_;
};

}  // namespace crfkit
