// Sums over the labellings of a component: log Z, and marginals by the reverse pass.
//
// Tables are linear, with a power of two for each: value = number * 2^exponent.  Bounds on the
// numbers are carried along, and a table is looked at only when they leave the range of doubles.
// Forward: no product of two numbers above 0 may underflow, which the bounds (or the numbers
// themselves) must show.  Reverse: what underflows must be far too small to count beside Z.  A
// component that fails is summed again in logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "graph/elimination/component.hpp"
#include "graph/elimination/contract.hpp"
#include "graph/elimination/semiring.hpp"
#include "shared/contraction.hpp"

namespace crfkit {

// The numbers of a table of a program.
struct Numbers {
  std::unique_ptr<double[]> cell;
  std::int64_t exponent = 0;
  double low = 0.0, high = 0.0;  // log2 bounds of the numbers above 0

  void make(std::int64_t cells) { cell = std::unique_ptr<double[]>(new double[cells]); }
};

class ComponentSum {
 public:
  ComponentSum(const Component& c, const Factors& f, const Reduction& left,
               const ContractionKernels& kernels, int threads)
      : c_(c), program_(*c.program), f_(f), left_(left), kernels_(kernels), threads_(threads) {}

  // log Z; marginals are written where `out` is given.
  double run(MarginalsOut* out) {
    logs_ = false;
    double value = forward(out != nullptr);
    if (!lost_ && out && value > -std::numeric_limits<double>::infinity()) reverse(*out);
    if (lost_) {
      logs_ = true;
      value = forward(out != nullptr);
      if (out && value > -std::numeric_limits<double>::infinity()) reverse(*out);
    }
    return value;
  }

 private:
  static constexpr double kSmall = -1000.0, kLarge = 1000.0;  // log2: products beyond are not safe
  static constexpr double kCounts = -900.0;  // log2 Z at least, in the reverse pass

  double forward(bool keep) {
    lost_ = false;
    table_.clear();
    table_.resize(program_.table.size());
    peaks_ = 0.0;
    for (std::size_t s = 0; s < program_.step.size(); ++s) {
      const Step& step = program_.step[s];
      for (const std::int32_t t : {step.a, step.b})
        if (t >= 0 && t < program_.leaves) make_leaf(t);
      if (lost_) return 0.0;
      Numbers &a = table_[step.a], &out = table_[step.out];
      Numbers* b = step.b < 0 ? nullptr : &table_[step.b];
      const ProgramTable& made = program_.table[step.out];
      const Loops loops = program_.loops(step.a, step.b, step.out);
      out.make(made.cells);
      if (logs_) {
        contract_logs(loops, a.cell.get(), b ? b->cell.get() : nullptr, out.cell.get());
      } else {
        const double terms = std::log2(loops.work / static_cast<double>(made.cells));
        if (!safe(a, b, terms) && !(tighten(step.a) && (!b || tighten(step.b)))) {
          return -std::numeric_limits<double>::infinity();  // a table without a number above 0
        }
        if (!safe(a, b, terms)) {
          lost_ = true;
          return 0.0;
        }
        contract(kernels_.sum, 0.0, loops, a.cell.get(), b ? b->cell.get() : nullptr,
                 out.cell.get(), made.cells, threads_);
        out.exponent = a.exponent + (b ? b->exponent : 0);
        out.low = a.low + (b ? b->low : 0.0);
        out.high = a.high + (b ? b->high : 0.0) + terms;
      }
      const bool turned = step.b < 0 && step.summed.empty();
      if (!keep || turned) a.cell.reset();
      if (!keep && b) b->cell.reset();
    }
    const Numbers& last = table_[program_.step.back().out];
    const double z = last.cell[0];
    if (logs_) return z_ = peaks_ + z;
    if (!(z > 0.0)) return -std::numeric_limits<double>::infinity();
    bits_ = std::log2(z) + static_cast<double>(last.exponent);
    return z_ = std::log(z) + static_cast<double>(last.exponent) * std::log(2.0) + peaks_;
  }

  void make_leaf(std::int32_t t) {
    const std::int64_t cells = program_.table[t].cells;
    Numbers& leaf = table_[t];
    leaf.make(cells);
    double* x = leaf.cell.get();
    c_.fill(f_, left_, t, x);
    double most = -std::numeric_limits<double>::infinity(), least = -most;
    for (std::int64_t i = 0; i < cells; ++i) {
      most = std::max(most, x[i]);
      if (x[i] > -std::numeric_limits<double>::infinity()) least = std::min(least, x[i]);
    }
    if (most == -std::numeric_limits<double>::infinity()) most = least = 0.0;  // all are forbidden
    peaks_ += most;
    leaf.low = (least - most) * (1.0 / std::log(2.0)) - 1e-6;
    leaf.high = 1e-6;
    lost_ |= !logs_ && leaf.low < kSmall;
    for (std::int64_t i = 0; i < cells; ++i) x[i] = logs_ ? x[i] - most : std::exp(x[i] - most);
  }

  static bool safe(const Numbers& a, const Numbers* b, double terms) {
    return a.low + (b ? b->low : 0.0) > kSmall && a.high + (b ? b->high : 0.0) + terms < kLarge;
  }

