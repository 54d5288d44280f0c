// How the edge attributes of a batch are laid out for the evaluations of its likelihood: made once.
//
// Occurrences are listed in the order of the sweep; those of first positions enter no step and are
// left out.  The gradients of a row that one block alone has go straight to the gradient.  A row of
// several blocks has a partial sum in each of them, and these are added in the order of the blocks.
// Blocks of a round (rounds.hpp) whose partial sums fit into kPartials together form a turn: it is
// evaluated and its partial sums are added up before the next one begins, so that memory is bounded
// whatever the data and a sum has the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/likelihood/archive.hpp"
#include "engine/likelihood/rounds.hpp"
#include "engine/linear/index.hpp"
#include "shared/evaluation.hpp"

namespace crfkit {

class EdgeLayout {
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
  explicit EdgeLayout(const std::vector<Round>& rounds);

  // `source`: positions in the order of the sweep; `rows` has the cells of a table as columns.
  EdgeLayout(const Occurrences& o, const Rows& rows, int labels, std::int64_t sequences,
             const std::int64_t* seq_ptr, const std::vector<std::int32_t>& source,
             const std::vector<Block>& block, const std::vector<Round>& rounds);

  // The layout that `each_part` wrote, with the same rows.
  EdgeLayout(ArchiveReader& from, const Rows& rows) : rows_(rows) { each_part(*this, from); }

  // Everything that is made here, but for rows_.
  template <class Self, class Archive>
  static void each_part(Self& self, Archive& archive) {
    const auto each = [&](auto&... parts) { (archive(parts), ...); };
    each(self.lists_.ptr, self.lists_.id, self.lists_.value, self.attribute_, self.target_);
    each(self.cell_, self.partial_, self.attributes_, self.partial_size_, self.turns_);
  }

  bool any() const { return !lists_.id.empty(); }
  bool has_values() const { return !lists_.value.empty(); }
  std::vector<EdgeRow> rows() const;
  std::int64_t weights() const { return rows_.ptr ? rows_.ptr[rows_.attributes] : 0; }
  std::int64_t partial_size() const { return partial_size_; }
  const std::vector<Turn>& turns() const { return turns_; }
  const std::vector<Stretch>& attribute_tasks() const { return attributes_; }
  Stretch partial(std::int64_t block) const { return partial_[block]; }

  // What the kernels see, still without weights and results.
  EdgeRows view() const;

  // Adds the partial sums of a task to the gradient of the edge weights.
  void add(const Turn& turn, const Stretch& task, const double* partial, double* gradient) const;

 private:
  void list(const Occurrences& o, std::int64_t sequences, const std::int64_t* seq_ptr,
            const std::vector<std::int32_t>& source);

  // Where the gradients of each occurrence go, and the turns.
  void place(const std::vector<Block>& block, const std::vector<Round>& rounds);

  void cut_sums(Turn& turn) const;

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
