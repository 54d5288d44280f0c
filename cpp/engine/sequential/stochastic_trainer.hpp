// Stochastic training: passes over the sequences in native loops (sgd.hpp has the formulas).
#pragma once

#include <memory>
#include <vector>

#include "engine/sequential/learner.hpp"
#include "shared/stochastic.hpp"

namespace crfkit {

// The weights, and what the rule remembers of them; the sequences are given with each call, so that
// they need not be in memory all at once.
class StochasticTrainer {
 public:
  // Of the data only the layout is taken.
  StochasticTrainer(const Labelled& data, int rule)
      : learner_(data, rule != static_cast<int>(Rule::decayed)) {
    if (rule < 0 || rule > 2) refuse("rule: expected 0 (decayed), 1 (cumulative) or 2 (adaptive)");
    s_.rule = static_cast<Rule>(rule);
    learner_.show(s_);
    if (s_.rule == Rule::adaptive) {
      gradient_ = learner_.make_tables();
      s_.gradient = learner_.beside(*gradient_);
      row_time_.assign(s_.rows, 0);
      cell_time_.assign(s_.cells, 0);
    }
    s_.row_time = row_time_.data();
    s_.cell_time = cell_time_.data();
    s_.scale = 1.0;
  }

  std::unique_ptr<CompiledSequences> compile(const Labelled& data) const {
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
    sequences.entries.show(s_.gradient);
    s_.share = data_or_null(sequences.data.share);
    sequences.check_order(order);
    s_.l1 = strengths[0];
    s_.l2 = strengths[1];
    s_.small_l1 = strengths[2];
    s_.small_l2 = strengths[3];
    s_.offset = offset;
    s_.due = due[0];
    s_.small_due = due[1];
    const Handle scratch = make_scratch(kernels);
    const double loss =
        kernels.stochastic_visits(s_, order.data(), rate.data(), count, scratch.get());
    due[0] = s_.due;
    due[1] = s_.small_due;
    return loss;
  }

  // Ends a pass.
  void settle(const Kernels& kernels) {
    kernels.stochastic_settle(s_, make_scratch(kernels).get());
  }

  void read(Written out) const { learner_.read(out); }
  void read_memory(Written out) const { learner_.read_memory(out); }
  void write(Reals in) {
    learner_.write(in);
    s_.scale = 1.0;
    s_.time = 0;
    row_time_.assign(row_time_.size(), 0);
    cell_time_.assign(cell_time_.size(), 0);
    if (gradient_)
      gradient_->write(std::vector<double>(learner_.data().node_weights(), 0.0).data());
  }
  void write_memory(Reals in) { learner_.write_memory(in); }

 private:
  Learner learner_;
  std::unique_ptr<Compiled> gradient_;
  std::vector<std::int64_t> row_time_, cell_time_;
  Stochastic s_ = {};
};

}  // namespace crfkit