  // Scales a table so that its largest number is between 1 and 2; false if all are 0.
  bool tighten(std::int32_t t) { return tighten(table_[t], program_.table[t].cells); }
  bool tighten(Numbers& table, std::int64_t cells) {
    double least, most;
    kernels_.range(table.cell.get(), cells, &least, &most);
    if (!(most > 0.0)) return false;
    int shift;
    std::frexp(most, &shift);
    --shift;
    if (shift) {
      // In two steps: 2^-shift itself may not be a double.
      const int half = shift / 2;
      kernels_.multiply(table.cell.get(), cells, std::ldexp(1.0, -half));
      kernels_.multiply(table.cell.get(), cells, std::ldexp(1.0, half - shift));
      table.exponent += shift;
    }
    table.low = std::log2(least) - shift - 1e-6;
    table.high = 1.0;
    return true;
  }

  // ---- the reverse pass: the adjoint of each table takes its place

  void reverse(MarginalsOut& out) {
    std::vector<Numbers> adjoint(program_.table.size());
    Numbers& root = adjoint[program_.step.back().out];
    root.make(1);
    root.cell[0] = logs_ ? 0.0 : 1.0;
    choose_leaves();
    for (std::size_t s = program_.step.size(); s-- > 0;) {
      const Step& step = program_.step[s];
      Numbers& above = adjoint[step.out];
      table_[step.out].cell.reset();
      if (!logs_ && !counts(step, above)) {
        lost_ = true;
        return;
      }
      make_adjoint(step.a, step.b, step.out, adjoint);
      if (step.b >= 0) make_adjoint(step.b, step.a, step.out, adjoint);
      above.cell.reset();
      for (const std::int32_t t : {step.a, step.b}) {
        if (t < 0) continue;
        if (t < program_.leaves) finish_leaf(t, adjoint[t], out);
        table_[t].cell.reset();
      }
    }
  }

  void make_adjoint(std::int32_t t, std::int32_t other, std::int32_t from,
                    std::vector<Numbers>& adjoint) {
    const std::int64_t cells = program_.table[t].cells;
    const Loops loops = program_.loops(from, other, t);
    Numbers& made = adjoint[t];
    made.make(cells);
    const Numbers& above = adjoint[from];
    const double* b = other < 0 ? nullptr : table_[other].cell.get();
    if (logs_) {
      contract_logs(loops, above.cell.get(), b, made.cell.get());
      return;
    }
    contract(kernels_.sum, 0.0, loops, above.cell.get(), b, made.cell.get(), cells, threads_);
    made.exponent = above.exponent + (other < 0 ? 0 : table_[other].exponent);
    made.high = above.high + (other < 0 ? 0.0 : table_[other].high) +
                std::log2(loops.work / static_cast<double>(cells));
  }

  // Whether what underflows in the adjoints of a step is nothing beside Z.
  bool counts(const Step& step, Numbers& above) {
    const auto holds = [&] {
      const Numbers& a = table_[step.a];
      const double b_high = step.b < 0 ? 0.0 : table_[step.b].high;
      const double exponents = static_cast<double>(above.exponent + a.exponent +
                                                   (step.b < 0 ? 0 : table_[step.b].exponent));
      const double highest = std::max({0.0, above.high, a.high, b_high});
      return bits_ - exponents > kCounts + highest &&
             std::max(0.0, above.high) + std::max(0.0, a.high) + std::max(0.0, b_high) <
                 kLarge - 64;
    };
    if (holds()) return true;
    if (!tighten(above, program_.table[step.out].cells)) return true;  // nothing leads to Z
    if (table_[step.a].cell) tighten(step.a);
    if (step.b >= 0) tighten(step.b);
    return holds();
  }

  // The smallest leaf of each variable answers for it.
  void choose_leaves() {
    std::vector<std::int32_t> best(program_.width.size(), -1);
    for (std::int32_t t = 0; t < program_.leaves; ++t)
      for (const std::int32_t v : program_.table[t].axis)
        if (best[v] < 0 || program_.table[t].cells < program_.table[best[v]].cells) best[v] = t;
    wants_.assign(program_.leaves, {});
    for (std::int32_t t = 0; t < program_.leaves; ++t)
      for (const std::int32_t v : program_.table[t].axis) wants_[t].push_back(best[v] == t);
  }

  void finish_leaf(std::int32_t t, Numbers& adjoint, MarginalsOut& out) {
    const std::int64_t cells = program_.table[t].cells;
    double* p = adjoint.cell.get();
    const double* x = table_[t].cell.get();
    double total = 0.0;
    const double shift = static_cast<double>(adjoint.exponent + table_[t].exponent) - bits_;
    const double scale = logs_ ? 1.0 : std::exp2(shift);
    for (std::int64_t i = 0; i < cells; ++i) {
      p[i] = logs_ ? std::exp(p[i] + x[i] + peaks_ - z_) : x[i] * p[i] * scale;
      total += p[i];
    }
    for (std::int64_t i = 0; i < cells; ++i) p[i] /= total;
    spread(c_, f_, left_, t, p, wants_[t], out);
    adjoint.cell.reset();
  }

  const Component& c_;
  const Program& program_;
  const Factors& f_;
  const Reduction& left_;
  const ContractionKernels& kernels_;
  int threads_;
  bool logs_ = false, lost_ = false;
  std::vector<Numbers> table_;
  std::vector<std::vector<std::uint8_t>> wants_;
  double peaks_ = 0.0, bits_ = 0.0, z_ = 0.0;  // sum of the leaves' maxima, log2 and log of Z
};

}  // namespace crfkit
