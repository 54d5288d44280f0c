#include "graph/lanes/small_program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace crfkit {

namespace {

constexpr std::int64_t kMostSmallCells = 1 << 14;

constexpr std::size_t kMostSmallList = 1 << 20;

// Greedy: next the variable with the smallest product or, if `fill`, the fewest new edges.
struct SmallOrder {
  std::vector<std::int32_t> variable;
  double cells = 0.0;

  SmallOrder(const SmallPattern& pattern, bool fill) {
    const std::int32_t n = static_cast<std::int32_t>(pattern.width.size());
    std::vector<SmallSet> around(n);
    for (const SmallPattern::Factor& factor : pattern.factors)
      for (const std::int32_t a : factor.scope)
        for (const std::int32_t b : factor.scope)
          if (a != b) around[a].add(b);
    std::vector<bool> gone(n);
    for (std::int32_t step = 0; step < n; ++step) {
      std::int32_t best = -1;
      double best_cells = 0.0, best_edges = 0.0;
      for (std::int32_t v = 0; v < n; ++v) {
        if (gone[v]) continue;
        const std::vector<std::int32_t> near = around[v].members();
        double size = pattern.width[v], edges = 0.0;
        for (const std::int32_t a : near) {
          size *= pattern.width[a];
          if (fill)
            for (const std::int32_t b : near) edges += a < b && !around[a].has(b);
        }
        if (best < 0 || edges < best_edges || (edges == best_edges && size < best_cells))
          best = v, best_cells = size, best_edges = edges;
      }
      cells += best_cells;
      if (cells > kMostSmallCells) return;
      for (const std::int32_t a : around[best].members()) {
        around[a].add(around[best]);
        around[a].drop(a);
        around[a].drop(best);
      }
      gone[best] = true;
      variable.push_back(best);
    }
  }
};

}  // namespace

std::vector<std::int32_t> SmallSet::members() const {
  std::vector<std::int32_t> made;
  for (int i = 0; i < kWords; ++i)
    for (std::uint64_t rest = bits_[i]; rest; rest &= rest - 1)
      made.push_back(64 * i + std::countr_zero(rest));
  return made;
}

std::optional<SmallCompiler> SmallCompiler::of(const SmallPattern& pattern) {
  if (static_cast<std::int64_t>(pattern.width.size()) > kMostSmallVariables) return {};
  const SmallOrder by_cells(pattern, false), by_fill(pattern, true);
  const SmallOrder& order = by_fill.cells < by_cells.cells ? by_fill : by_cells;
  if (order.cells > kMostSmallCells) return {};
  SmallCompiler made(pattern);
  if (made.kept_ > kMostSmallCells) return {};
  made.compile(order.variable);
  if (made.list_.size() > kMostSmallList) return {};
  return made;
}

SmallProgram SmallCompiler::program() const {
  return {static_cast<std::int32_t>(width_.size()),
          static_cast<std::int32_t>(input_.size()),
          static_cast<std::int32_t>(step_.size()),
          static_cast<std::int32_t>(kept_ + scratch_),
          input_.data(),
          step_.data(),
          product_.data(),
          operand_.data(),
          list_.data()};
}

SmallCompiler::SmallCompiler(const SmallPattern& pattern) : width_(pattern.width) {
  std::vector<bool> scored(width_.size());
  for (const SmallPattern::Factor& factor : pattern.factors) {
    add_input(factor.group, factor.scope);
    for (const std::int32_t v : factor.scope) scored[v] = true;
  }
  for (std::size_t v = 0; v < width_.size(); ++v)
    if (!scored[v]) add_input(-1, {static_cast<std::int32_t>(v)});
}

std::int32_t SmallCompiler::cells_of(const std::vector<std::int32_t>& axes) const {
  std::int32_t cells = 1;
  for (const std::int32_t v : axes) cells *= width_[v];
  return cells;
}

void SmallCompiler::add_input(std::int32_t group, const std::vector<std::int32_t>& axes) {
  Table made;
  for (const std::int32_t v : axes) made.scope.add(v);
  made.axes = axes;
  made.cells = cells_of(axes);
  made.place = keep(made.cells);
  made.number = static_cast<std::int32_t>(table_.size());
  input_.push_back({group, made.place, made.cells});
  table_.push_back(made);
}

