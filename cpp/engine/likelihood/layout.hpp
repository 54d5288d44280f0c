// How a batch is laid out for the evaluations of its likelihood: made once.
//
// Sequences become groups of lanes and blocks of groups (evaluation.hpp); the occurrences that
// shared sums leave over (shared_rows.hpp) are laid out in the order of the sweep, those of rows
// that a block has several times as partial sums; blocks form rounds where their rows would take
// more than `row_bytes` (rounds.hpp); loops are cut into tasks.  All of it depends on the data and
// the width of the vectors alone, not on the number of threads.
// A position has a row of scores, and so have beginnings and ends of segments and single segments
// (segment_layout.hpp); P counts all these rows.
#pragma once

#include "engine/likelihood/archive.hpp"
#include "engine/likelihood/edge_layout.hpp"
#include "engine/likelihood/rounds.hpp"
#include "engine/likelihood/segment_layout.hpp"
#include "engine/likelihood/shared_rows.hpp"
#include "engine/linear/index.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

struct Batched {
  std::int64_t sequences;
  const std::int64_t* seq_ptr;  // [N + 1]
  Occurrences occurrences;
  Occurrences edge_occurrences;  // null without edge attributes
  const double* weight;          // [N] or null
  const std::int32_t* label;     // [rows] or null; -1 where the gold does not take a row
  const double* soft;            // [positions, L] or null
  const std::uint8_t* allowed;   // [positions, L] or null
  Pairs pairs;                   // [count 0, null]: any step may have a score of its own
  SegmentPlaces segments;        // which rows the occurrences have beyond those of positions

  std::int64_t rows() const {
    return seq_ptr[sequences] * (1 + segments.begins + segments.ends) + segments.count;
  }
};

class EvaluationLayout {
 public:
  static constexpr std::int64_t kTask = 1 << 14;  // rows added by a task
  static constexpr std::int32_t kSeveral = 3;     // occurrences that make a partial sum
  // Blocks of a round where there are several.  Smaller blocks have fewer rows several times: a
  // quarter of Brown takes 2 % longer than in one round, with 32 blocks 7 %, with 64 15 %.
  static constexpr std::int64_t kRound = 16;

  // The rows of the layout, as yet without weights.
  EvaluationLayout(const Kernels& kernels, const Batched& batch, int order, const Rows& rows,
                   const Rows& edge_rows, std::int64_t table_bytes, std::int64_t row_bytes);

  // The layout that `pack` wrote, with the same rows and the same soft or allowed gold.
  EvaluationLayout(const Kernels& kernels, ArchiveReader from, int order, const double* soft,
                   const std::uint8_t* allowed, const Rows& rows, const Rows& edge_rows);

  void pack(ArchiveWriter& to) const;

  std::int64_t score_rows() const { return static_cast<std::int64_t>(source_.size()); }
  // Those of the batch, of which soft and allowed gold have a row each.
  std::int64_t positions() const { return longest() ? segments_.nodes() : score_rows(); }
  int longest() const { return segments_.longest(); }
  int order() const { return order_; }
  // Cells of the tables of all orders: [L, L], [L, L, L] and so on.
  std::int64_t ngrams() const;
  std::int64_t slots() const { return slots_.size(); }
  // Gradients of steps: of pairs where they are given, else of the cells of all tables.
  std::int64_t steps() const {
    return pair_ptr_.empty() ? ngrams() : static_cast<std::int64_t>(pair_from_.size());
  }
  std::int64_t rows_left() const { return left_.ptr.back(); }
  std::int64_t rounds() const { return static_cast<std::int64_t>(rounds_.size()); }

 protected:
  bool sparse() const { return !pair_ptr_.empty(); }
  // Doubles of the pooled sums of a block: start, stop, tables or pairs, and lengths.
  std::int64_t pooled_size() const;

  const Kernels& kernels_;
  int order_, L_, step_;
  Rows rows_;
  Slots slots_;

  std::vector<std::int32_t> pair_ptr_, pair_from_;  // empty, or as in Pairs

  std::vector<Group> group_;
  std::vector<Block> block_;            // [blocks + 1]
  std::vector<std::int64_t> sequence_;  // [lanes in all]
  std::vector<std::int32_t> length_;    // [lanes in all]
  std::vector<double> weight_;          // [lanes in all]
  std::vector<std::int32_t> source_;    // [P] position in the batch
  std::vector<std::int32_t> label_;     // [P] or empty
  Gold gold_ = {};

  Lists left_;                                       // slots by position
  std::vector<std::int64_t> single_ptr_, full_ptr_;  // [P + 1]
  std::vector<std::int32_t> single_, column_;
  std::vector<std::int64_t> full_;
  std::vector<double> single_value_, full_value_;

  std::vector<std::int32_t> loose_;  // attributes without a row in the table
  Index loose_index_, partials_;
  Index gradients_;                                                 // of slots
  std::vector<std::vector<Stretch>> compose_tasks_, gather_tasks_;  // by level
  std::vector<Stretch> loose_tasks_;
  std::vector<Round> rounds_;  // one at least
  EdgeLayout edges_{std::vector<Round>{}};
  SegmentLayout segments_;

 private:
  // Everything that is made here, but for rows_, edges_, segments_ and gold_.
  template <class Self, class Archive>
  static void each_part(Self& self, Archive& archive);

  // One round where the rows of all take no more than `row_bytes` and the second table that sums
  // over rounds need.
  void order_rows(const Batched& batch, std::int64_t row_bytes);

  // The blocks of some sequences.
  void add_blocks(const Batched& batch, Stretch some, std::vector<std::int32_t>* found);

  void add_group(const Batched& batch, const std::int64_t* sequence, std::int64_t lanes);

  // The occurrences that are left, in the order of the sweep, and who has them.
  void lay_out(const Occurrences& o, const Factoring& f);

  // Room for what is left: growing copies it several times.
  void reserve(const Factoring& f, bool values, Lists* loose);

  void add_loose(std::int32_t a, Reading reading, const double* value);

  std::int64_t first_row(std::int64_t b) const { return block_[b].position; }

  // Attributes without a row in the table: first those that occur in one block alone, by block.
  void order_loose(const Factoring& f);

  // Rows that a block has kSeveral times or more become partial sums, counted from P on.
  void index_slots();

  void split_rounds();

  void cut_tasks();
};

}  // namespace crfkit
