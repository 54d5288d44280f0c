// The perceptron and its kin: passes over the sequences in a native loop (perceptron.hpp has the
// formulas).
#pragma once

#include <memory>

#include "engine/handles.hpp"
#include "engine/sequential/learner.hpp"
#include "shared/kernels.hpp"
#include "shared/learned.hpp"

namespace crfkit {

class MistakeTrainer {
 public:
  MistakeTrainer(const Labeled& data, int remedy, bool averaged, int margin, int kbest, double most,
                 double slack, double gamma)
      : learner_(data, averaged || remedy == static_cast<int>(Remedy::confidence)) {
    if (remedy < 0 || remedy > 3)
      refuse("remedy: expected 0 (perceptron), 1 (passive), 2 (confidence) or 3 (bounded)");
    if (margin < 0 || margin > 2) refuse("margin: expected 0 (one), 1 (root) or 2 (errors)");
    if (kbest < 1 || (kbest > 1 && remedy != static_cast<int>(Remedy::passive)))
      refuse("kbest must be 1 or more, and 1 unless the remedy is 1 (passive)");
    if (!(most > 0.0 && slack >= 0.0 && gamma > 0.0))
      refuse("most and gamma must be above 0, slack 0 or more");
    if (data.share) refuse("weights of sequences: mistakes are learned from in full");
    sequences_ = learner_.compile(data);
    learner_.show(m_);
    learner_.show(*sequences_, m_);
    m_.remedy = static_cast<Remedy>(remedy);
    m_.averaged = averaged && m_.remedy != Remedy::confidence;
    m_.margin = static_cast<Margin>(margin);
    m_.kbest = kbest;
    m_.most = most;
    m_.slack = slack;
    m_.gamma = gamma;
  }

  // One pass, which begins with sequence number `seen`, counted from 1.  Returns the sum of the
  // losses; when it is not finite, the weights are spoilt.  `spent` and `right` [N] are kept by
  // the caller for the remedy bounded; others leave them alone.
  double run(const Kernels& kernels, Pointers order, std::int64_t seen, Written spent,
             Written right) {
    sequences_->check_order(order);
    if (m_.remedy == Remedy::bounded) {
      const auto each = static_cast<std::size_t>(sequences_->data.sequences());
      if (spent.size() != each || right.size() != each)
        refuse("spent and right: expected a number for each sequence");
    }
    m_.spent = spent.data();
    m_.right = right.data();
    m_.seen = seen;
    return kernels.learn->mistake_pass(m_, order.data(), static_cast<std::int64_t>(order.size()),
                                       make_scratch(kernels).get());
  }

  void read(Written out) const { learner_.read(out); }
  void write(Reals in) { learner_.write(in); }
  void read_memory(Written out) const { learner_.read_memory(out); }
  void write_memory(Reals in) { learner_.write_memory(in); }

 private:
  Learner learner_;
  std::unique_ptr<CompiledSequences> sequences_;
  Mistakes m_ = {};
};

}  // namespace crfkit
