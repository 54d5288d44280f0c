// From an order of elimination to a program: which tables are multiplied, and how they lie.
//
// Inner loops are long where the fastest variables of a table are those that are touched last: a
// step runs through the variables of its larger table that the smaller one does not have.  Tables
// keep their fastest variables from step to step; one is turned only where too few are left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/elimination/program.hpp"

namespace crfkit {

class Planner {
 public:
  // `scope`: variables of each leaf.
  Planner(std::vector<std::int32_t> width, const std::vector<std::vector<std::int32_t>>& scope) {
    made_.width = std::move(width);
    at_.resize(made_.width.size());
    made_.leaves = static_cast<std::int32_t>(scope.size());
    for (const std::vector<std::int32_t>& axis : scope) enlist(axis, -1);
  }

  // False if the tables have more cells than `budget`: nothing of that size is made.
  bool plan(const std::vector<std::int32_t>& order, double budget) {
    for (const std::int32_t x : order) {
      eliminate(x);
      if (made_.cells > budget) return false;
    }
    arrange();
    return true;
  }

  Program take() { return std::move(made_); }
  double cells() const { return made_.cells; }

 private:
  static constexpr std::int64_t kRun = 16;    // cells side by side that are enough
  static constexpr std::int64_t kTurn = 256;  // cells of tables that are worth turning

  std::int32_t enlist(std::vector<std::int32_t> axis, std::int32_t step) {
    const std::int32_t t = static_cast<std::int32_t>(made_.table.size());
    for (const std::int32_t v : axis) at_[v].push_back(t);
    made_.cells += made_.many_cells(axis);
    made_.table.push_back({std::move(axis), 1, step, -1});
    return t;
  }

  std::vector<std::int32_t> together(std::int32_t a, std::int32_t b) const {
    std::vector<std::int32_t> both = made_.table[a].axis;
    for (const std::int32_t v : made_.table[b].axis)
      if (!elimination::has(both, v)) both.push_back(v);
    return both;
  }

  std::int32_t multiply(std::int32_t a, std::int32_t b, std::int32_t summed) {
    std::vector<std::int32_t> axis = b < 0 ? made_.table[a].axis : together(a, b);
    std::vector<std::int32_t> gone;
    if (summed >= 0) {
      axis.erase(std::find(axis.begin(), axis.end(), summed));
      gone.push_back(summed);
    }
    const std::int32_t s = static_cast<std::int32_t>(made_.step.size());
    const std::int32_t out = enlist(std::move(axis), s);
    made_.step.push_back({a, b, out, std::move(gone)});
    made_.table[a].used = s;
    if (b >= 0) made_.table[b].used = s;
    return out;
  }

  void eliminate(std::int32_t x) {
    std::vector<std::int32_t> bucket;
    for (const std::int32_t t : at_[x])
      if (made_.table[t].used < 0) bucket.push_back(t);
    if (bucket.size() == 1) {
      ProgramTable& only = made_.table[bucket[0]];
      if (only.made < 0) {
        multiply(bucket[0], -1, x);
      } else {  // the step that makes it sums x as well
        made_.cells -= made_.many_cells(only.axis) * (1.0 - 1.0 / made_.width[x]);
        only.axis.erase(std::find(only.axis.begin(), only.axis.end(), x));
        made_.step[only.made].summed.push_back(x);
      }
      return;
    }
    while (bucket.size() > 2) {  // the two whose product is smallest
      std::size_t first = 1, second = 0;
      double least = 1e300;
      for (std::size_t i = 0; i < bucket.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double cells = made_.many_cells(together(bucket[i], bucket[j]));
          if (cells < least) least = cells, first = i, second = j;
        }
      }
      const std::int32_t product = multiply(bucket[first], bucket[second], -1);
      bucket[second] = product;
      bucket.erase(bucket.begin() + static_cast<std::ptrdiff_t>(first));
    }
    multiply(bucket[0], bucket[1], x);
  }

  // ---- how tables lie

  // After how many steps, from the one that uses a table on, each of its variables is touched.
  std::vector<std::pair<int, std::int32_t>> touches(std::int32_t t,
                                                    const std::vector<std::int32_t>& axis) const {
    constexpr int kFar = 48;
    std::vector<std::pair<int, std::int32_t>> found;
    std::vector<std::int32_t> open = axis;
    for (int steps = 1; steps < kFar && !open.empty() && made_.table[t].used >= 0; ++steps) {
      const Step& step = made_.step[made_.table[t].used];
      const std::int32_t other = step.a == t ? step.b : step.a;
      std::erase_if(open, [&](std::int32_t v) {
        const bool touched = elimination::has(step.summed, v) ||
                             (other >= 0 && elimination::has(made_.table[other].axis, v));
        if (touched) found.emplace_back(steps, v);
        return touched;
      });
      t = step.out;
    }
    for (const std::int32_t v : open) found.emplace_back(kFar, v);
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    return found;
  }

