// Loss and gradient of the likelihood of one batch, for many weights.
//
// An evaluation fills the table of rows level by level, scores and sums block by block, and gathers
// gradients level by level in the other direction.  Blocks are evaluated round by round
// (rounds.hpp): what a round adds to the gradients of rows and attributes is taken before the next
// one has its rows. Sums of blocks are added in their order: the same bits for any number of
// threads.
#pragma once

#include <memory>

#include "engine/handles.hpp"
#include "engine/likelihood/layout.hpp"
#include "engine/linear/large_pages.hpp"
#include "engine/threads/idle.hpp"

namespace crfkit {

struct Loss {
  double value = 0.0;            // without start, steps and stop of the gold
  bool finite = true;            // false: a score is not, and nothing else holds
  std::int64_t impossible = -1;  // a sequence without a labeling
};

class Evaluator : public EvaluationLayout {
 public:
  template <class... Given>
  explicit Evaluator(Given&&... given) : EvaluationLayout(std::forward<Given>(given)...) {
    std::int64_t rows = 0, blocks = 0;
    for (const Round& round : rounds_) {
      rows = std::max(rows, round.rows());
      blocks = std::max(blocks, round.block.size());
    }
    pooled_.resize(blocks);
    node_ = std::make_unique<AlignedBuffer<>>(rows * step_);
    table_ = std::make_unique<AlignedBuffer<>>(slots() * step_);
    if (rounds() > 1) sums_ = std::make_unique<AlignedBuffer<>>(slots() * step_);
    value_.resize(length_.size());
    partial_ = std::make_unique<AlignedBuffer<>>(edges_.partial_size());
    factor_ = std::make_unique<AlignedBuffer<>>(edges_.has_values() ? 0 : edges_.weights());
    edge_rows_ = edges_.rows();
  }
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Scores that all positions share, and where their gradients go, of which the gold's are not yet
  // taken off.
  struct Shared {
    const double *edge, *start, *stop;  // tables of all orders in a row; [L] or null
    const double* length;               // [D, L], for segments only
    double* edge_gradient;              // [steps]
    double *start_gradient, *stop_gradient;
    double* length_gradient;  // or null when they are not wanted
  };

  // Loss and gradient [node and edge weights] at the weights.
  Loss evaluate(const double* weights, const Shared& shared, double* gradient, int threads);

 private:
  Composed composed() const;

  void compose(int threads);

  // Factors and bounds of the edge weights, which follow the node weights; false when one of them
  // is not finite.
  bool weigh_edges(const double* weights, double* gradient, int threads, EdgeRows* edges);

  Loss sum_blocks(const EdgeRows& edges, const Shared& shared, double* gradient, int threads);

  // f(where they begin in pooled sums, rows, columns, where they go): gradients that positions
  // share.
  template <class F>
  void each_gradient(const Shared& shared, F f) const;
  void clear_gradients(const Shared& shared) const;
  // Adds those of the first blocks of pooled_.
  void add_gradients(std::int64_t blocks, const Shared& shared) const;

  void clear_loose(double* gradient, int threads) const;

  // Adds what rows of the table and loose attributes get from a round before the last.
  void add_round(const Round& round, double* gradient, int threads);

  Loose loose(bool add) const { return {loose_.data(), loose_index_.view(), add}; }

  void gather(double* gradient, int threads);

  std::unique_ptr<AlignedBuffer<>> node_, table_;
  std::unique_ptr<AlignedBuffer<>> sums_;  // [slots, step] of earlier rounds; null: one round
  std::unique_ptr<AlignedBuffer<>> partial_, factor_;  // of edge weights
  std::vector<EdgeRow> edge_rows_;                     // [edge attributes]
  std::vector<double> value_;                          // [lanes in all]
  std::vector<std::vector<double>> pooled_;            // by block of a round
  Idle<Handle> idle_;                                  // workspaces
};

}  // namespace crfkit
