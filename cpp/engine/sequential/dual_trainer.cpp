#include "engine/sequential/dual_trainer.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checked_pairs.hpp"

namespace crfkit {

namespace {

constexpr float kGoldPotential = 13.0f;

}  // namespace

DualTrainer::DualTrainer(const Labeled& data, Reals strengths, bool exponentiated, int threads,
                         const std::optional<KeptIntegers>& pair_ptr,
                         const std::optional<KeptIntegers>& pair_from)
    : data_(data),
      L_(data.labels),
      step_(padded(L_)),
      table_(data.tables() * step_),
      pair_ptr_(pair_ptr),
      pair_from_(pair_from),
      pairs_(checked_pairs(pair_ptr_, pair_from_, L_, data.segments || data.order > 1)) {
  if (strengths.size() != 4 || !(strengths.data()[1] > 0.0) || !(strengths.data()[3] > 0.0))
    refuse("strengths: l1, l2 > 0, and the same for transitions");
  check_threads(threads);
  data_.check_without_edges();
  list_cells();
  compiled_ = std::make_unique<CompiledOf<float>>(
      data_.occurrences(), data_.positions(), data_.label.data(), L_, data_.attributes(),
      data_.row_ptr.data(), data_.column.data(), true, threads);
  begin_at_gold();
  if (exponentiated) {
    theta_node_.resize(node_.size());
    for (std::size_t i = 0; i < node_.size(); ++i) theta_node_[i] = kGoldPotential * node_[i];
    theta_edge_.assign(edge_.size(), 0.0f);
    rate_.assign(data_.sequences(), 0.5);
  }
  connect(strengths.data(), exponentiated);
}

PassTotals DualTrainer::run(const Kernels& kernels, Pointers order, double relax, double threshold,
                            bool ramp, int threads) {
  dual_.relax = relax;
  dual_.threshold = threshold;
  return pass(kernels, order, ramp, threads);
}

PassTotals DualTrainer::begin(const Kernels& kernels, Reals node, Reals edge,
                              const std::optional<KeptReals>& ends, Pointers order, int threads) {
  if (node.size() != data_.label.size() * L_ ||
      static_cast<int>(edge.size()) != data_.tables() * L_ ||
      (ends && static_cast<int>(ends->size()) != 2 * L_))
    refuse("scores of another shape");
  struct Given {
    Dual& dual;
    ~Given() { dual.given = dual.given_edge = dual.given_ends = nullptr; }
  } reset{dual_};
  dual_.given = node.data();
  dual_.given_edge = edge.data();
  dual_.given_ends = data_or_null(ends);
  dual_.threshold = 0.0;
  return pass(kernels, order, false, threads);
}

void DualTrainer::read(Written out) const {
  data_.check_weights(out.size());
  double* v = out.data();
  compiled_->read(v);
  std::int64_t n = 0;
  for (const CompiledOf<float>::Lone& lone : compiled_->lone()) {
    while (data_.seq_ptr.data()[n + 1] <= lone.position) ++n;
    read_lone(lone, data_.weight(n), v);
  }
  data_.visit_small([&](std::int64_t k, std::int64_t i, int j) { v[k] = small_[at(i, j)]; });
}

void DualTrainer::exact(Written out, int threads) const {
  data_.check_weights(out.size());
  const std::int32_t* label = data_.label.data();
  gather(
      out, false, threads,
      [&](std::int64_t p, int y) { return (label[p] == y ? 1.0 : 0.0) - node_[p * step_ + y]; },
      [&](std::int64_t n, double c, std::vector<double>& small) {
        data_.visit_gold(n, [&](int i, int j) {
          if (at(i, j) >= 0) small[at(i, j)] += c;
        });
        for (std::int64_t k = 0; k < kept_; ++k) small[k] -= c * edge_[n * kept_ + k];
      });
}

void DualTrainer::diagonal(Written out, int threads) const {
  data_.check_weights(out.size());
  std::vector<double> sum(L_), squares(L_), sure(L_);
  for (std::int64_t p = 0; p < data_.positions(); ++p)
    for (int y = 0; y < L_; ++y) {
      const double mu = node_[p * step_ + y];
      sum[y] += mu;
      squares[y] += mu * mu;
    }
  for (int y = 0; y < L_; ++y) sure[y] = sum[y] > 0.0 ? std::min(squares[y] / sum[y], 1.0) : 0.0;
  gather(
      out, true, threads,
      [&](std::int64_t p, int y) {
        const double mu = node_[p * step_ + y];
        return mu * (1.0 - mu);
      },
      [&](std::int64_t n, double c, std::vector<double>& small) {
        for (std::int64_t k = 0; k < kept_; ++k) small[k] += c * edge_[n * kept_ + k];
      });
  data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
    if (i < data_.tables()) out.data()[k] *= 1.0 - (i < L_ ? sure[i] : 1.0) * sure[j];
  });
}

