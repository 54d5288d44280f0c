// Losses without inference: every label given all others (pseudo-likelihood), every factor for
// itself (piecewise), every label of every factor given the factor's others.
//
// Blocks of variables and of factors depend on the graph alone, and sums are added in their order:
// the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/checks.hpp"
#include "engine/kept.hpp"
#include "engine/threads/parallel.hpp"
#include "graph/incidence.hpp"
#include "shared/conditionals.hpp"

namespace crfkit {

class ConditionalLoss {
 public:
  double value = 0.0;
  std::vector<std::vector<double>> gradient;  // of each group: [tables, cells]

  ConditionalLoss(const ConditionalKernels& kernels, const Factors& f, const Incidence* incidence,
                  Integers label, Reals weight, Terms terms, int threads)
      : kernels_(kernels), f_(f), label_(label), weight_(weight), terms_(terms), threads_(threads) {
    check();
    if (terms == Terms::labels) add_labels(*incidence);
    for (std::int64_t g = 0; g < f.groups; ++g) add_group(f.group[g]);
  }

 private:
  static constexpr std::int64_t block_ = 2048, pad_ = 8;

  void check() const {
    check_threads(threads_);
    check_length("label", label_.size(), f_.variables);
    check_length("weight", weight_.size(), f_.variables);
    for (std::int64_t v = 0; v < f_.variables; ++v) {
      if (label_[v] < -1 || label_[v] >= f_.width[v])
        refuse("variable " + text(v) + " has label " + text(label_[v]) + ", expected -1 to " +
               text(f_.width[v] - 1));
      if (!std::isfinite(weight_[v])) refuse("weight[" + text(v) + "] is not a finite number");
    }
  }

  void add_labels(const Incidence& incidence) {
    const std::int64_t V = f_.variables;
    share_.resize(f_.label_ptr[V]);
    const Conditionals c = {
        f_,           incidence.ptr.data(), incidence.entry.data(), label_.data(), weight_.data(),
        share_.data()};
    const std::int64_t widest = V ? *std::max_element(f_.width, f_.width + V) : 0;
    add_blocks(V, [&](std::int64_t first, std::int64_t last, std::int64_t) {
      std::vector<double> scratch(widest + pad_);
      return kernels_.labels(c, first, last, scratch.data());
    });
  }

  void add_group(const FactorGroup& group) {
    std::vector<double>& out = gradient.emplace_back(group.tables * group.cells);
    const std::vector<std::int64_t> order = by_table(group);
    const TableTerms c = {group,         terms_,         order.empty() ? nullptr : order.data(),
                          label_.data(), weight_.data(), f_.label_ptr,
                          share_.data(), out.data()};
    std::vector<std::vector<double>> head((group.count + block_ - 1) / block_);
    add_blocks(group.count, [&](std::int64_t first, std::int64_t last, std::int64_t b) {
      if (c.goes_on(first)) head[b].resize(group.cells);
      std::vector<double> scratch(terms_ == Terms::labels ? 0 : group.cells + pad_);
      return kernels_.factors(c, first, last, head[b].data(), scratch.data());
    });
    for (std::size_t b = 0; b < head.size(); ++b) {
      if (head[b].empty()) continue;
      const std::int64_t table = group.table_of(c.factor(static_cast<std::int64_t>(b) * block_));
      double* to = out.data() + table * group.cells;
      for (std::int64_t i = 0; i < group.cells; ++i) to[i] += head[b][i];
    }
  }

  // Factors by the number of their table, and empty where they lie so.
  static std::vector<std::int64_t> by_table(const FactorGroup& group) {
    const std::int64_t M = group.count;
    if (!group.which || std::is_sorted(group.which, group.which + M)) return {};
    std::vector<std::int64_t> next(group.tables + 1), order(M);
    for (std::int64_t m = 0; m < M; ++m) ++next[group.which[m] + 1];
    for (std::int64_t k = 0; k < group.tables; ++k) next[k + 1] += next[k];
    for (std::int64_t m = 0; m < M; ++m) order[next[group.which[m]]++] = m;
    return order;
  }

  template <class Work>
  void add_blocks(std::int64_t count, Work work) {
    const std::int64_t blocks = (count + block_ - 1) / block_;
    std::vector<double> part(blocks);
    parallel_for(blocks, threads_, [&](std::int64_t b) {
      part[b] = work(b * block_, std::min(count, (b + 1) * block_), b);
    });
    for (const double x : part) value += x;
  }

  const ConditionalKernels& kernels_;
  const Factors& f_;
  Integers label_;
  Reals weight_;
  Terms terms_;
  int threads_;
  std::vector<double> share_;  // of all labels
};

}  // namespace crfkit
