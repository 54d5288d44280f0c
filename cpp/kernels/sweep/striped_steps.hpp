// The steps of a chain of order 1 for lanes side by side: cells are [label][lane], vectors hold the
// same label of several sequences, so that neither few labels nor sparse steps leave places empty.
//
// All pairs, for few labels: out[j] = sum over i of x[i] e[i, j].
//
// Sparse, where all steps but some pairs have one probability c: with the other pairs' e[i, j],
//     out[j] = c * (sum over i of x[i]) + sum over pairs (i, j) of x[i] (e[i, j] - c).
// A pair far below c would leave a small difference of large numbers.  So a pair is far when
// e[i, j] < kFar * c; the sum that c multiplies leaves the far ones out, and they enter as
// x[i] e[i, j] (forbidden ones not at all).  What c multiplies, C, is a sum of a few sums of
// aligned runs of labels, each of which is part of a binary tree of sums: nothing is ever
// subtracted to leave a label out.  Near pairs take off at most (1 - kFar) c x[i] each, so out[j]
// >= kFar c C: with m terms the relative error is at most about (m + log2 L) 2^-53 (1 + 2 / kFar),
// and without negative corrections (m + log2 L) 2^-53.
#pragma once

#include "kernels/simd/arena.hpp"
#include "shared/padded.hpp"
#include "shared/problem.hpp"

namespace crfkit::CRFKIT_ARCH {

// Whether all pairs of so many labels are faster side by side than in padded rows.  Nanoseconds a
// position with AVX2, 16 lanes of 25: 27 against 31 for 5 labels, 38 against 31 for 7, 40 against
// 30 for 8, 42 against 66 for 9, 75 against 78 for 15.
inline bool few_labels(int labels) { return labels < 6 || (labels > 8 && labels < 16); }

// f.operator()<V>() with the vectors that `lanes` lanes need.
template <class F>
inline void by_vectors(int lanes, F f) {
  static_assert(kStripe % W == 0 && kStripe / W <= 4);
  const int vectors = (lanes + W - 1) / W;
  if constexpr (kStripe / W >= 4) {
    if (vectors == 4) return f.template operator()<4>();
    if (vectors == 3) return f.template operator()<3>();
  }
  if constexpr (kStripe / W >= 2) {
    if (vectors == 2) return f.template operator()<2>();
  }
  if (vectors == 1) f.template operator()<1>();
}

// Pairs by target, with probabilities, of which the steps of one direction are made.
struct WeighedPairs {
  const std::int32_t* ptr;     // [n + 1]
  const std::int32_t* source;  // rising for each target
  const double* probability;
};

// The same pairs by source.
inline WeighedPairs turned(const WeighedPairs& pairs, int n, Arena& arena) {
  const std::size_t count = static_cast<std::size_t>(pairs.ptr[n]);
  std::int32_t* ptr = arena.take<std::int32_t>(static_cast<std::size_t>(n) + 2, 0);
  std::int32_t* target = arena.take<std::int32_t>(count);
  double* probability = arena.take<double>(count);
  for (std::size_t k = 0; k < count; ++k) ++ptr[pairs.source[k] + 2];
  for (int i = 0; i < n; ++i) ptr[i + 2] += ptr[i + 1];
  for (int j = 0; j < n; ++j) {
    for (std::int32_t k = pairs.ptr[j]; k < pairs.ptr[j + 1]; ++k) {
      const std::int32_t to = ptr[pairs.source[k] + 1]++;
      target[to] = j;
      probability[to] = pairs.probability[k];
    }
  }
  return {ptr, target, probability};
}

// Steps in one direction: `source` to `target`, which change places on the way back.
class StripedSteps {
 public:
  static constexpr double kFar = 0x1p-7;

  bool made() const { return matrix_ || ptr_; }
  bool sparse() const { return ptr_ != nullptr; }
  // Doubles of the scratch of `apply`: the inner nodes of the tree of sums.
  std::size_t scratch() const { return static_cast<std::size_t>(leaves_) * kStripe; }

  // All pairs; at(i, j) is the probability of the step from i to j.
  template <class At>
  void make(int n, Arena& arena, At at) {
    n_ = n;
    double* matrix = arena.take<double>(static_cast<std::size_t>(n) * n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) matrix[i * n + j] = at(i, j);
    matrix_ = matrix;
  }

