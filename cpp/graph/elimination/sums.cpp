#include "graph/elimination/sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/elimination/contract.hpp"
#include "graph/elimination/semiring.hpp"

namespace crfkit {

double ComponentSum::run(MarginalsOut* out) {
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

bool ComponentSum::keep_tables() {
  logs_ = false;
  double value = forward(true);
  if (lost_) logs_ = true, value = forward(true);
  return value > -std::numeric_limits<double>::infinity();
}

void ComponentSum::weights(const Step& step, const Choices& choices,
                           std::vector<double>& out) const {
  out.clear();
  const double* a = table_[step.a].cell.get();
  const double* b = step.b < 0 ? nullptr : table_[step.b].cell.get();
  double most = -std::numeric_limits<double>::infinity();
  choices.each([&](std::int64_t i, std::int64_t j) {
    out.push_back(logs_ ? a[i] + (b ? b[j] : 0.0) : a[i] * (b ? b[j] : 1.0));
    most = std::max(most, out.back());
  });
  if (logs_)
    for (double& x : out) x = std::exp(x - most);
}

double ComponentSum::forward(bool keep) {
  lost_ = false;
  pool_ = CellPool(program_.cells);
  for (std::vector<Numbers>* each : {&table_, &adjoint_, &joint_}) each->clear();
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
    const double terms = std::log2(program_.many_cells(step.summed));
    if (!logs_ && !safe(a, b, terms)) {
      if (!tighten(step.a) || (b && !tighten(step.b)))
        return -std::numeric_limits<double>::infinity();  // a table without a number above 0
      if ((lost_ = !safe(a, b, terms))) return 0.0;
    }
    const double* from = a.cell.get();
    if (step.in_place) {
      out.cell = std::move(a.cell);
    } else {
      out.cell = pool_.take(made.cells);
    }
    combine(step.a, step.b, step.out, from, b ? b->cell.get() : nullptr, out.cell.get());
    out.exponent = a.exponent + (b ? b->exponent : 0);
    out.low = a.low + (b ? b->low : 0.0);
    out.high = a.high + (b ? b->high : 0.0) + terms;
    if (!keep || step.turns()) pool_.give(a.cell);
    if (!keep && b) pool_.give(b->cell);
  }
  const Numbers& last = table_[program_.step.back().out];
  const double z = last.cell[0];
  if (logs_) return z_ = peaks_ + z;
  if (!(z > 0.0)) return -std::numeric_limits<double>::infinity();
  bits_ = std::log2(z) + static_cast<double>(last.exponent);
  return z_ = std::log(z) + static_cast<double>(last.exponent) * std::log(2.0) + peaks_;
}

double ComponentSum::combine(std::int32_t a, std::int32_t b, std::int32_t c, const double* from,
                             const double* with, double* to) const {
  const std::int64_t cells = program_.table[c].cells;
  if (logs_) {
    contract_logs(program_.loops(a, b, c), from, with, to);
    return 0.0;
  }
  const KernelLoops loops = program_.kernel_loops(a, b, c);
  contract(kernels_.sum, 0.0, loops, from, with, to, cells, threads_);
  return std::log2(loops.work / static_cast<double>(cells));
}

void ComponentSum::make_leaf(std::int32_t t) {
  const std::int64_t cells = program_.table[t].cells;
  Numbers& leaf = table_[t];
  leaf.cell = pool_.take(cells);
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

bool ComponentSum::tighten(Numbers& table, std::int64_t cells) {
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

void ComponentSum::reverse(MarginalsOut& out) {
  adjoint_.clear();
  adjoint_.resize(program_.table.size());
  joint_.clear();
  joint_.resize(program_.table.size());
  Numbers& root = adjoint_[program_.step.back().out];
  root.cell = pool_.take(1);
  root.cell[0] = logs_ ? 0.0 : 1.0;
  choose_leaves();
  for (std::size_t s = program_.step.size(); s-- > 0;) {
    const Step& step = program_.step[s];
    Numbers& above = adjoint_[step.out];
    if (!step.in_place) {
      if (step.turns() && program_.needs_value(step.a)) {  // it was given up for the turned one
        const bool joint = static_cast<bool>(joint_[step.out].cell);
        Numbers &from = (joint ? joint_ : table_)[step.out],
                &to = (joint ? joint_ : table_)[step.a];
        const std::int64_t cells = program_.table[step.a].cells;
        to.cell = pool_.take(cells);
        to.exponent = from.exponent;
        combine(step.out, -1, step.a, from.cell.get(), nullptr, to.cell.get());
        pool_.give(from.cell);
      }
      pool_.give(table_[step.out].cell);
    }
    if (!logs_ && !counts(step, above)) {
      lost_ = true;
      return;
    }
    if (step.in_place) {
      part(step);
    } else {
      make_adjoint(step.a, step.b, step.out);
      if (step.b >= 0) make_adjoint(step.b, step.a, step.out);
    }
    pool_.give(above.cell);
    for (const std::int32_t t : {step.a, step.b}) {
      if (t < 0) continue;
      if (t < program_.leaves) finish_leaf(t, adjoint_[t], out);
      if (!program_.needs_value(t)) pool_.give(table_[t].cell);
    }
  }
}

void ComponentSum::make_adjoint(std::int32_t t, std::int32_t other, std::int32_t from) {
  const Numbers& above = adjoint_[from];
  Numbers& made = adjoint_[t];
  made.cell = pool_.take(program_.table[t].cells);
  const double terms = combine(from, other, t, above.cell.get(),
                               other < 0 ? nullptr : table_[other].cell.get(), made.cell.get());
  made.exponent = above.exponent + (other < 0 ? 0 : table_[other].exponent);
  made.high = above.high + (other < 0 ? 0.0 : table_[other].high) + terms;
}

void ComponentSum::part(const Step& step) {
  Numbers &above = adjoint_[step.out], &value = table_[step.out], &b = table_[step.b];
  const std::int64_t cells = program_.table[step.b].cells;
  Numbers& made = adjoint_[step.b];
  made.cell = pool_.take(cells);
  Numbers joint = std::move(joint_[step.out]);
  const bool known = static_cast<bool>(joint.cell);
  const double* from = known ? joint.cell.get() : value.cell.get();
  combine(step.out, known ? -1 : step.out, step.b, from, known ? nullptr : above.cell.get(),
          made.cell.get());
  made.exponent = (known ? joint.exponent : value.exponent + above.exponent) - b.exponent;
  if (!logs_) tighten(made, cells);
  for (std::int64_t i = 0; i < cells; ++i) {
    double& x = made.cell[i];
    if (logs_) {
      if (x > -std::numeric_limits<double>::infinity()) x -= b.cell[i];
    } else if (b.cell[i] > 0.0) {
      x /= b.cell[i];
    }
  }
  if (!logs_) tighten(made, cells);
  if (program_.needs_value(step.a)) {
    if (!known) {
      joint.cell = std::move(value.cell);
      joint.exponent = value.exponent + above.exponent;
      combine(step.out, step.out, step.out, joint.cell.get(), above.cell.get(), joint.cell.get());
    }
    joint_[step.a] = std::move(joint);
  }
  pool_.give(value.cell);
  Numbers& rest = adjoint_[step.a];
  rest.cell = std::move(above.cell);
  combine(step.out, step.b, step.out, rest.cell.get(), b.cell.get(), rest.cell.get());
  rest.exponent = above.exponent + b.exponent;
  rest.high = above.high + b.high;
}

bool ComponentSum::counts(const Step& step, Numbers& above) {
  const auto holds = [&] {
    const Numbers& a = table_[step.a];
    const double b_high = step.b < 0 ? 0.0 : table_[step.b].high;
    const double exponents = static_cast<double>(above.exponent + a.exponent +
                                                 (step.b < 0 ? 0 : table_[step.b].exponent));
    const double highest = std::max({0.0, above.high, a.high, b_high});
    if (step.in_place && !joint_[step.out].cell) {
      const Numbers& value = table_[step.out];
      const double scaled = bits_ - static_cast<double>(above.exponent + value.exponent);
      if (scaled < kCounts + highest || above.high + value.high > kLarge - 64) return false;
    }
    return bits_ - exponents > kCounts + highest &&
           std::max(0.0, above.high) + std::max(0.0, a.high) + std::max(0.0, b_high) < kLarge - 64;
  };
  if (holds()) return true;
  if (!tighten(above, program_.table[step.out].cells)) return true;  // nothing leads to Z
  if (table_[step.a].cell) tighten(step.a);
  if (step.b >= 0) tighten(step.b);
  if (step.in_place && table_[step.out].cell) tighten(step.out);
  return holds();
}

void ComponentSum::choose_leaves() {
  std::vector<std::int32_t> best(program_.width.size(), -1);
  for (std::int32_t t = 0; t < program_.leaves; ++t)
    for (const std::int32_t v : program_.table[t].axis)
      if (best[v] < 0 || program_.table[t].cells < program_.table[best[v]].cells) best[v] = t;
  wants_.assign(program_.leaves, {});
  for (std::int32_t t = 0; t < program_.leaves; ++t)
    for (const std::int32_t v : program_.table[t].axis) wants_[t].push_back(best[v] == t);
}

void ComponentSum::finish_leaf(std::int32_t t, Numbers& adjoint, MarginalsOut& out) {
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
  pool_.give(adjoint.cell);
}

}  // namespace crfkit
