// Trees of variables summed exactly given the rest: forward filtering and backward sampling for
// block Gibbs (Hamze & de Freitas 2004), marginals for structured mean field (Saul & Jordan 1996).
// Rows and messages are logarithms, so that only what is forbidden is 0.
#pragma once

#include <cmath>

#include "kernels/graph/draws.hpp"

namespace crfkit::CRFKIT_ARCH {

// Rows of scores and messages up of one block.
struct TreeRows {
  const BlockVisits& v;
  std::int64_t first, last;                          // positions
  double *row_, *weight_, *message_, *top_, *spare;  // spare: labels of the widest variable

  TreeRows(const BlockVisits& visits, std::int64_t block, double* scratch)
      : v(visits), first(v.block_ptr[block]), last(v.block_ptr[block + 1]) {
    const std::int64_t labels = v.at[last] - v.at[first];
    row_ = scratch;
    weight_ = row_ + labels;
    message_ = weight_ + labels;
    top_ = message_ + (v.up[last] - v.up[first]);
    spare = top_ + (last - first);
  }
  double* row(std::int64_t p) const { return row_ + (v.at[p] - v.at[first]); }
  double* weight(std::int64_t p) const { return weight_ + (v.at[p] - v.at[first]); }
  double* message(std::int64_t p) const { return message_ + (v.up[p] - v.up[first]); }

  // to[l] = exp(x[l] - top), and their sum.
  static double exponentials(const double* x, int n, double top, double* to) {
    Vec sum = {};
    for (int l = 0; l < n; l += W) {
      const Vec e = exp(load_part(x + l, n - l, kZero) - top);
      store_part(to + l, n - l, e);
      sum += e;
    }
    return sum_of(sum);
  }
  static double highest(const double* x, int n) {
    double top = kZero;
    for (int l = 0; l < n; ++l) top = x[l] > top ? x[l] : top;
    return top;
  }

  // What labels of p have for label k of its parent: `spare`, which adds up to `total`, and the log
  // of that in the scale of scores.  Products of exponentials where they keep their digits.
  double shares(std::int64_t p, std::int32_t k, double& total) const {
    const int n = v.width[p];
    const std::int64_t from = static_cast<std::int64_t>(k) * n;
    if (v.chance[p] && top_[p - first] > kZero) {
      const double *chance = v.chance[p] + from, *below = weight(p);
      total = 0.0;
      for (int l = 0; l < n; ++l) {
        spare[l] = chance[l] * below[l];
        total += spare[l];
      }
      if (total > 0x1p-900) return std::log(total) + v.most[v.up[p] + k] + top_[p - first];
    }
    const double *scores = v.edge[p] + from, *below = row(p);
    for (int l = 0; l < n; ++l) spare[l] = v.edge_scale[p] * scores[l] + below[l];
    const double top = highest(spare, n);
    total = 0.0;
    if (top == kZero) return kZero;
    total = exponentials(spare, n, top, spare);
    return top + std::log(total);
  }

  // The message up, to m labels, by exponentials; false where these do not keep their digits, or
  // are too few for vectors.
  bool send(std::int64_t p, int m, double* to) const {
    const int n = v.width[p];
    if (n < 4 || !v.chance[p] || top_[p - first] == kZero) return false;
    const double *chance = v.chance[p], *most = v.most + v.up[p], *below = weight(p);
    for (int k = 0; k < m; ++k, chance += n) {
      Vec sum = {};
      for (int l = 0; l < n; l += W)
        sum += load_part(chance + l, n - l, 0.0) * load_part(below + l, n - l, 0.0);
      to[k] = sum_of(sum);
      if (!(to[k] > 0x1p-900)) return false;
    }
    for (int k = 0; k < m; k += W)
      store_part(
          to + k, m - k,
          log(load_part(to + k, m - k, 1.0)) + load_part(most + k, m - k, 0.0) + top_[p - first]);
    return true;
  }

  // Rows are filled with what variables see outside; adds what comes from below.  Returns log Z.
  double up() const {
    for (std::int64_t p = last; p-- > first;) {
      const int n = v.width[p];
      const double top = top_[p - first] = highest(row(p), n);
      double total = top == kZero ? 0.0 : exponentials(row(p), n, top, weight(p));
      const std::int32_t parent = v.parent[p];
      if (parent < 0) return top == kZero ? kZero : top + std::log(total);
      double *to = message(p), *above = row(parent);
      if (!send(p, v.width[parent], to))
        for (std::int32_t k = 0; k < v.width[parent]; ++k) to[k] = shares(p, k, total);
      for (std::int32_t k = 0; k < v.width[parent]; ++k) above[k] += to[k];
    }
    return 0.0;  // a block without variables
  }

