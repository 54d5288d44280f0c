// Elimination as a program: a tree of contractions of two tables.
//
// A component of a graph becomes *leaves*, tables made of its factors, and *steps*
//     out[kept] = sum over the other variables of a[...] * b[...],
// children before parents; the last table has one cell, Z.  Every table but the last is used once,
// so that the reverse pass is contractions as well: the adjoint of a is the contraction of the
// adjoint of out with b.  The product of the tables of a variable (its bucket) is not built: two
// are multiplied and summed at once.
//
// Other semirings: fill the leaves (`Component::fill` of component.hpp gives their scores), and
// call `contract<Ring>(program.loops(a, b, out), ...)` of semiring.hpp for one step after the
// other, with cells of any type.  To trace a labeling back, take the steps in reverse: all
// variables of `out` are known, those in `summed` are to be chosen among the cells of a and b
// (trace.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shared/contraction.hpp"

namespace crfkit {

struct ProgramTable {
  std::vector<std::int32_t> axis;  // variables of the component, the last fastest
  std::int64_t cells = 1;
  std::int32_t made = -1;  // the step that makes it; -1: a leaf
  std::int32_t used = -1;  // the step that uses it; -1: the last table
};

struct Step {
  std::int32_t a, b, out;            // tables; b is -1 where a alone is summed, or turned
  std::vector<std::int32_t> summed;  // variables of a or b that out does not have
  bool in_place = false;  // out has the cells of a, which is not a leaf, and takes its place

  bool turns() const {
    return b < 0 && summed.empty();
  }  // out is a, with its variables in another order
};

struct Loops {
  std::vector<Loop> outer;
  Loop n, k, i;
  double work = 1.0;  // how many products

  bool meets_once() const {  // each cell of out, but for the loops k and i
    if (n.c == 0 && n.extent > 1) return false;
    for (const Loop& loop : outer)
      if (loop.c == 0) return false;
    return true;
  }
};

// Loops for the kernels: the innermost may be several of them, through which two tables run side by
// side and the third jumps.
struct KernelLoops : Loops {
  std::vector<std::int32_t> place;  // of the third table, for each step of i
  char odd = 0;                     // which it is: 'a', 'b' or 'c'
};

struct Program {
  std::vector<std::int32_t> width;  // [n] labels of each variable
  std::vector<ProgramTable> table;  // leaves first
  std::int32_t leaves = 0;
  std::vector<Step> step;
  double cells = 0.0;  // that marginals need at once, at the most
  double work = 0.0;   // products of all steps

  std::int64_t cells_of(const std::vector<std::int32_t>& axis) const {
    std::int64_t total = 1;
    for (const std::int32_t v : axis) total *= width[v];
    return total;
  }
  double many_cells(const std::vector<std::int32_t>& axis) const {
    double total = 1.0;
    for (const std::int32_t v : axis) total *= width[v];
    return total;
  }

  // Whether the step that makes a table needs its value in the reverse pass.
  bool needs_value(std::int32_t t) const {
    const std::int32_t step_of = table[t].made;
    if (step_of < 0) return false;
    return step[step_of].in_place || (step[step_of].turns() && needs_value(step[step_of].a));
  }

  // How to contract tables `a` and `b` to `c`, whatever their roles in a step; b may be -1.
  Loops loops(std::int32_t a, std::int32_t b, std::int32_t c) const {
    return inner_loops(all_loops(a, b, c), b < 0);
  }
  KernelLoops kernel_loops(std::int32_t a, std::int32_t b, std::int32_t c) const;