double DualTrainer::entropy() const {
  double sum = 0.0;
  for (std::size_t n = 0; n < entropy_.size(); ++n) sum += data_.weight(n) * entropy_[n];
  return sum;
}

DualTrainer::Parts<float> DualTrainer::floats() {
  return {{"node", &node_},
          {"edge", &edge_},
          {"theta_node", &theta_node_},
          {"theta_edge", &theta_edge_}};
}

void DualTrainer::write(Reals v) {
  data_.check_weights(v.size());
  compiled_->write(v.data());
  data_.visit_small([&](std::int64_t k, std::int64_t i, int j) { small_[at(i, j)] = v[k]; });
}

template <class Node, class Edge>
void DualTrainer::gather(Written out, bool squares, int threads, Node node, Edge edge) const {
  const std::int64_t* seq_ptr = data_.seq_ptr.data();
  const std::int64_t N = data_.sequences();
  const std::int64_t middle =
      std::lower_bound(seq_ptr, seq_ptr + N, data_.positions() / 2) - seq_ptr;
  std::vector<double> second(out.size()), small[2];
  parallel_for(2, threads, [&](std::int64_t half) {
    double* sum = half ? second.data() : out.data();
    std::fill_n(sum, out.size(), 0.0);
    small[half].assign(kept_ + 2 * step_, 0.0);
    gather_some(half ? middle : 0, half ? N : middle, squares, node, edge, sum, small[half]);
  });
  for (std::size_t k = 0; k < second.size(); ++k) out.data()[k] += second[k];
  data_.visit_small([&](std::int64_t k, std::int64_t i, int j) {
    out.data()[k] = small[0][at(i, j)] + small[1][at(i, j)];
  });
}

template <class Node, class Edge>
void DualTrainer::gather_some(std::int64_t n, std::int64_t end, bool squares, Node node, Edge edge,
                              double* sum, std::vector<double>& small) const {
  const Occurrences o = data_.occurrences();
  std::vector<double> gradient(L_);
  for (; n < end; ++n) {
    worked(64 * data_.positions_of(n));
    const double c = data_.weight(n);
    const std::int64_t first = data_.seq_ptr.data()[n], last = first + data_.positions_of(n) - 1;
    for (std::int64_t p = first; p < data_.seq_ptr.data()[n + 1]; ++p) {
      for (int y = 0; y < L_; ++y) {
        gradient[y] = c * node(p, y);
        if (p == first) small[kept_ + y] += gradient[y];
        if (p == last) small[kept_ + step_ + y] += gradient[y];
      }
      for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1]; ++i) {
        const std::uint32_t a = static_cast<std::uint32_t>(o.attr[i]);
        if (a >= static_cast<std::uint64_t>(data_.attributes())) continue;
        const double value = o.value ? squares ? o.value[i] * o.value[i] : o.value[i] : 1.0;
        for (std::int64_t k = data_.row_ptr.data()[a]; k < data_.row_ptr.data()[a + 1]; ++k)
          sum[k] += value * gradient[data_.column.data()[k]];
      }
    }
    edge(n, c, small);
  }
}

void DualTrainer::list_cells() {
  kept_ = table_;
  cell_.reserve(1);  // a list of none is not null
  data_.visit_small([&](std::int64_t, std::int64_t i, int j) {
    if (i < data_.tables()) cell_.push_back(static_cast<std::int32_t>(i * step_ + j));
  });
  const std::int64_t cells = static_cast<std::int64_t>(cell_.size());
  if (2 * cells > table_ && !pairs_.ptr) {
    cell_ = {};
    return;
  }
  std::sort(cell_.begin(), cell_.end());
  if (pairs_.ptr) order_by_pairs();
  kept_ = padded(cells);
  place_.assign(table_, -1);
  for (std::int64_t k = 0; k < cells; ++k) place_[cell_[k]] = static_cast<std::int32_t>(k);
}

void DualTrainer::order_by_pairs() {
  std::vector<bool> missing(table_);  // what has to be among the pairs
  std::vector<bool> weighted(table_);
  for (const std::int32_t cell : cell_) missing[cell] = weighted[cell] = true;
  for (int i = 0; data_.forbidden && i < L_; ++i)
    for (int j = 0; j < L_; ++j)
      if (data_.forbidden->data()[i * L_ + j] < 0.0) missing[i * step_ + j] = true;
  cell_.clear();
  pair_.reserve(1);
  for (int j = 0; j < L_; ++j)
    for (std::int32_t k = pairs_.ptr[j]; k < pairs_.ptr[j + 1]; ++k) {
      const std::int32_t cell = static_cast<std::int32_t>(pairs_.from[k] * step_ + j);
      if (!missing[cell]) refuse("pairs: one has no weight and is not forbidden");
      missing[cell] = false;
      if (!weighted[cell]) continue;
      cell_.push_back(cell);
      pair_.push_back(k);
    }
  if (std::find(missing.begin(), missing.end(), true) != missing.end())
    refuse("pairs: a transition that has a weight or is forbidden is not among them");
}

