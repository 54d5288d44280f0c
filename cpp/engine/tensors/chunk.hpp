// A few sequences of a tensor, copied out as doubles for one call of a kernel, and their gradients.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "engine/tensors/chains.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

// Memory that grows and is never cleared.
template <class T>
class Room {
 public:
  T* of(std::size_t n) {
    if (n > size_) {
      auto larger = std::make_unique_for_overwrite<T[]>(size_ = std::max(n, 2 * size_));
      std::copy_n(data_.get(), used_, larger.get());
      data_ = std::move(larger);
    }
    used_ = n;
    return data_.get();
  }
  T* data() const { return data_.get(); }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0, used_ = 0;
};

class Chunk {
 public:
  explicit Chunk(const TensorChains& chains) : c_(chains), L_(chains.labels) {}

  void clear() {
    ptr_.assign(1, 0);
    sequence_.clear();
  }
  std::int64_t count() const { return static_cast<std::int64_t>(sequence_.size()); }
  std::int64_t positions() const { return ptr_.back(); }
  std::int64_t sequence(std::int64_t i) const { return sequence_[i]; }
  std::int64_t begin(std::int64_t i) const { return ptr_[i]; }
  std::int64_t length(std::int64_t i) const { return ptr_[i + 1] - ptr_[i]; }

  // Copies the rows of a sequence that is not longer than those before, each lowered by its entry
  // of `by` [T] (or null).  False, and the chunk stays as it is, where they hold NaN or +inf.
  bool add(std::int64_t b, const double* by = nullptr) {
    const std::int64_t begin = positions(), T = c_.length[b], LL = L_ * L_;
    double* node = node_.of(static_cast<std::size_t>((begin + T) * L_)) + begin * L_;
    bool good = true;
    for (std::int64_t n = 0; n < T; ++n) {
      const double lower = by ? by[n] : 0.0;
      good &= c_.node.at(b, c_.row(b, n), [&](const auto* from) {
        return copy_scores(from, L_, lower, node + n * L_);
      });
    }
    if (c_.edge) {
      double* edge = edge_.of(static_cast<std::size_t>((begin + T) * LL)) + begin * LL;
      if (T > 0) std::fill_n(edge, LL, 0.0);  // nothing enters the first position
      for (std::int64_t n = 1; n < T; ++n)
        good &= c_.edge.at(b, c_.edge_row(b, n), [&](const auto* from) {
          return copy_scores(from, LL, 0.0, edge + n * LL);
        });
    }
    if (!good) return false;
    sequence_.push_back(b);
    ptr_.push_back(begin + T);
    return true;
  }
  void drop_last() {
    sequence_.pop_back();
    ptr_.pop_back();
  }

  double* node(std::int64_t position) const { return node_.data() + position * L_; }
  const double* edge(std::int64_t position) const { return edge_.data() + position * L_ * L_; }
  double* node_gradient(std::int64_t position) const {
    return node_gradient_.data() + position * L_;
  }
  double* edge_gradient(std::int64_t position) const {
    return edge_gradient_.data() + position * L_ * L_;
  }

  Problem problem(const Problem& shared) const {
    Problem p = shared;
    p.sequences = count();
    p.seq_ptr = ptr_.data();
    p.node = node_.data();
    if (c_.edge) p.edge[0] = edge_.data();
    return p;
  }

  // Room for the gradients of nodes, and of edges by position.
  void take_gradients(Task* task) {
    task->gradients.node = node_gradient_.of(static_cast<std::size_t>(positions() * L_));
    if (!c_.edge) return;
    task->gradients.edge_step = L_ * L_;
    task->gradients.edge = edge_gradient_.of(static_cast<std::size_t>(positions() * L_ * L_));
    for (std::int64_t i = 0; i < count(); ++i)
      if (length(i) > 0) std::fill_n(edge_gradient(begin(i)), L_ * L_, 0.0);
  }

  // All sequences; they were added by falling length, as kernels want them.
  const std::int64_t* order() {
    order_.resize(sequence_.size());
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    return order_.data();
  }

 private:
  const TensorChains& c_;
  std::int64_t L_;
  std::vector<std::int64_t> sequence_, ptr_ = {0}, order_;
  Room<double> node_, edge_;                    // [positions, L], [positions, L, L]
  Room<double> node_gradient_, edge_gradient_;  // the same
};

}  // namespace crfkit
