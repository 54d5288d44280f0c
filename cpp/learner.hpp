// The tables behind a method that learns sequence by sequence, and their way from and to Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiled.hpp"
#include "labelled.hpp"
#include "learned.hpp"

namespace crfkit {

class Learner {
 public:
  Learner(const Labelled& data, bool remembers) : data_(data) {
    const std::int64_t step = (data_.labels + 7) / 8 * 8;
    {
      nb::gil_scoped_release release;
      weight_ = compile(data_.occurrences(), data_.positions());
      if (remembers) memory_ = bare();
      for (std::vector<double>* small : {&small_, &small_memory_, &exists_})
        small->assign((data_.labels + 2) * step, 0.0);
    }
    data_.visit_small([&](std::int64_t, std::int64_t i, int j) { exists_[i * step + j] = 1.0; });
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
    l.forbidden = data_.forbidden ? data_.forbidden->data() : nullptr;
    l.seq_ptr = data_.seq_ptr.data();
    l.label = data_.label.data();
  }

  // Tables of the form of the weights, without entries of their own.
  std::unique_ptr<Compiled> bare() const {
    const std::int64_t none = 0;
    return compile({&none, nullptr, nullptr}, 0);
  }
  // The entries of the weights over such tables.
  Live beside(Compiled& tables) {
    Live live = weight_->view();
    const Live own = tables.view();
    live.table = own.table;
    live.cell = own.cell;
    return live;
  }

  // Raises unless every sequence of an order exists and has a position.
  void check_order(const Pointers& order) const {
    const std::int64_t* ptr = data_.seq_ptr.data();
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t n = order.data()[i];
      if (n < 0 || n >= data_.sequences() || ptr[n] == ptr[n + 1])
        refuse("order: sequence " + std::to_string(n) + " does not exist or is empty");
    }
  }

  void read(const Written& out) const { copy_out(*weight_, small_, out); }
  void write(const Reals& in) { copy_in(*weight_, small_, in); }
  void read_memory(const Written& out) const { copy_out(memory(), small_memory_, out); }
  void write_memory(const Reals& in) { copy_in(memory(), small_memory_, in); }

  const Labelled& data() const { return data_; }

 private:
  std::unique_ptr<Compiled> compile(const Occurrences& o, std::int64_t positions) const {
    return std::make_unique<Compiled>(o, positions, data_.label.data(), data_.labels,
                                      data_.attributes(), data_.row_ptr.data(), data_.column.data(),
                                      false);
  }
  Compiled& memory() const {
    if (!memory_) refuse("this rule remembers nothing");
    return *memory_;
  }
  void copy_out(const Compiled& rows, const std::vector<double>& small, const Written& out) const {
    data_.check_weights(out.size());
    rows.read(out.data());
    data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
      out.data()[k] = small[i * weight_->view().step + j];
    });
  }
  void copy_in(Compiled& rows, std::vector<double>& small, const Reals& in) const {
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