std::int64_t DualTrainer::at(std::int64_t row, int label) const {
  if (row >= data_.tables()) return kept_ + (row - data_.tables()) * step_ + label;
  const std::int64_t cell = row * step_ + label;
  return place_.empty() ? cell : place_[cell];
}

void DualTrainer::begin_at_gold() {
  const std::int64_t N = data_.sequences();
  const std::int32_t* label = data_.label.data();
  reserve_large(node_, data_.positions() * step_);
  reserve_large(edge_, N * kept_);
  node_.assign(data_.positions() * step_, 0.0f);
  edge_.assign(N * kept_, 0.0f);
  entropy_.assign(N, 0.0);
  curvature_.assign(N, 2.0);
  for (std::int64_t p = 0; p < data_.positions(); ++p)
    if (label[p] >= 0) node_[p * step_ + label[p]] = 1.0f;
  for (std::int64_t n = 0; n < N; ++n)
    data_.visit_gold(n, [&](int i, int j) {
      if (at(i, j) >= 0) edge_[n * kept_ + at(i, j)] += 1.0f;
    });
}

void DualTrainer::connect(const double* strengths, bool exponentiated) {
  small_.assign(kept_ + 2 * step_, 0.0);
  steps_.assign(kept_ + 2 * step_, 0.0);
  data_.visit_small([&](std::int64_t, std::int64_t i, int j) { steps_[at(i, j)] = 1.0; });
  dual_.live = compiled_->view();
  LiveOf<float>& live = dual_.live;
  live.transition = small_.data();
  live.steps = steps_.data();
  live.start = data_.start ? small_.data() + kept_ : nullptr;
  live.stop = data_.stop ? small_.data() + kept_ + step_ : nullptr;
  if (data_.forbidden) {
    forbidden_.assign(table_ + 2 * step_, 0.0);
    for (int i = 0; i < data_.tables() + 2; ++i)
      std::copy_n(data_.forbidden->data() + i * L_, L_, forbidden_.data() + i * step_);
    live.forbidden = forbidden_.data();
    live.forbidden_at = forbidden_.data() + table_;
  }
  if (data_.segments) segments_ = data_.segments->view();
  dual_.segments = data_.segments ? &segments_ : nullptr;
  dual_.order = data_.order;
  dual_.tables = data_.tables();
  dual_.kept = kept_;
  dual_.cell = place_.empty() ? nullptr : cell_.data();
  dual_.cells = static_cast<std::int64_t>(cell_.size());
  dual_.pairs = pairs_.ptr ? &pairs_ : nullptr;
  dual_.pair = pair_.data();
  dual_.seq_ptr = data_.seq_ptr.data();
  dual_.label = data_.label.data();
  dual_.weight = data_or_null(data_.share);
  dual_.node = node_.data();
  dual_.edge = edge_.data();
  dual_.entropy = entropy_.data();
  dual_.curvature = curvature_.data();
  dual_.theta_node = exponentiated ? theta_node_.data() : nullptr;
  dual_.theta_edge = exponentiated ? theta_edge_.data() : nullptr;
  dual_.rate = exponentiated ? rate_.data() : nullptr;
  dual_.l1 = strengths[0];
  dual_.l2 = strengths[1];
  dual_.transition_l1 = strengths[2];
  dual_.transition_l2 = strengths[3];
}

PassTotals DualTrainer::pass(const Kernels& kernels, Pointers order, bool ramp, int threads) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order.data()[i] < 0 || order.data()[i] >= data_.sequences())
      refuse("order: there is no sequence " + std::to_string(order.data()[i]));
  check_threads(threads);
  return DualPass(kernels, dual_, order.data(), static_cast<std::int64_t>(order.size()), ramp,
                  threads)
      .run();
}

void DualTrainer::read_lone(const CompiledOf<float>::Lone& lone, double c, double* v) const {
  const std::int64_t p = lone.position;
  const std::int64_t* row = data_.row_ptr.data() + lone.attribute;
  for (std::int64_t k = row[0]; k < row[1]; ++k) {
    const std::int32_t y = data_.column.data()[k];
    v[k] = c * ((y == data_.label.data()[p] ? 1.0 : 0.0) - node_[p * step_ + y]);
  }
}

}  // namespace crfkit
