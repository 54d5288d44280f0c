// Stochastic training for Python: passes over the sequences in native loops.
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <vector>

#include "python/learner.hpp"
#include "shared/kernels.hpp"

namespace crfkit {
namespace {

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
  double run(const Kernels& kernels, const CompiledSequences& sequences, const Pointers& order,
             const Reals& rate, const Reals& strengths, double offset, const Written& due) {
    const std::int64_t count = static_cast<std::int64_t>(order.size());
    if (rate.size() != order.size()) refuse("rate: one per visit");
    if (strengths.size() != 4 || due.size() != 2) refuse("strengths: 4 numbers, due: 2");
    if (s_.rule == Rule::adaptive && !(offset > 0.0)) refuse("offset must be above 0");
    learner_.show(sequences, s_);
    sequences.entries.show(s_.gradient);
    s_.share = sequences.data.share ? sequences.data.share->data() : nullptr;
    sequences.check_order(order);
    s_.l1 = strengths.data()[0];
    s_.l2 = strengths.data()[1];
    s_.small_l1 = strengths.data()[2];
    s_.small_l2 = strengths.data()[3];
    s_.offset = offset;
    s_.due = due.data()[0];
    s_.small_due = due.data()[1];
    double loss;
    {
      nb::gil_scoped_release release;
      const Scratch scratch(kernels);
      loss = kernels.stochastic_visits(s_, order.data(), rate.data(), count, scratch.get());
    }
    due.data()[0] = s_.due;
    due.data()[1] = s_.small_due;
    return loss;
  }

  // Ends a pass.
  void settle(const Kernels& kernels) {
    nb::gil_scoped_release release;
    kernels.stochastic_settle(s_, Scratch(kernels).get());
  }

  void read(const Written& out) const { learner_.read(out); }
  void read_memory(const Written& out) const { learner_.read_memory(out); }
  void write(const Reals& in) {
    learner_.write(in);
    s_.scale = 1.0;
    s_.time = 0;
    row_time_.assign(row_time_.size(), 0);
    cell_time_.assign(cell_time_.size(), 0);
    if (gradient_)
      gradient_->write(std::vector<double>(learner_.data().node_weights(), 0.0).data());
  }
  void write_memory(const Reals& in) { learner_.write_memory(in); }

 private:
  Learner learner_;
  std::unique_ptr<Compiled> gradient_;
  std::vector<std::int64_t> row_time_, cell_time_;
  Stochastic s_ = {};
};

}  // namespace

void bind_sgd(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Labelled>(m, "Labelled")
      .def(nb::init<const Pointers&, const Pointers&, const Integers&, const std::optional<Reals>&,
                    const Integers&, int, const Pointers&, const Integers&, const Integers&, bool,
                    bool, const std::optional<Reals>&, const std::optional<Reals>&>(),
           "seq_ptr"_a, "attr_ptr"_a, "attr"_a, "value"_a.none(), "label"_a, "labels"_a,
           "row_ptr"_a, "column"_a, "transition_cell"_a, "start"_a, "stop"_a, "weight"_a.none(),
           "forbidden"_a.none());
  nb::class_<CompiledSequences>(m, "CompiledSequences");
  nb::class_<StochasticTrainer>(m, "StochasticTrainer")
      .def(nb::init<const Labelled&, int>(), "layout"_a, "rule"_a)
      .def("compile", &StochasticTrainer::compile, "data"_a, nb::keep_alive<0, 1>())
      .def("run", &StochasticTrainer::run, "kernels"_a, "sequences"_a, "order"_a, "rate"_a,
           "strengths"_a, "offset"_a, "due"_a)
      .def("settle", &StochasticTrainer::settle, "kernels"_a)
      .def("read", &StochasticTrainer::read, "out"_a)
      .def("write", &StochasticTrainer::write, "weights"_a)
      .def("read_memory", &StochasticTrainer::read_memory, "out"_a)
      .def("write_memory", &StochasticTrainer::write_memory, "memory"_a);
}

}  // namespace crfkit
