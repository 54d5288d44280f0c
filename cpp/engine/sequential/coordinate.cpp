#include "engine/sequential/coordinate.hpp"

#include <algorithm>
#include <vector>

#include "engine/handles.hpp"

namespace crfkit {

void CoordinateBlock::clear() {
  std::fill(g.begin(), g.end(), 0.0);
  std::fill(h.begin(), h.end(), 0.0);
}

void CoordinateBlock::add(std::size_t i, double c, double v, double p) {
  g[i] += c * v * p;
  h[i] += c * v * v * p * (1.0 - p);
}

CoordinateTrainer::CoordinateTrainer(const Labeled& data)
    : data_(data), index_(data.occurrences(), data.positions(), data.attributes()) {
  data_.check_chains();
  data_.check_plain();
  const std::int64_t P = data_.positions(), N = data_.sequences();
  sequence_.resize(P);
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t p = data_.seq_ptr.data()[n]; p < data_.seq_ptr.data()[n + 1]; ++p)
      sequence_[p] = n;
  node_.resize(P * data_.labels);
  found_.resize(P * data_.labels);
  value_of_.resize(N);
  table_.resize((data_.labels + 2) * data_.labels);
}

void CoordinateTrainer::run(const Kernels& kernels, Written w, Reals strengths, double kappa) {
  data_.check_weights(w.size());
  if (strengths.size() != 4 || !(kappa > 0.0)) refuse("strengths: 4 numbers, kappa: above 0");
  score(w.data());
  Problem p = problem();
  Task task = {};
  task.query = Query::sum;
  task.value = value_of_.data();
  task.gradients.node = found_.data();
  const Handle prepared = prepare(kernels, p, task);
  CoordinateBlock block(data_.labels);
  for (std::int64_t a = 0; a < data_.attributes(); ++a) {
    collect(a);
    pooled_.assign(kernels.pooled_size(p, true), 0.0);
    kernels.run(p, task, prepared.get(), chosen_.data(), static_cast<std::int64_t>(chosen_.size()),
                pooled_.data(), nullptr);
    update(a, w.data(), strengths.data()[0], strengths.data()[1], kappa, block);
  }
  if (data_.weights() > data_.node_weights())
    update_small(kernels, p, prepared.get(), w.data(), strengths.data()[2], strengths.data()[3],
                 kappa);
}

void CoordinateTrainer::score(const double* w) {
  const int L = data_.labels;
  std::fill(node_.begin(), node_.end(), 0.0);
  for (std::int64_t a = 0; a < data_.attributes(); ++a)
    for (std::int64_t k = data_.row_ptr.data()[a]; k < data_.row_ptr.data()[a + 1]; ++k)
      move(a, data_.column.data()[k], w[k]);
  for (int k = 0; k < (L + 2) * L; ++k)
    table_[k] = data_.forbidden ? data_.forbidden->data()[k] : 0.0;
  data_.visit_small([&](std::int64_t k, int i, int j) { table_[i * L + j] += w[k]; });
}

void CoordinateTrainer::move(std::int64_t a, int label, double change) {
  if (change == 0.0) return;
  for (std::int64_t i = index_.ptr[a]; i < index_.ptr[a + 1]; ++i)
    node_[std::int64_t{index_.position[i]} * data_.labels + label] += change * index_.value_at(i);
}

Problem CoordinateTrainer::problem() const {
  const int L = data_.labels;
  Problem p = {};
  p.shape = Shape::chain;
  p.sequences = data_.sequences();
  p.seq_ptr = data_.seq_ptr.data();
  p.labels = L;
  p.order = 1;
  p.node = node_.data();
  p.edge[0] = table_.data();
  p.start = table_.data() + L * L;
  p.stop = p.start + L;
  return p;
}