  // Marginals [labels of the block] where log Z is above -inf, and of edges where `joint` is not
  // null.
  void down(double* node, double* joint, const std::int64_t* edge_at) const {
    for (std::int64_t p = first; p < last; ++p) {
      const int n = v.width[p];
      double *q = node + (v.at[p] - v.at[first]), total = 0.0;
      const std::int32_t parent = v.parent[p];
      if (parent < 0) {
        for (int l = 0; l < n; ++l) total += weight(p)[l];
        for (int l = 0; l < n; ++l) q[l] = weight(p)[l] / total;
        continue;
      }
      for (int l = 0; l < n; ++l) q[l] = 0.0;
      const double* above = node + (v.at[parent] - v.at[first]);
      for (std::int32_t k = 0; k < v.width[parent]; ++k) {
        if (!(above[k] > 0.0)) continue;
        shares(p, k, total);
        double* cells = joint ? joint + edge_at[p] + static_cast<std::int64_t>(k) * n : nullptr;
        const double unit = above[k] / total;
        for (int l = 0; l < n; ++l) {
          q[l] += unit * spare[l];
          if (cells) cells[l] += unit * spare[l];
        }
      }
    }
  }

  // Labels drawn from the root down.
  void draw(std::uint64_t key, std::int32_t* label) const {
    for (std::int64_t p = first; p < last; ++p) {
      const int n = v.width[p];
      double total = 0.0;
      const double* chance = spare;
      if (v.parent[p] < 0) {
        chance = weight(p);
        for (int l = 0; l < n; ++l) total += chance[l];
      } else {
        shares(p, label[v.parent[p]], total);
      }
      label[p] = pick(chance, n, 1, random_at(key, p) * total);
    }
  }
};

inline Watched draw_trees(const BlockVisits& v, const Drawing& d, std::int64_t first,
                          std::int64_t last, double* scratch) {
  const std::uint64_t key = key_of(d);
  Watched sums = {0.0, 0.0, 0.0};
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t from = v.block_ptr[b], to = v.block_ptr[b + 1];
    double* node = scratch;
    const TreeRows rows(v, b, scratch + (v.at[to] - v.at[from]));
    for (std::int64_t p = from; p < to; ++p) local_scores<0>(v, p, d.label, 1, rows.row(p));
    rows.up();
    if (d.node) {
      rows.down(node, d.joint, d.edge_at);
      for (std::int64_t p = from; p < to; ++p)
        add_marginals(v, d, p, node + (v.at[p] - v.at[from]), 1);
    }
    rows.draw(key, d.label);
    for (std::int64_t p = from; p < to; ++p) watch(sums, p, rows.row(p)[d.label[p]], d.label[p]);
  }
  return sums;
}

inline double average(const BlockVisits& v, const Averaging& a, std::int64_t first,
                      std::int64_t last, double* scratch) {
  double change = 0.0;
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t from = v.block_ptr[b], to = v.block_ptr[b + 1],
                       labels = v.at[to] - v.at[from];
    double *node = scratch, *mean = scratch + labels, *q = a.node + v.at[from];
    const TreeRows rows(v, b, scratch + 2 * labels);
    for (std::int64_t i = 0; i < labels; ++i) mean[i] = 0.0;
    for (std::int64_t p = from; p < to; ++p) {
      double* out = mean + (v.at[p] - v.at[from]);
      for (std::int64_t i = v.local_ptr[p]; i < v.local_ptr[p + 1]; ++i)
        add_mean(v, v.local[i], v.width[p], a.node, out);
      for (int l = 0; l < v.width[p]; ++l) rows.row(p)[l] = v.own[v.at[p] + l] + out[l];
    }
    const double total = rows.up();
    if (total == kZero) return kInfinity;
    if (a.joint)
      for (std::int64_t i = a.edge_at[from]; i < a.edge_at[to]; ++i) a.joint[i] = 0.0;
    rows.down(node, a.joint, a.edge_at);
    double inner = total;
    for (std::int64_t i = 0; i < labels; ++i) {
      const double step = std::fabs(node[i] - q[i]);
      change = step > change ? step : change;
      q[i] = node[i];
      if (node[i] > 0.0) inner -= node[i] * mean[i];
    }
    a.inner[b] = inner;
  }
  return change;
}

}  // namespace crfkit::CRFKIT_ARCH