 private:
  std::vector<Loop> all_loops(std::int32_t a, std::int32_t b, std::int32_t c) const;
  static Loops inner_loops(std::vector<Loop> all, bool alone);
};

namespace elimination {

inline bool has(const std::vector<std::int32_t>& axis, std::int32_t v) {
  return std::find(axis.begin(), axis.end(), v) != axis.end();
}

}  // namespace elimination

inline std::vector<Loop> Program::all_loops(std::int32_t a, std::int32_t b, std::int32_t c) const {
  static const std::vector<std::int32_t> none;
  const std::vector<std::int32_t>* axes[3] = {&table[a].axis, b < 0 ? &none : &table[b].axis,
                                              &table[c].axis};
  // Variables in the order of c, then of a, then of b; side by side in all tables: one loop.
  std::vector<Loop> all;
  std::vector<std::int32_t> seen;
  for (const int from : {2, 0, 1}) {
    for (const std::int32_t v : *axes[from]) {
      if (elimination::has(seen, v)) continue;
      seen.push_back(v);
      std::int64_t stride[3] = {0, 0, 0};
      for (int t = 0; t < 3; ++t) {
        std::int64_t at = 1;
        for (std::size_t i = axes[t]->size(); i-- > 0;) {
          if ((*axes[t])[i] == v) stride[t] = at;
          at *= width[(*axes[t])[i]];
        }
      }
      const Loop loop = {width[v], stride[0], stride[1], stride[2]};
      if (!all.empty()) {
        Loop& last = all.back();
        const auto joins = [&](std::int64_t outer, std::int64_t inner) {
          return outer == inner * loop.extent;
        };
        if (joins(last.a, loop.a) && joins(last.b, loop.b) && joins(last.c, loop.c)) {
          last = {last.extent * loop.extent, loop.a, loop.b, loop.c};
          continue;
        }
      }
      all.push_back(loop);
    }
  }
  return all;
}

inline Loops Program::inner_loops(std::vector<Loop> all, bool alone) {
  Loops made;
  for (const Loop& loop : all) made.work *= static_cast<double>(loop.extent);
  if (all.empty()) return made;
  // The innermost loop: as many cells side by side as there are, in as many tables as possible.
  const auto pick = [&](const auto& worth) {
    std::size_t best = all.size();
    double most = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (const double w = worth(all[i]); w > most) most = w, best = i;
    Loop taken;
    if (best < all.size())
      taken = all[best], all.erase(all.begin() + static_cast<std::ptrdiff_t>(best));
    return taken;
  };
  made.i = pick([](const Loop& l) {
    const int apart = (l.a > 1) + (l.b > 1) + (l.c > 1);
    const double run = static_cast<double>(std::min<std::int64_t>(l.extent, 64));
    return apart == 0 ? run * 1000.0 : l.c == 1 ? run * 10.0 : l.a == 1 ? run : 0.001;
  });
  made.k = pick([](const Loop& l) { return l.c == 0 ? static_cast<double>(l.extent) : 0.0; });
  const Loop inner = made.i;
  made.n = pick([&](const Loop& l) {
    const bool moves = alone && inner.a > 1;  // a table is turned: run through a's side
    if (moves) return l.a == 1 ? static_cast<double>(l.extent) : 0.0;
    const bool wanted = inner.c == 0 || (inner.b == 0 ? l.a == 0 : inner.a == 0 ? l.b == 0 : false);
    return wanted ? static_cast<double>(l.extent) : 0.0;
  });
  made.outer = std::move(all);
  return made;
}

inline KernelLoops Program::kernel_loops(std::int32_t a, std::int32_t b, std::int32_t c) const {
  constexpr std::int64_t kEnough = 16;
  std::vector<Loop> all = all_loops(a, b, c);
  KernelLoops made;
  static_cast<Loops&>(made) = inner_loops(all, b < 0);
  const Loop& i = made.i;
  if (made.work < 64.0 || (i.extent >= kEnough && i.a <= 1 && i.b <= 1 && i.c <= 1)) return made;
  // Loops through which two tables (or c alone, where a is turned) run side by side.
  const bool turned = b < 0;
  const auto block = [&](std::int64_t Loop::* x, std::int64_t Loop::* y) {
    std::vector<std::size_t> found;
    std::int64_t size = 1;
    for (bool more = true; more && size < kEnough * 4;) {
      more = false;
      for (std::size_t j = 0; j < all.size() && !more; ++j) {
        if (all[j].*x != size || all[j].*y != size || std::count(found.begin(), found.end(), j))
          continue;
        if (size * all[j].extent > Contraction::kPlaces) continue;
        found.push_back(j), size *= all[j].extent, more = true;
      }
    }
    return std::pair(size, found);
  };
  auto best = block(&Loop::c, turned ? &Loop::c : &Loop::a);
  char odd = turned ? 'a' : 'b';
  if (!turned) {
    if (auto other = block(&Loop::c, &Loop::b); other.first > best.first) best = other, odd = 'a';
    if (auto other = block(&Loop::a, &Loop::b); other.first > best.first) best = other, odd = 'c';
  }
  const bool fits = i.a <= 1 && i.b <= 1 && i.c <= 1;
  if (best.first < 8 || best.first < (fits ? 2 * i.extent : 1)) return made;
  std::vector<Loop> rest;
  for (std::size_t j = 0; j < all.size(); ++j)
    if (!std::count(best.second.begin(), best.second.end(), j)) rest.push_back(all[j]);
  std::int64_t Loop::* const jumps = odd == 'a' ? &Loop::a : odd == 'b' ? &Loop::b : &Loop::c;
  made.place.assign(1, 0);
  for (const std::size_t j : best.second) {
    const std::size_t before = made.place.size();
    for (std::int64_t y = 1; y < all[j].extent; ++y)
      for (std::size_t at = 0; at < before; ++at)
        made.place.push_back(static_cast<std::int32_t>(made.place[at] + y * (all[j].*jumps)));
  }
  made.odd = odd;
  made.i = {best.first, odd != 'a', odd != 'b' && !turned, odd != 'c'};
  made.n = made.k = {};
  // What is near in the table that jumps comes soon.
  std::stable_sort(rest.begin(), rest.end(),
                   [&](const Loop& x, const Loop& y) { return x.*jumps > y.*jumps; });
  if (!turned && odd != 'c') {
    for (std::size_t j = rest.size(); j-- > 0;) {
      if (rest[j].c != 0) continue;
      made.k = rest[j];
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
      break;
    }
  }
  made.outer = std::move(rest);
  return made;
}

}  // namespace crfkit