void CoordinateTrainer::collect(std::int64_t a) {
  chosen_.clear();
  for (std::int64_t i = index_.ptr[a]; i < index_.ptr[a + 1]; ++i) {
    const std::int64_t n = sequence_[index_.position[i]];
    if ((chosen_.empty() || chosen_.back() != n) && data_.weight(n) > 0.0) chosen_.push_back(n);
  }
  std::stable_sort(chosen_.begin(), chosen_.end(),
                   [&](std::int64_t x, std::int64_t y) { return length(x) > length(y); });
}

void CoordinateTrainer::update(std::int64_t a, double* w, double l1, double l2, double kappa,
                               CoordinateBlock& block) {
  const int L = data_.labels;
  const std::int64_t first = data_.row_ptr.data()[a], last = data_.row_ptr.data()[a + 1];
  const std::int32_t* column = data_.column.data();
  block.clear();
  for (std::int64_t i = index_.ptr[a]; i < index_.ptr[a + 1];) {
    const std::int64_t p = index_.position[i];
    const double c = data_.weight(sequence_[p]);
    double v = 0.0;
    for (; i < index_.ptr[a + 1] && index_.position[i] == p; ++i) v += index_.value_at(i);
    if (c == 0.0) continue;
    for (std::int64_t k = first; k < last; ++k)
      block.add(column[k], c, v, found_[p * L + column[k]]);
    block.g[data_.label.data()[p]] -= c * v;
  }
  block.stabilize(kappa, [&](auto f) {
    for (std::int64_t k = first; k < last; ++k) f(column[k]);
  });
  for (std::int64_t k = first; k < last; ++k) {
    const double before = w[k];
    w[k] = block.next(column[k], before, l1, l2);
    move(a, column[k], w[k] - before);
  }
}

void CoordinateTrainer::update_small(const Kernels& kernels, const Problem& whole,
                                     const void* prepared, double* w, double l1, double l2,
                                     double kappa) {
  const int L = data_.labels;
  CoordinateBlock block((L + 2) * L);
  std::vector<double> edge;
  for (std::int64_t n = 0; n < data_.sequences(); ++n) {
    const std::int64_t T = length(n), first = data_.seq_ptr.data()[n], seq_ptr[2] = {0, T}, one = 0;
    const double c = data_.weight(n);
    if (T == 0 || c == 0.0) continue;
    edge.assign(T * L * L, 0.0);
    Problem p = whole;
    p.sequences = 1;
    p.seq_ptr = seq_ptr;
    p.node = node_.data() + first * L;
    Task task = {};
    task.query = Query::sum;
    task.value = value_of_.data() + n;
    task.gradients.node = found_.data() + first * L;
    task.gradients.edge = edge.data();
    task.gradients.edge_step = static_cast<std::int64_t>(L) * L;
    kernels.run(p, task, prepared, &one, 1, pooled_.data(), nullptr);
    const std::int32_t* gold = data_.label.data() + first;
    for (std::int64_t t = 1; t < T; ++t) {
      for (int k = 0; k < L * L; ++k) block.add(k, c, 1.0, edge[t * L * L + k]);
      block.g[gold[t - 1] * L + gold[t]] -= c;
    }
    for (int j = 0; j < L; ++j) {
      block.add(L * L + j, c, 1.0, task.gradients.node[j]);
      block.add((L + 1) * L + j, c, 1.0, task.gradients.node[(T - 1) * L + j]);
    }
    block.g[L * L + gold[0]] -= c;
    block.g[(L + 1) * L + gold[T - 1]] -= c;
  }
  const auto part = [L](int i) { return i < L ? 0 : i - L + 1; };
  for (int which = 0; which < 3; ++which)
    block.stabilize(kappa, [&](auto f) {
      data_.visit_small([&](std::int64_t, int i, int j) {
        if (part(i) == which) f(i * L + j);
      });
    });
  data_.visit_small(
      [&](std::int64_t k, int i, int j) { w[k] = block.next(i * L + j, w[k], l1, l2); });
}

}  // namespace crfkit
