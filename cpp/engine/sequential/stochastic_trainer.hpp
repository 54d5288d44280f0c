// Stochastic training: passes over the sequences in native loops (sgd.hpp has the formulas).
#pragma once

#include <memory>
#include <vector>

#include "engine/handles.hpp"
#include "engine/sequential/learner.hpp"
#include "shared/kernels.hpp"
#include "shared/learned.hpp"

namespace crfkit {

// The weights, and what the rule remembers of them; the sequences are given with each call, so that
// they need not be in memory all at once.
class StochasticTrainer {
 public:
  // Of the data only the layout is taken.
  StochasticTrainer(const Labeled& data, int rule)
      : learner_(data, rule != static_cast<int>(Rule::decayed)) {
    if (rule < 0 || rule > 2) refuse("rule: expected 0 (decayed), 1 (cumulative) or 2 (adaptive)");
    s_.rule = static_cast<Rule>(rule);
    learner_.show(s_);
    if (s_.rule == Rule::adaptive) {
      gradient_ = learner_.make_tables();
      node_.show(s_.node, *gradient_.node, s_.node_steps);
      if (s_.edges) edge_.show(s_.edge, *gradient_.edge, s_.edge_steps);
    }
    s_.node_steps.scale = s_.edge_steps.scale = 1.0;
  }

  std::unique_ptr<CompiledSequences> compile(const Labeled& data) const {
    return learner_.compile(data);
  }

  // Visits; strengths: l1 and l2 of a step, the same for transitions, start and stop.  `due` [2]
  // goes in and out.  Returns the sum of the losses; when it is not finite, the weights are spoilt.
  double run(const Kernels& kernels, const CompiledSequences& sequences, Pointers order, Reals rate,
             Reals strengths, double offset, Written due) {
    const std::int64_t count = static_cast<std::int64_t>(order.size());
    if (rate.size() != order.size()) refuse("rate: one per visit");
    if (strengths.size() != 4 || due.size() != 2) refuse("strengths: 4 numbers, due: 2");
    if (s_.rule == Rule::adaptive && !(offset > 0.0)) refuse("offset must be above 0");
    learner_.show(sequences, s_);
    sequences.entries.show(s_.node_steps.gradient);
    if (s_.edges) sequences.edges.show(s_.edge_steps.gradient);
    s_.share = data_or_null(sequences.data.share);
    sequences.check_order(order);
    s_.attributes = {strengths[0], strengths[1], due[0]};
    s_.others = {strengths[2], strengths[3], due[1]};
    s_.offset = offset;
    const Handle scratch = make_scratch(kernels);
    const double loss =
        kernels.learn->stochastic_visits(s_, order.data(), rate.data(), count, scratch.get());
    due[0] = s_.attributes.due;
    due[1] = s_.others.due;
    return loss;
  }

  // Ends a pass.
  void settle(const Kernels& kernels) {
    kernels.learn->stochastic_settle(s_, make_scratch(kernels).get());
  }

  void read(Written out) const { learner_.read(out); }
  void read_memory(Written out) const { learner_.read_memory(out); }
  void write(Reals in) {
    learner_.write(in);
    s_.node_steps.scale = s_.edge_steps.scale = 1.0;
    s_.time = 0;
    node_.clear();
    edge_.clear();
    const Labeled& data = learner_.data();
    if (gradient_) gradient_.write(data, std::vector<double>(data.attribute_weights(), 0.0).data());
  }
  void write_memory(Reals in) { learner_.write_memory(in); }

 private:
  // When the rows of one kind of attributes were up to date.
  struct Times {
    std::vector<std::int64_t> row, cell;

    void show(const LearnedRows& rows, Compiled& gradient, RowSteps& steps) {
      steps.gradient = Learner::beside(rows.weight, gradient);
      row.assign(rows.rows, 0);
      cell.assign(rows.cells, 0);
      steps.row_time = row.data();
      steps.cell_time = cell.data();
    }
    void clear() {
      row.assign(row.size(), 0);
      cell.assign(cell.size(), 0);
    }
  };

  Learner learner_;
  Learner::Held gradient_;
  Times node_, edge_;
  Stochastic s_ = {};
};

}  // namespace crfkit
