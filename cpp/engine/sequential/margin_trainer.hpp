// Max-margin in the dual: the labelings of each sequence and their shares, and visits in a native
// loop (margin.hpp has the formulas).
#pragma once

#include <memory>
#include <vector>

#include "engine/sequential/learner.hpp"
#include "shared/kernels.hpp"
#include "shared/learned.hpp"

namespace crfkit {

class MarginTrainer {
 public:
  MarginTrainer(const Labeled& data, double inverse, double small_inverse);

  // Visits in this order, the first as number `seen`, or only finds their gaps; gaps [order].
  // False where some scores are not finite: the weights are spoilt.
  bool run(const Kernels& kernels, Pointers order, std::int64_t seen, bool learns, Written gaps);

  void read(Written out) const { learner_.read(out); }
  void read_memory(Written out) const { learner_.read_memory(out); }
  double cost() const;

  // ---- the state: labelings of all sequences one after the other

  struct State {
    std::vector<std::int32_t> count, room, path;
    std::vector<double> share, cost, gram;
  };
  State state() const;
  void restore(Reals w, Reals memory, Integers count, Integers room, Integers path, Reals share,
               Reals cost, Reals gram);

 private:
  struct Held {
    std::vector<std::int32_t> path;
    std::vector<double> share, cost, gram;
  };

  std::int64_t length(std::size_t n) const;
  template <class T>
  static const T* taken(const T* from, std::int64_t n, T* to);

  // Forgets labelings without a share; where most have one, there is twice the room.
  void make_room(std::size_t n);

  // Moves a set, with what it holds, to where it has room for so many labelings.
  void give_room(std::size_t n, std::int32_t room);

  Learner learner_;
  std::unique_ptr<CompiledSequences> sequences_;
  std::vector<Held> held_;
  std::vector<WorkingSet> sets_;
  Margins m_ = {};
};

}  // namespace crfkit
