#include "graph/visits/tables.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

namespace crfkit {

VisitTables::VisitTables(const Factors& f, const VisitOrder& order, int lanes, bool both)
    : lanes_(lanes), number_of_(f.groups, -1) {
  for (std::int64_t g = 0; g < f.groups; ++g) {
    if (f.group[g].arity == 1) continue;
    number_of_[g] = static_cast<std::int64_t>(group.size());
    kept_.emplace_back();
    Kept& kept = kept_.back();
    VisitGroup made = {};
    made.factors = f.group[g];
    sort(made, kept, order);
    place_rows(made, kept, both);
    if (made.factors.arity == 2) pack(made, kept);
    group.push_back(made);
  }
  lay_out(f.variables);
}

std::vector<double> VisitTables::unpadded(std::int64_t which) const {
  std::vector<double> out;
  if (number_of_.at(which) < 0) return out;
  const VisitGroup& g = group[number_of_[which]];
  const Kept& kept = kept_[number_of_[which]];
  for (std::int64_t m = 0; m < g.factors.count; ++m)
    for (int a = 0; a < g.factors.arity; ++a) {
      const double* from = given.data() + begin(number_of_[which], kept.number[m]) + g.row[a];
      out.insert(out.end(), from, from + g.factors.shape[a]);
    }
  return out;
}

void VisitTables::sort(VisitGroup& made, Kept& kept, const VisitOrder& order) {
  FactorGroup& g = made.factors;
  const FactorGroup was = g;
  std::vector<std::int64_t> first(was.count), from(was.count);
  for (std::int64_t m = 0; m < was.count; ++m) {
    first[m] = order.number[was.variables(m)[0]];
    for (int a = 1; a < was.arity; ++a)
      first[m] = std::min<std::int64_t>(first[m], order.number[was.variables(m)[a]]);
  }
  std::iota(from.begin(), from.end(), 0);
  std::stable_sort(from.begin(), from.end(),
                   [&](std::int64_t a, std::int64_t b) { return first[a] < first[b]; });
  kept.number.resize(was.count), kept.scope.resize(was.count * was.arity);
  made.each = was.tables > 1 && !was.which;
  for (std::int64_t m = 0; m < was.count; ++m) {
    kept.number[from[m]] = m;
    for (int a = 0; a < was.arity; ++a)
      kept.scope[m * was.arity + a] = order.number[was.variables(from[m])[a]];
    if (made.each || was.which)
      kept.which.push_back(static_cast<std::int32_t>(was.table_of(from[m])));
    if (was.scale) kept.scale.push_back(was.scale[from[m]]);
  }
  g.scope = kept.scope.data();
  g.which = made.each || was.which ? kept.which.data() : nullptr;
  g.scale = was.scale ? kept.scale.data() : nullptr;
}

void VisitTables::place_rows(VisitGroup& made, Kept& kept, bool both) const {
  const std::int32_t* shape = made.factors.shape;
  if (!both && made.factors.arity == 2 && shape[0] == shape[1]) {
    kept.row = {0, 0};
    kept.size = padded_row(shape[0]);
  } else {
    for (int a = 0; a < made.factors.arity; ++a) {
      kept.row.push_back(kept.size);
      kept.size += padded_row(shape[a]);
    }
  }
  made.row = kept.row.data();
}

void VisitTables::pack(VisitGroup& made, Kept& kept) const {
  constexpr std::int64_t kMostLines = std::int64_t{1} << 25;  // a quarter of a gigabyte
  constexpr double zero = -std::numeric_limits<double>::infinity();
  const FactorGroup& g = made.factors;
  const std::int64_t A = g.shape[0], B = g.shape[1];
  made.lines_size = B * padded_row(A) + A * padded_row(B);
  if (g.count == 0 || g.tables > kMostLines / made.lines_size) return;
  kept.lines_at = {0, B * padded_row(A)};
  kept.lines.assign(g.tables * made.lines_size, zero);
  for (std::int64_t k = 0; k < g.tables; ++k) {
    double* first = kept.lines.data() + k * made.lines_size;
    const double* table = table_of(made, kept, k);
    double* second = first + kept.lines_at[1];
    for (std::int64_t a = 0; a < A; ++a)
      for (std::int64_t b = 0; b < B; ++b)
        first[b * padded_row(A) + a] = second[a * padded_row(B) + b] = table[a * B + b];
  }
  made.lines = kept.lines.data(), made.lines_at = kept.lines_at.data();
  if (A != B || A < 3) return;
  find_potts(made, kept);
  if (!made.equal && A >= kLeastRamp) find_ramps(made, kept);
}

void VisitTables::find_potts(VisitGroup& made, Kept& kept) const {
  constexpr double zero = -std::numeric_limits<double>::infinity();
  const FactorGroup& g = made.factors;
  const std::int64_t A = g.shape[0];
  kept.equal.assign(g.tables * padded_row(A), zero);
  for (std::int64_t k = 0; k < g.tables; ++k) {
    const double *table = table_of(made, kept, k), unequal = table[1];
    kept.unequal.push_back(unequal);
    for (std::int64_t a = 0; a < A; ++a)
      for (std::int64_t b = 0; b < A; ++b) {
        const double score = table[a * A + b];
        if (a == b ? score < unequal : score != unequal) return;
        if (a == b) kept.equal[k * padded_row(A) + a] = score;
      }
  }
  made.equal = kept.equal.data(), made.unequal = kept.unequal.data();
}

void VisitTables::find_ramps(VisitGroup& made, Kept& kept) const {
  const FactorGroup& g = made.factors;
  const std::int64_t A = g.shape[0];
  for (std::int64_t k = 0; k < g.tables; ++k) {
    const double* table = table_of(made, kept, k);
    const double base = table[0], slope = base - table[1], cap = base - table[A - 1];
    if (!(slope >= 0.0 && slope < std::numeric_limits<double>::infinity() && cap >= slope &&
          cap < std::numeric_limits<double>::infinity()))
      return;
    for (std::int64_t a = 0; a < A; ++a)
      for (std::int64_t b = 0; b < A; ++b) {
        const double far = slope * static_cast<double>(std::abs(a - b));
        if (table[a * A + b] != base - std::min(far, cap)) return;
      }
    kept.ramp.insert(kept.ramp.end(), {base, slope, cap});
  }
  made.ramp = kept.ramp.data();
}

void VisitTables::lay_out(std::int64_t variables) {
  constexpr double zero = -std::numeric_limits<double>::infinity();
  struct Place {
    std::int32_t group;
    std::int64_t factor;
  };
  std::vector<std::int64_t> next(variables + 1, 0);
  const auto first = [](const FactorGroup& g, std::int64_t m) {
    return *std::min_element(g.variables(m), g.variables(m) + g.arity);
  };
  for (const VisitGroup& g : group)
    for (std::int64_t m = 0; m < g.factors.count; ++m) ++next[first(g.factors, m) + 1];
  for (std::int64_t n = 0; n < variables; ++n) next[n + 1] += next[n];
  std::vector<Place> place(next.back());
  for (std::size_t g = 0; g < group.size(); ++g) {
    kept_[g].given.resize(group[g].factors.count);
    for (std::int64_t m = 0; m < group[g].factors.count; ++m)
      place[next[first(group[g].factors, m)]++] = {static_cast<std::int32_t>(g), m};
  }
  std::int64_t size = 0;
  for (const Place& p : place) {
    kept_[p.group].given[p.factor] = size;
    size += kept_[p.group].size;
  }
  given.assign(size, zero);
  for (std::size_t g = 0; g < group.size(); ++g)
    for (std::int64_t m = 0; m < group[g].factors.count; ++m)
      for (int a = 0; a < group[g].factors.arity; ++a)
        std::fill_n(given.begin() + begin(g, m) + group[g].row[a], group[g].factors.shape[a], 0.0);
}

}  // namespace crfkit
