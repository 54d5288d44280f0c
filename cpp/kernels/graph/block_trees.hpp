// Trees of variables summed exactly given the rest: forward filtering and backward sampling for
// block Gibbs (Hamze & de Freitas 2004), marginals for structured mean field (Saul & Jordan 1996).
// In logarithms, so that only what is forbidden is 0.
#pragma once

#include <cmath>

#include "kernels/graph/draws.hpp"

namespace crfkit::CRFKIT_ARCH {

// Rows of scores and messages up of one block.
struct TreeRows {
  const Visits& v;
  std::int64_t first, last;         // positions
  double *row_, *message_, *spare;  // spare: labels of the widest variable

  TreeRows(const Visits& visits, std::int64_t block, double* scratch)
      : v(visits), first(v.block_ptr[block]), last(v.block_ptr[block + 1]) {
    row_ = scratch;
    message_ = row_ + (v.at[last] - v.at[first]);
    spare = message_ + (v.up[last] - v.up[first]);
  }
  double* row(std::int64_t p) const { return row_ + (v.at[p] - v.at[first]); }
  double* message(std::int64_t p) const { return message_ + (v.up[p] - v.up[first]); }

  // spare[l] = score of the edge to the parent, at its label k, and row of p.
  double candidates(std::int64_t p, std::int32_t k) const {
    const int n = v.width[p];
    const double *scores = v.edge[p] + static_cast<std::int64_t>(k) * n, *below = row(p);
    const double scale = v.edge_scale[p];
    double top = kZero;
    for (int l = 0; l < n; ++l) {
      spare[l] = scale * scores[l] + below[l];
      top = spare[l] > top ? spare[l] : top;
    }
    return top;
  }

  static double log_sum(const double* x, int n, double top) {
    if (top == kZero) return kZero;
    Vec sum = {};
    for (int l = 0; l < n; l += W) sum += exp(load_part(x + l, n - l, kZero) - top);
    return top + std::log(sum_of(sum));
  }

  // Rows are filled with what variables see outside; adds what comes from below.  Returns log Z.
  double up() const {
    for (std::int64_t p = last; p-- > first;) {
      const std::int32_t parent = v.parent[p];
      if (parent < 0) continue;
      double *to = message(p), *above = row(parent);
      for (std::int32_t k = 0; k < v.width[parent]; ++k) {
        to[k] = log_sum(spare, v.width[p], candidates(p, k));
        above[k] += to[k];
      }
    }
    const int n = v.width[first];
    double top = kZero;
    for (int l = 0; l < n; ++l) top = row(first)[l] > top ? row(first)[l] : top;
    return log_sum(row(first), n, top);
  }

  // Marginals [labels of the block] given log Z, and of edges where `joint` is not null.
  void down(double total, double* node, double* joint, const std::int64_t* edge_at) const {
    for (std::int64_t p = first; p < last; ++p) {
      const int n = v.width[p];
      double* q = node + (v.at[p] - v.at[first]);
      const std::int32_t parent = v.parent[p];
      if (parent < 0) {
        for (int l = 0; l < n; ++l) q[l] = row(p)[l] == kZero ? 0.0 : std::exp(row(p)[l] - total);
        continue;
      }
      for (int l = 0; l < n; ++l) q[l] = 0.0;
      const double* above = node + (v.at[parent] - v.at[first]);
      for (std::int32_t k = 0; k < v.width[parent]; ++k) {
        double* cells = joint ? joint + edge_at[p] + static_cast<std::int64_t>(k) * n : nullptr;
        if (!(above[k] > 0.0)) continue;
        candidates(p, k);
        const double sum = message(p)[k];
        for (int l = 0; l < n; ++l) {
          const double share = spare[l] == kZero ? 0.0 : above[k] * std::exp(spare[l] - sum);
          q[l] += share;
          if (cells) cells[l] += share;
        }
      }
    }
  }

  // Labels drawn from the root down.
  void draw(std::uint64_t key, std::int32_t* label) const {
    for (std::int64_t p = first; p < last; ++p) {
      const int n = v.width[p];
      double top = kZero;
      if (v.parent[p] < 0) {
        for (int l = 0; l < n; ++l) {
          spare[l] = row(p)[l];
          top = spare[l] > top ? spare[l] : top;
        }
      } else {
        top = candidates(p, label[v.parent[p]]);
      }
      double total = 0.0;
      for (int l = 0; l < n; ++l) {
        spare[l] = spare[l] == kZero ? 0.0 : std::exp(spare[l] - top);
        total += spare[l];
      }
      label[p] = pick(spare, n, 1, random_at(key, p) * total);
    }
  }
};

// scratch: labels and messages up of a block, the widest variable, and the labels of a block again.
inline Watched draw_trees(const Visits& v, const Drawing& d, std::int64_t first, std::int64_t last,
                          double* scratch) {
  const std::uint64_t key = key_of(d);
  Watched sums = {0.0, 0.0, 0.0};
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t from = v.block_ptr[b], to = v.block_ptr[b + 1];
    double* node = scratch;
    const TreeRows rows(v, b, scratch + (v.at[to] - v.at[from]));
    for (std::int64_t p = from; p < to; ++p) local_scores<0>(v, p, d.label, 1, rows.row(p));
    const double total = rows.up();
    if (d.node) {
      rows.down(total, node, d.joint, d.edge_at);
      for (std::int64_t p = from; p < to; ++p)
        add_marginals(v, d, p, node + (v.at[p] - v.at[from]), 1);
    }
    rows.draw(key, d.label);
    for (std::int64_t p = from; p < to; ++p) watch(sums, p, rows.row(p)[d.label[p]], d.label[p]);
  }
  return sums;
}

inline double average(const Visits& v, const Averaging& a, std::int64_t first, std::int64_t last,
                      double* scratch) {
  double change = 0.0;
  for (std::int64_t b = first; b < last; ++b) {
    const std::int64_t from = v.block_ptr[b], to = v.block_ptr[b + 1],
                       labels = v.at[to] - v.at[from];
    double *node = scratch, *mean = scratch + labels, *q = a.node + v.at[from];
    const TreeRows rows(v, b, scratch + 2 * labels);
    for (std::int64_t i = 0; i < labels; ++i) mean[i] = 0.0;
    for (std::int64_t p = from; p < to; ++p) {
      double* out = mean + (v.at[p] - v.at[from]);
      for (std::int64_t i = v.pull_ptr[p]; i < v.pull_ptr[p + 1]; ++i)
        add_mean(v, v.pull[i], v.width[p], a.node, out);
      for (int l = 0; l < v.width[p]; ++l) rows.row(p)[l] = v.own[v.at[p] + l] + out[l];
    }
    const double total = rows.up();
    if (total == kZero) return kInfinity;
    if (a.joint)
      for (std::int64_t i = a.edge_at[from]; i < a.edge_at[to]; ++i) a.joint[i] = 0.0;
    rows.down(total, node, a.joint, a.edge_at);
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
