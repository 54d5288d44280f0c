#include "engine/sequential/learner.hpp"

#include <memory>
#include <string>
#include <vector>

#include "engine/handles.hpp"

namespace crfkit {

void CompiledSequences::check_order(Pointers order) const {
  const std::int64_t* ptr = data.seq_ptr.data();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t n = order.data()[i];
    if (n < 0 || n >= data.sequences() || ptr[n] == ptr[n + 1])
      refuse("order: sequence " + std::to_string(n) + " does not exist or is empty");
  }
}

Learner::Learner(const Labeled& data, bool remembers) : data_(data) {
  data_.check_chains();
  const std::int64_t step = padded(data_.labels);
  weight_ = make_tables();
  if (remembers) memory_ = make_tables();
  for (std::vector<double>* small : {&small_, &small_memory_, &exists_})
    small->assign((data_.tables() + 2) * step, 0.0);
  data_.visit_small([&](std::int64_t, std::int64_t i, int j) { exists_[i * step + j] = 1.0; });
}

std::unique_ptr<CompiledSequences> Learner::compile(const Labeled& data) const {
  data.check_weights(data_.weights());
  data.check_chains();
  if (data.labels != data_.labels || data.attributes() != data_.attributes() ||
      data.order != data_.order || data.edges.has_value() != data_.edges.has_value() ||
      (data.edges && data.edges->attributes() != data_.edges->attributes()))
    refuse("these sequences have labels and attributes of another layout");
  auto made = std::make_unique<CompiledSequences>(CompiledSequences{this, data, {}, {}});
  made->entries = weight_.node->entries(data.occurrences(), data.positions());
  if (data.edges) made->edges = weight_.edge->entries(data.edges->occurrences(), data.positions());
  return made;
}

void Learner::show(Learned& l) {
  show(*weight_.node, memory_.node.get(), l.node);
  l.edges = data_.edges.has_value();
  if (l.edges) show(*weight_.edge, memory_.edge.get(), l.edge);
  l.order = data_.order;
  l.tables = data_.tables();
  l.small = small_.data();
  l.small_memory = small_memory_.data();
  l.exists = exists_.data();
  l.forbidden = data_or_null(data_.forbidden);
}

void Learner::show(const CompiledSequences& sequences, Learned& l) const {
  if (sequences.learner != this) refuse("these sequences were compiled by another trainer");
  l.seq_ptr = sequences.data.seq_ptr.data();
  l.label = sequences.data.label.data();
  for (Live* live : {&l.node.weight, &l.node.memory}) sequences.entries.show(*live);
  if (l.edges)
    for (Live* live : {&l.edge.weight, &l.edge.memory}) sequences.edges.show(*live);
}

void Learner::Held::read(const Labeled& data, double* weights) const {
  node->read(weights);
  if (edge) edge->read(weights + data.node_weights());
}

void Learner::Held::write(const Labeled& data, const double* weights) {
  node->write(weights);
  if (edge) edge->write(weights + data.node_weights());
}

Learner::Held Learner::make_tables() const {
  const auto make = [](int cells, std::int64_t attributes, const std::int64_t* row_ptr,
                       const std::int32_t* column) {
    const std::int64_t none = 0;
    return std::make_unique<Compiled>(Occurrences{&none, nullptr, nullptr}, 0, nullptr, cells,
                                      attributes, row_ptr, column, false);
  };
  Held made;
  made.node = make(data_.labels, data_.attributes(), data_.row_ptr.data(), data_.column.data());
  if (const auto& e = data_.edges)
    made.edge =
        make(data_.labels * data_.labels, e->attributes(), e->row_ptr.data(), e->cell.data());
  return made;
}

Live Learner::beside(Live weight, Compiled& tables) {
  const Live own = tables.view();
  weight.table = own.table;
  weight.cell = own.cell;
  return weight;
}

void Learner::write_memory(Reals in) {
  memory();
  copy_in(memory_, small_memory_, in);
}

void Learner::show(Compiled& weight, Compiled* memory, LearnedRows& rows) {
  rows.weight = weight.view();
  rows.memory = memory ? beside(rows.weight, *memory) : rows.weight;
  rows.rows = weight.rows();
  rows.cells = weight.cells();
}

const Learner::Held& Learner::memory() const {
  if (!memory_) refuse("this rule remembers nothing");
  return memory_;
}

void Learner::copy_out(const Held& rows, const std::vector<double>& small, Written out) const {
  data_.check_weights(out.size());
  rows.read(data_, out.data());
  data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
    out.data()[k] = small[i * padded(data_.labels) + j];
  });
}

void Learner::copy_in(Held& rows, std::vector<double>& small, Reals in) const {
  data_.check_weights(in.size());
  rows.write(data_, in.data());
  data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
    small[i * padded(data_.labels) + j] = in.data()[k];
  });
}

}  // namespace crfkit