std::int32_t SmallCompiler::keep(std::int32_t cells) {
  const std::int64_t place = kept_;
  kept_ += cells;
  return static_cast<std::int32_t>(place);
}

std::vector<std::int32_t> SmallCompiler::ordered(const SmallSet& scope, std::int32_t last) const {
  SmallSet rest = scope;
  rest.drop(last);
  std::vector<std::int32_t> axes = rest.members();
  axes.push_back(last);
  return axes;
}

std::vector<std::int32_t> SmallCompiler::projection(const std::vector<std::int32_t>& axes,
                                                    const std::vector<std::int32_t>& onto) const {
  std::vector<std::int32_t> made = {0};
  for (const std::int32_t v : axes) {
    std::int32_t stride = 0;
    const auto at = std::find(onto.begin(), onto.end(), v);
    if (at != onto.end()) {
      stride = 1;
      for (auto later = at + 1; later != onto.end(); ++later) stride *= width_[*later];
    }
    std::vector<std::int32_t> longer;
    longer.reserve(made.size() * width_[v]);
    for (const std::int32_t base : made)
      for (std::int32_t y = 0; y < width_[v]; ++y) longer.push_back(base + y * stride);
    made = std::move(longer);
  }
  return made;
}

std::int32_t SmallCompiler::add_cells(std::vector<std::int32_t> cells) {
  for (std::int32_t& cell : cells) cell *= kSmallLanes;
  return add_list(cells);
}

std::int32_t SmallCompiler::add_list(const std::vector<std::int32_t>& numbers) {
  const std::int32_t at = static_cast<std::int32_t>(list_.size());
  list_.insert(list_.end(), numbers.begin(), numbers.end());
  return at;
}

std::int32_t SmallCompiler::add_inverse(const std::vector<std::int32_t>& projection,
                                        std::int32_t cells) {
  const std::size_t count = projection.size() / cells;
  std::vector<std::int32_t> made(projection.size()), filled(cells);
  for (std::size_t i = 0; i < projection.size(); ++i) {
    const std::int32_t to = projection[i];
    made[to * count + filled[to]++] = static_cast<std::int32_t>(i);
  }
  return add_cells(std::move(made));
}

bool SmallCompiler::grows(const Table& left, const Table& right, std::int32_t v) {
  return left.axes.back() == v && std::all_of(right.axes.begin(), right.axes.end(),
                                              [&](auto u) { return u == v || !left.scope.has(u); });
}

void SmallCompiler::multiply(const Table& left, const Table* right, const Table& out,
                             std::int32_t v) {
  if (list_.size() > kMostSmallList) return;  // nobody will use it
  SmallProduct made = {};
  made.out = out.place;
  made.cells = out.cells;
  made.left = left.place;
  made.left_cells = left.cells;
  made.right = right ? right->place : -1;
  made.right_cells = right ? right->cells : 0;
  if (right && grows(left, *right, v)) {
    std::vector<std::int32_t> axes(out.axes.begin(), out.axes.end() - left.axes.size());
    axes.push_back(v);
    made.fresh = out.cells / left.cells;
    made.right_at = add_cells(projection(axes, right->axes));
    product_.push_back(made);
    return;
  }
  const std::vector<std::int32_t> from_left = projection(out.axes, left.axes);
  made.left_at = add_cells(from_left);
  if (left.place != out.place) made.left_from = add_inverse(from_left, left.cells);
  if (right) {
    const std::vector<std::int32_t> from_right = projection(out.axes, right->axes);
    made.right_at = add_cells(from_right);
    made.right_from = add_inverse(from_right, right->cells);
  }
  product_.push_back(made);
}

