// The tables behind a method that learns sequence by sequence, and their way in and out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/handles.hpp"
#include "engine/sequential/compiled.hpp"
#include "engine/sequential/labelled.hpp"
#include "shared/learned.hpp"

namespace crfkit {

class Learner;

// Labelled sequences, and the places of their weights in the tables of a learner.
struct CompiledSequences {
  const Learner* learner;
  Labelled data;
  Entries entries;

  // Raises unless every sequence of an order exists and has a position.
  void check_order(Pointers order) const {
    const std::int64_t* ptr = data.seq_ptr.data();
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t n = order.data()[i];
      if (n < 0 || n >= data.sequences() || ptr[n] == ptr[n + 1])
        refuse("order: sequence " + std::to_string(n) + " does not exist or is empty");
    }
  }
};

// Sequences are given with each call, so that they need not be in memory all at once.
class Learner {
 public:
  // Of the data only the layout is taken.
  Learner(const Labelled& data, bool remembers) : data_(data) {
    data_.check_chains();
    const std::int64_t step = padded(data_.labels);
    weight_ = make_tables();
    if (remembers) memory_ = make_tables();
    for (std::vector<double>* small : {&small_, &small_memory_, &exists_})
      small->assign((data_.labels + 2) * step, 0.0);
    data_.visit_small([&](std::int64_t, std::int64_t i, int j) { exists_[i * step + j] = 1.0; });
  }
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // May be called while another thread visits sequences.
  std::unique_ptr<CompiledSequences> compile(const Labelled& data) const {
    data.check_weights(data_.weights());
    data.check_chains();
    if (data.labels != data_.labels || data.attributes() != data_.attributes())
      refuse("these sequences have labels and attributes of another layout");
    auto made = std::make_unique<CompiledSequences>(CompiledSequences{this, data, {}});
    made->entries = weight_->entries(data.occurrences(), data.positions());
    return made;
  }

  // The tables as the kernels see them.
  void show(Learned& l) {
    l.weight = weight_->view();
    l.memory = memory_ ? beside(*memory_) : l.weight;
    l.rows = weight_->rows();
    l.cells = weight_->cells();
    l.small = small_.data();
    l.small_memory = small_memory_.data();
    l.exists = exists_.data();
    l.forbidden = data_or_null(data_.forbidden);
  }
  // The sequences that are visited next.
  void show(const CompiledSequences& sequences, Learned& l) const {
    if (sequences.learner != this) refuse("these sequences were compiled by another trainer");
    l.seq_ptr = sequences.data.seq_ptr.data();
    l.label = sequences.data.label.data();
    for (Live* live : {&l.weight, &l.memory}) sequences.entries.show(*live);
  }

  // Tables of the form of the weights.
  std::unique_ptr<Compiled> make_tables() const {
    const std::int64_t none = 0;
    return std::make_unique<Compiled>(Occurrences{&none, nullptr, nullptr}, 0, nullptr,
                                      data_.labels, data_.attributes(), data_.row_ptr.data(),
                                      data_.column.data(), false);
  }
  // Such tables in the places of the weights.
  Live beside(Compiled& tables) {
    Live live = weight_->view();
    const Live own = tables.view();
    live.table = own.table;
    live.cell = own.cell;
    return live;
  }

  void read(Written out) const { copy_out(*weight_, small_, out); }
  void write(Reals in) { copy_in(*weight_, small_, in); }
  void read_memory(Written out) const { copy_out(memory(), small_memory_, out); }
  void write_memory(Reals in) { copy_in(memory(), small_memory_, in); }

  const Labelled& data() const { return data_; }

 private:
  Compiled& memory() const {
    if (!memory_) refuse("this rule remembers nothing");
    return *memory_;
  }
  void copy_out(const Compiled& rows, const std::vector<double>& small, Written out) const {
    data_.check_weights(out.size());
    rows.read(out.data());
    data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
      out.data()[k] = small[i * weight_->view().step + j];
    });
  }
  void copy_in(Compiled& rows, std::vector<double>& small, Reals in) const {
    data_.check_weights(in.size());
    rows.write(in.data());
    data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
      small[i * weight_->view().step + j] = in.data()[k];
    });
  }

  Labelled data_;
  std::unique_ptr<Compiled> weight_, memory_;
  std::vector<double> small_, small_memory_, exists_;
};

}  // namespace crfkit