  void make(int n, double common, const WeighedPairs& pairs, Arena& arena) {
    n_ = n, common_ = common;
    for (leaves_ = 1; leaves_ < n;) leaves_ *= 2;
    std::int32_t* ptr = ptr_ = arena.take<std::int32_t>(static_cast<std::size_t>(n) + 1, 0);
    std::int32_t* cover_ptr = cover_ptr_ =
        arena.take<std::int32_t>(static_cast<std::size_t>(n) + 1, 0);
    std::int32_t* far = arena.take<std::int32_t>(n);
    source_ = arena.take<std::int32_t>(pairs.ptr[n]);
    factor_ = arena.take<double>(pairs.ptr[n]);
    const bool covers = common > 0.0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int j = 0; j < n; ++j) {
        std::int32_t terms = ptr[j], nodes = cover_ptr[j];
        int fars = 0;
        for (std::int32_t k = pairs.ptr[j]; k < pairs.ptr[j + 1]; ++k) {
          const double e = pairs.probability[k];
          const bool is_far = e < kFar * common;
          if (is_far) far[fars++] = pairs.source[k];
          const double factor = is_far ? e : e - common;
          if (factor == 0.0) continue;
          source_[terms] = pairs.source[k] * kStripe;
          factor_[terms++] = factor;
        }
        if (covers) cover(1, 0, leaves_, far, far + fars, pass ? cover_ : nullptr, &nodes);
        deep_ |= covers && fars > 0;
        ptr[j + 1] = terms, cover_ptr[j + 1] = nodes;
      }
      if (pass == 0) cover_ = arena.take<std::int32_t>(cover_ptr[n]);
    }
  }

  // out [n, kStripe] of x [n, kStripe], for the first V vectors of lanes.
  template <int V>
  void apply(const double* x, double* out, double* scratch) const {
    if (sparse()) {
      apply_pairs<V>(x, out, scratch);
    } else {
      constexpr int most = kTargets / V;
      const int tiles = (n_ + most - 1) / most;
      for (int j = 0, t = 0; t < tiles; ++t) {
        const int width = (n_ - j + tiles - t - 1) / (tiles - t);
        apply_tile<V, most>(width, x, matrix_ + j, out + j * kStripe);
        j += width;
      }
    }
  }

 private:
  static constexpr int kTargets = W == 8 ? 16 : 12;  // sums in registers

  template <int V, int J>
  void apply_tile(int width, const double* x, const double* matrix, double* out) const {
    if constexpr (J > 1) {
      if (width < J) return apply_tile<V, J - 1>(width, x, matrix, out);
    }
    Vec acc[J][V] = {};
    for (int i = 0; i < n_; ++i) {
      Vec from[V];
      for (int v = 0; v < V; ++v) from[v] = load(x + i * kStripe + v * W);
      for (int j = 0; j < J; ++j) {
        const Vec e = splat(matrix[i * n_ + j]);
        for (int v = 0; v < V; ++v) acc[j][v] += from[v] * e;
      }
    }
    for (int j = 0; j < J; ++j)
      for (int v = 0; v < V; ++v) store(out + j * kStripe + v * W, acc[j][v]);
  }

  template <int V>
  void apply_pairs(const double* x, double* out, double* tree) const {
    if (common_ > 0.0) add_up<V>(x, tree);
    const Vec c = splat(common_);
    for (int j = 0; j < n_; ++j) {
      Vec acc[V] = {};
      for (std::int32_t k = cover_ptr_[j]; k < cover_ptr_[j + 1]; ++k) {
        const double* sum = node(x, tree, cover_[k]);
        for (int v = 0; v < V; ++v) acc[v] += load(sum + v * W);
      }
      for (int v = 0; v < V; ++v) acc[v] *= c;
      for (std::int32_t k = ptr_[j]; k < ptr_[j + 1]; ++k) {
        const double* from = x + source_[k];
        const Vec f = splat(factor_[k]);
        for (int v = 0; v < V; ++v) acc[v] += load(from + v * W) * f;
      }
      for (int v = 0; v < V; ++v) store(out + j * kStripe + v * W, acc[v]);
    }
  }

  // Nodes of the tree of sums: 1 is the root, 2 k and 2 k + 1 are below k, `leaves_` and more are
  // cells.
  const double* node(const double* x, const double* tree, int k) const {
    return k < leaves_ ? tree + k * kStripe : x + (k - leaves_) * kStripe;
  }

  template <int V>
  void add_up(const double* x, double* tree) const {
    if (deep_ && leaves_ > 1) {
      for (int k = leaves_ - 1; k > 0; --k) {
        const bool both = exists(2 * k + 1), one = exists(2 * k);
        for (int v = 0; v < V; ++v) {
          Vec sum = {};
          if (one) sum = load(node(x, tree, 2 * k) + v * W);
          if (both) sum += load(node(x, tree, 2 * k + 1) + v * W);
          store(tree + k * kStripe + v * W, sum);
        }
      }
      return;
    }
    if (leaves_ == 1) return;
    Vec even[V] = {}, odd[V] = {};
    for (int i = 0; i < n_; i += 2)
      for (int v = 0; v < V; ++v) even[v] += load(x + i * kStripe + v * W);
    for (int i = 1; i < n_; i += 2)
      for (int v = 0; v < V; ++v) odd[v] += load(x + i * kStripe + v * W);
    for (int v = 0; v < V; ++v) store(tree + kStripe + v * W, even[v] + odd[v]);
  }
  bool exists(int k) const { return k < leaves_ || k - leaves_ < n_; }

  // The fewest nodes below `k`, of the labels [first, first + size), without the far ones.
  void cover(int k, int first, int size, const std::int32_t* far, const std::int32_t* end,
             std::int32_t* out, std::int32_t* count) const {
    while (far < end && *far < first) ++far;
    if (first >= n_) return;
    if (far == end || *far >= first + size) {
      if (out) out[*count] = k;
      ++*count;
    } else if (size > 1) {
      cover(2 * k, first, size / 2, far, end, out, count);
      cover(2 * k + 1, first + size / 2, size / 2, far, end, out, count);
    }
  }

  int n_ = 0, leaves_ = 0;
  double* matrix_ = nullptr;        // [n, n] all pairs
  double common_ = 0.0;             // the rest is null but for sparse steps
  bool deep_ = false;               // some sum leaves labels out
  std::int32_t* ptr_ = nullptr;     // [n + 1] terms of each target
  std::int32_t* source_ = nullptr;  // times kStripe
  double* factor_ = nullptr;
  std::int32_t *cover_ptr_ = nullptr, *cover_ = nullptr;  // [n + 1] nodes of each target
};

}  // namespace crfkit::CRFKIT_ARCH