std::size_t SmallCompiler::next_operand(const Table& now,
                                        const std::vector<std::size_t>& left) const {
  std::size_t best = 0;
  std::int64_t best_cells = 0, best_size = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Table& table = table_[left[i]];
    std::int64_t cells = now.cells;
    for (const std::int32_t v : table.axes)
      if (!now.scope.has(v)) cells *= width_[v];
    if (i == 0 || cells < best_cells || (cells == best_cells && table.cells < best_size))
      best = i, best_cells = cells, best_size = table.cells;
  }
  return best;
}

void SmallCompiler::eliminate(std::int32_t v) {
  std::vector<std::size_t> operands;
  SmallSet scope;
  for (std::size_t i = 0; i < table_.size(); ++i)
    if (!table_[i].used && table_[i].scope.has(v))
      operands.push_back(i), scope.add(table_[i].scope);
  SmallStep step = {};
  step.variable = v;
  step.width = width_[v];
  step.log_width = std::log(static_cast<double>(width_[v]));
  step.first_operand = static_cast<std::int32_t>(operand_.size());
  step.operands = static_cast<std::int32_t>(operands.size());
  for (const std::size_t i : operands) {
    operand_.push_back({table_[i].number, table_[i].axes.size() > 1});
    table_[i].used = true;
  }
  Table whole;
  whole.scope = scope;
  whole.axes = ordered(scope, v);
  whole.cells = cells_of(whole.axes);
  whole.place = keep(whole.cells);
  step.product = whole.place;
  step.first_product = static_cast<std::int32_t>(product_.size());

  Table now;  // begins with the smallest operand
  now.cells = 1;
  std::int64_t scratch = 0;
  const std::size_t first = operands[next_operand(now, operands)];
  operands.erase(std::find(operands.begin(), operands.end(), first));
  now = table_[first];
  step.own = now.place;
  step.own_from = add_inverse(projection(now.axes, {v}), width_[v]);
  step.own_count = now.cells / width_[v];
  if (operands.empty()) multiply(now, nullptr, whole, v);
  bool made_here = false;  // an operand is never multiplied in place
  while (!operands.empty()) {
    const std::size_t i = next_operand(now, operands);
    const Table& right = table_[operands[i]];
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    Table out;
    out.scope = now.scope;
    out.scope.add(right.scope);
    if (made_here && out.scope == now.scope) {
      out = now;
    } else {
      out.axes = ordered(out.scope, v);
      out.cells = cells_of(out.axes);
      if (grows(now, right, v)) {
        out.axes.clear();
        for (const std::int32_t u : right.axes)
          if (u != v) out.axes.push_back(u);
        out.axes.insert(out.axes.end(), now.axes.begin(), now.axes.end());
      }
      if (out.scope == scope) {
        out.place = whole.place;
        whole.axes = out.axes;
      } else {
        out.place = -1 - static_cast<std::int32_t>(scratch);  // until all that is kept is known
        scratch += out.cells;
      }
    }
    multiply(now, &right, out, v);
    now = out;
    made_here = true;
  }
  scratch_ = std::max(scratch_, scratch);
  step.products = static_cast<std::int32_t>(product_.size()) - step.first_product;

  Table message;
  message.scope = scope;
  message.scope.drop(v);
  message.axes = whole.axes;
  message.axes.pop_back();
  message.cells = whole.cells / width_[v];
  message.place = keep(message.cells);
  message.number = static_cast<std::int32_t>(input_.size() + step_.size());
  step.message = message.place;
  step.rest = message.cells;
  step.arounds = static_cast<std::int32_t>(message.axes.size());
  step.around = add_list(message.axes);
  std::vector<std::int32_t> stride(message.axes.size());
  std::int32_t size = width_[v];
  for (std::size_t i = stride.size(); i-- > 0; size *= width_[message.axes[i]]) stride[i] = size;
  add_list(stride);
  table_.push_back(message);
  step_.push_back(step);
}

void SmallCompiler::compile(const std::vector<std::int32_t>& order) {
  for (const std::int32_t v : order) eliminate(v);
  for (SmallProduct& product : product_)
    for (std::int32_t* place : {&product.out, &product.left})
      if (*place < 0) *place = static_cast<std::int32_t>(kept_) - 1 - *place;
  table_ = {};
}

}  // namespace crfkit