  std::vector<std::int32_t> by_touch(std::int32_t t, const std::vector<std::int32_t>& axis) const {
    std::vector<std::int32_t> sorted;
    for (const auto& [steps, v] : touches(t, axis)) sorted.push_back(v);
    return sorted;
  }

  void turn(std::int32_t& t, std::vector<std::int32_t> axis, std::vector<Step>& steps) {
    if (made_.table[t].axis == axis) return;
    if (made_.table[t].made < 0) {  // leaves are filled in any order
      made_.table[t].axis = std::move(axis);
      return;
    }
    const std::int32_t turned = static_cast<std::int32_t>(made_.table.size());
    ProgramTable copy = {std::move(axis), 1, static_cast<std::int32_t>(steps.size()),
                         made_.table[t].used};
    made_.table[t].used = copy.made;
    made_.table.push_back(std::move(copy));
    steps.push_back({t, -1, turned, {}});
    t = turned;
  }

  void arrange() {
    for (std::int32_t t = 0; t < made_.leaves; ++t)
      if (made_.table[t].used >= 0) made_.table[t].axis = by_touch(t, made_.table[t].axis);
    std::vector<Step> before = made_.step, after;  // `touches` reads those of before
    for (Step& step : before) {
      lay_out(step, after);
      after.push_back(std::move(step));
    }
    made_.step = std::move(after);
    for (std::size_t s = 0; s < made_.step.size(); ++s) {
      const Step& step = made_.step[s];
      made_.table[step.a].used = static_cast<std::int32_t>(s);
      if (step.b >= 0) made_.table[step.b].used = static_cast<std::int32_t>(s);
      made_.table[step.out].made = static_cast<std::int32_t>(s);
      double work = made_.many_cells(made_.table[step.out].axis);
      for (const std::int32_t v : step.summed) work *= made_.width[v];
      made_.work += work;
    }
    for (ProgramTable& table : made_.table) table.cells = made_.cells_of(table.axis);
  }

  void lay_out(Step& step, std::vector<Step>& after) {
    const auto cells = [&](std::int32_t t) { return made_.many_cells(made_.table[t].axis); };
    if (step.b >= 0 && cells(step.b) > cells(step.a)) std::swap(step.a, step.b);
    static const std::vector<std::int32_t> none;
    const auto axis = [&](std::int32_t t) -> const std::vector<std::int32_t>& {
      return t < 0 ? none : made_.table[t].axis;
    };
    const std::vector<std::int32_t> out = by_touch(step.out, axis(step.out));
    std::vector<std::int32_t> alone,
        shared;  // variables of out that b does not have, or has as well
    for (const std::int32_t v : out)
      if (elimination::has(axis(step.a), v))
        (elimination::has(axis(step.b), v) ? shared : alone).push_back(v);
    const bool same = made_.many_cells(alone) < 8.0 && made_.many_cells(shared) >= 8.0;
    const std::vector<std::int32_t>& wanted = same ? shared : alone;
    std::vector<std::int32_t> run = common_run(step, wanted, same);
    const double enough = std::min(made_.many_cells(wanted), static_cast<double>(kRun));
    if (made_.many_cells(run) < enough && cells(step.a) >= kTurn) {
      run = wanted;
      turn(step.a, ending_in(axis(step.a), run), after);
      if (same) turn(step.b, ending_in(axis(step.b), run), after);
    }
    made_.table[step.out].axis = ending_in(out, run);
  }

  // The fastest variables of a, of those that are wanted; where b has them too, b's as well.
  std::vector<std::int32_t> common_run(const Step& step, const std::vector<std::int32_t>& wanted,
                                       bool same) const {
    const std::vector<std::int32_t>& a = made_.table[step.a].axis;
    std::vector<std::int32_t> run;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::int32_t v = a[a.size() - 1 - i];
      if (!elimination::has(wanted, v)) break;
      if (same) {
        const std::vector<std::int32_t>& b = made_.table[step.b].axis;
        if (i >= b.size() || b[b.size() - 1 - i] != v) break;
      }
      run.insert(run.begin(), v);
    }
    return run;
  }

  static std::vector<std::int32_t> ending_in(const std::vector<std::int32_t>& axis,
                                             const std::vector<std::int32_t>& run) {
    std::vector<std::int32_t> made;
    for (const std::int32_t v : axis)
      if (!elimination::has(run, v)) made.push_back(v);
    made.insert(made.end(), run.begin(), run.end());
    return made;
  }

  Program made_;
  std::vector<std::vector<std::int32_t>> at_;  // [n] tables that have a variable
};

}  // namespace crfkit
