// Stochastic training for Python: passes over the sequences in native loops.
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <memory>
#include <vector>

#include "compiled.hpp"
#include "kernels.hpp"
#include "labelled.hpp"

namespace crfkit {
namespace {

// Labelled sequences, and the places of their weights in the tables of a trainer.
struct CompiledSequences {
  const void* trainer;
  Labelled data;
  Entries entries;
};

// The weights, and what the rule remembers of them; the sequences are given with each call, so that
// they need not be in memory all at once.
class StochasticTrainer {
 public:
  // Of the data only the layout is taken.
  StochasticTrainer(const Labelled& data, int rule) : data_(data) {
    if (rule < 0 || rule > 2) refuse("rule: expected 0 (decayed), 1 (cumulative) or 2 (adaptive)");
    s_.rule = static_cast<Rule>(rule);
    const std::int64_t L = data_.labels, step = (L + 7) / 8 * 8, size = (L + 2) * step;
    {
      nb::gil_scoped_release release;
      weight_ = make_tables();
      if (s_.rule != Rule::decayed) memory_ = make_tables();
      if (s_.rule == Rule::adaptive) gradient_ = make_tables();
      for (std::vector<double>* small : {&small_, &small_memory_, &exists_})
        small->assign(size, 0.0);
    }
    data_.visit_small([&](std::int64_t, std::int64_t i, int j) { exists_[i * step + j] = 1.0; });
    s_.weight = weight_->view();
    s_.rows = weight_->rows();
    s_.cells = weight_->cells();
    s_.memory = beside(memory_.get());
    s_.gradient = beside(gradient_.get());
    if (gradient_) {
      row_time_.assign(s_.rows, 0);
      cell_time_.assign(s_.cells, 0);
    }
    s_.row_time = row_time_.data();
    s_.cell_time = cell_time_.data();
    s_.small = small_.data();
    s_.small_memory = small_memory_.data();
    s_.exists = exists_.data();
    s_.forbidden = data_.forbidden ? data_.forbidden->data() : nullptr;
    s_.scale = 1.0;
  }

  // May be called while another thread is at `run`.
  std::unique_ptr<CompiledSequences> compile(const Labelled& data) const {
    data.check_weights(data_.weights());
    if (data.labels != data_.labels || data.attributes() != data_.attributes())
      refuse("these sequences have labels and attributes of another layout");
    auto made = std::make_unique<CompiledSequences>(CompiledSequences{this, data, {}});
    nb::gil_scoped_release release;
    made->entries = weight_->entries(data.occurrences(), data.positions());
    return made;
  }

  // Visits; strengths: l1 and l2 of a step, the same for transitions, start and stop.  `due` [2]
  // goes in and out.  Returns the sum of the losses; when it is not finite, the weights are spoilt.
  double run(const Kernels& kernels, const CompiledSequences& sequences, const Pointers& order,
             const Reals& rate, const Reals& strengths, double offset, const Written& due) {
    const std::int64_t count = static_cast<std::int64_t>(order.size());
    if (sequences.trainer != this) refuse("these sequences were compiled by another trainer");
    if (rate.size() != order.size()) refuse("rate: one per visit");
    if (strengths.size() != 4 || due.size() != 2) refuse("strengths: 4 numbers, due: 2");
    if (s_.rule == Rule::adaptive && !(offset > 0.0)) refuse("offset must be above 0");
    const Labelled& data = sequences.data;
    s_.seq_ptr = data.seq_ptr.data();
    s_.label = data.label.data();
    s_.share = data.share ? data.share->data() : nullptr;
    for (Live* live : {&s_.weight, &s_.memory, &s_.gradient}) sequences.entries.show(*live);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t n = order.data()[i];
      if (n < 0 || n >= data.sequences() || s_.seq_ptr[n] == s_.seq_ptr[n + 1])
        refuse("order: sequence " + std::to_string(n) + " does not exist or is empty");
    }
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

  void read(const Written& out) const { copy_out(*weight_, small_, out); }
  void read_memory(const Written& out) const { copy_out(memory(), small_memory_, out); }
  void write(const Reals& in) {
    copy_in(*weight_, small_, in);
    s_.scale = 1.0;
    s_.time = 0;
    row_time_.assign(row_time_.size(), 0);
    cell_time_.assign(cell_time_.size(), 0);
    if (gradient_) gradient_->write(std::vector<double>(data_.node_weights(), 0.0).data());
  }
  void write_memory(const Reals& in) { copy_in(memory(), small_memory_, in); }

 private:
  struct Scratch : std::unique_ptr<void, void (*)(void*)> {
    explicit Scratch(const Kernels& kernels)
        : unique_ptr(kernels.make_scratch(), kernels.free_scratch) {}
  };

  std::unique_ptr<Compiled> make_tables() const {
    const std::int64_t none = 0;
    return std::make_unique<Compiled>(Occurrences{&none, nullptr, nullptr}, 0, nullptr,
                                      data_.labels, data_.attributes(), data_.row_ptr.data(),
                                      data_.column.data(), false);
  }
  // Tables of their own in the form of those of the weights.
  Live beside(Compiled* tables) const {
    Live live = s_.weight;
    if (!tables) return live;
    const Live own = tables->view();
    live.table = own.table;
    live.cell = own.cell;
    return live;
  }
  Compiled& memory() const {
    if (!memory_) refuse("this rule remembers nothing");
    return *memory_;
  }
  void copy_out(const Compiled& rows, const std::vector<double>& small, const Written& out) const {
    data_.check_weights(out.size());
    rows.read(out.data());
    data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
      out.data()[k] = small[i * s_.weight.step + j];
    });
  }
  void copy_in(Compiled& rows, std::vector<double>& small, const Reals& in) const {
    data_.check_weights(in.size());
    rows.write(in.data());
    data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
      small[i * s_.weight.step + j] = in.data()[k];
    });
  }

  Labelled data_;
  std::unique_ptr<Compiled> weight_, memory_, gradient_;
  std::vector<std::int64_t> row_time_, cell_time_;
  std::vector<double> small_, small_memory_, exists_;
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
      .def("compile", &StochasticTrainer::compile, "data"_a)
      .def("run", &StochasticTrainer::run, "kernels"_a, "sequences"_a, "order"_a, "rate"_a,
           "strengths"_a, "offset"_a, "due"_a)
      .def("settle", &StochasticTrainer::settle, "kernels"_a)
      .def("read", &StochasticTrainer::read, "out"_a)
      .def("write", &StochasticTrainer::write, "weights"_a)
      .def("read_memory", &StochasticTrainer::read_memory, "out"_a)
      .def("write_memory", &StochasticTrainer::write_memory, "memory"_a);
}

}  // namespace crfkit
