#include "graph/messages/tables.hpp"

namespace crfkit {

Range::Range(const double* score, std::int64_t n) {
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    most = std::max(most, score[i]);
    if (score[i] > kForbidden) least = std::min(least, score[i]);
    forbids |= score[i] == kForbidden;
  }
  if (most == kForbidden) {
    most = 0.0;
  } else {
    spread = most - least;
  }
}

TableRanges::TableRanges(const Factors& f) : of(f.groups) {
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    if (group.arity < 2 || !group.count) continue;
    for (std::int64_t k = 0; k < group.tables; ++k)
      of[g].emplace_back(group.table + k * group.cells, group.cells);
  }
}

MessageTables::MessageTables(const PathKernels& kernels, const Factors& f, const Places& places,
                             const TableRanges& ranges, MessageRule rule, const double* weight)
    : factor(places.factors()), kernels_(kernels), rule_(rule) {
  std::vector<Group> groups(f.groups);
  bool scaled = weight != nullptr;
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    if (group.arity < 2 || !group.count) continue;
    groups[g] = add(group, ranges.of[g]);
    scaled |= group.scale && !each(group);
  }
  if (scaled) scale.assign(factor.size(), 1.0);
  for (std::int64_t i = 0; i < places.factors(); ++i) {
    const FactorGroup& group = f.group[places.group[i]];
    const Group& made = groups[places.group[i]];
    const std::int64_t m = places.which[i], k = each(group) ? m : group.table_of(m);
    factor[i] = {made.cell ? made.cell + k * group.cells : nullptr,
                 static_cast<std::int32_t>(made.first + (made.many ? k : 0))};
    if (scaled && !each(group)) scale[i] = group.scale_of(m) / (weight ? weight[i] : 1.0);
  }
}

double* MessageTables::room(std::int64_t n) {
  kept_.emplace_back(n);
  return kept_.back().data();
}

MessageTables::Group MessageTables::add(const FactorGroup& g, const std::vector<Range>& range) {
  const MessageTable plain = {g.arity, g.shape, g.cells, {nullptr, nullptr},
                              nullptr, 0.0,     false,   sums() && g.scale && !each(g)};
  Group made;
  made.first = static_cast<std::int64_t>(table.size());
  if (!sums()) {
    made.cell = g.table;
  } else if (each(g)) {
    double* cell = room(g.count * g.cells);
    made.cell = cell;
    for (std::int64_t m = 0; m < g.count; ++m, cell += g.cells)
      kernels_.exponentiate(g.scores(m), g.cells, g.scale[m], range[g.table_of(m)].most, cell);
  } else {
    double* cell = room(g.tables * g.cells);
    made.cell = cell;
    for (std::int64_t k = 0; k < g.tables; ++k, cell += g.cells) {
      const double* score = g.table + k * g.cells;
      if (plain.raw) {
        for (std::int64_t i = 0; i < g.cells; ++i) cell[i] = score[i] - range[k].most;
      } else {
        kernels_.exponentiate(score, g.cells, 1.0, range[k].most, cell);
      }
    }
  }
  // Matrices, and tables of "same or not", are made where many factors share them.
  made.many = rule_ != MessageRule::log_sums && !each(g) && g.count >= 4 * g.tables;
  for (std::int64_t k = 0; k < (made.many ? g.tables : 1); ++k) {
    table.push_back(plain);
    if (!made.many) continue;
    const double* score = g.table + k * g.cells;
    MessageTable& t = table.back();
    if (knows_same_only(g, score)) {
      double* same = room(padded(g.shape[0]));
      const double shift = sums() ? range[k].most : 0.0;
      t.same = same, t.other = linear(score[1] - shift, t.raw), t.rises = true;
      for (std::int32_t i = 0; i < g.shape[0]; ++i) {
        same[i] = linear(score[i * (g.shape[0] + 1)] - shift, t.raw);
        t.rises &= same[i] >= t.other;
      }
    } else if (!g.scale) {
      pack(g, made.cell + k * g.cells, t);
    }
  }
  return made;
}

void MessageTables::pack(const FactorGroup& g, const double* cell, MessageTable& t) {
  if (g.arity != 2 || g.shape[0] <= kPad || g.shape[1] <= kPad) return;
  const double none = sums() ? 0.0 : kForbidden;
  for (int axis = 0; axis < 2; ++axis) {
    double* packed = room(kernels_.packed_size(g.shape[1 - axis], g.shape[axis]));
    kernels_.pack(cell, g.shape[0], g.shape[1], axis == 0, none, packed);
    t.packed[axis] = packed;
  }
}

bool MessageTables::knows_same_only(const FactorGroup& g, const double* score) {
  if (g.arity != 2 || g.shape[0] != g.shape[1] || g.shape[0] <= kPad) return false;
  const std::int64_t n = g.shape[0];
  for (std::int64_t i = 0; i < g.cells; ++i)
    if (i % (n + 1) != 0 && score[i] != score[1]) return false;
  return true;
}

}  // namespace crfkit
