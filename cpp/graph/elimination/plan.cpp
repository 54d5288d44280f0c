#include "graph/elimination/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace crfkit {

Planner::Planner(std::vector<std::int32_t> width, const Scopes& leaves, const Joins& joins) {
  made_.width = std::move(width);
  made_.leaves = static_cast<std::int32_t>(leaves.size());
  const Scopes kept = kept_variables(made_.width.size(), leaves, joins);
  std::vector<std::int32_t> name;  // of the tables of `joins`
  for (const std::vector<std::int32_t>& axis : leaves) name.push_back(enlist(axis));
  for (std::size_t t = 0; t < leaves.size(); ++t)  // variables that no other leaf has
    if (kept[t].size() < leaves[t].size()) name[t] = add(name[t], -1, kept[t]);
  for (std::size_t j = 0; j < joins.size(); ++j)
    name.push_back(add(name[joins[j].first], name[joins[j].second], kept[leaves.size() + j]));
}

Program Planner::take() {
  arrange();
  count_memory();
  return std::move(made_);
}

std::int32_t Planner::enlist(std::vector<std::int32_t> axis) {
  made_.cells += made_.many_cells(axis);
  made_.table.push_back({std::move(axis), 1, -1, -1});
  return static_cast<std::int32_t>(made_.table.size()) - 1;
}

std::int32_t Planner::add(std::int32_t a, std::int32_t b, const std::vector<std::int32_t>& kept) {
  static const std::vector<std::int32_t> none;
  if (b >= 0 && made_.table[b].axis.size() > made_.table[a].axis.size()) std::swap(a, b);
  const std::vector<std::int32_t> both =
      elimination::together(made_.table[a].axis, b < 0 ? none : made_.table[b].axis);
  std::vector<std::int32_t> summed;
  std::set_difference(both.begin(), both.end(), kept.begin(), kept.end(),
                      std::back_inserter(summed));
  const bool in_place =
      b >= 0 && a >= made_.leaves && kept.size() == made_.table[a].axis.size() && summed.empty();
  const std::int32_t out = enlist(kept), step = static_cast<std::int32_t>(made_.step.size());
  if (in_place) made_.cells -= made_.many_cells(kept);
  made_.table[out].made = made_.table[a].used = step;
  if (b >= 0) made_.table[b].used = step;
  made_.step.push_back({a, b, out, std::move(summed), in_place});
  return out;
}

void Planner::count_memory() {
  double now = 0.0, most = 0.0;
  using Held = std::vector<std::uint8_t>;
  Held value(made_.table.size()), adjoint(value), joint(value);
  const auto take = [&](Held& held, std::int32_t t) {
    held[t] = 1;
    most = std::max(most, now += static_cast<double>(made_.table[t].cells));
  };
  const auto drop = [&](Held& held, std::int32_t t) {
    if (held[t]) now -= static_cast<double>(made_.table[t].cells);
    held[t] = 0;
  };
  for (const Step& step : made_.step) {
    for (const std::int32_t t : {step.a, step.b})
      if (t >= 0 && t < made_.leaves) take(value, t);
    if (step.in_place) drop(value, step.a);
    take(value, step.out);
    if (step.turns()) drop(value, step.a);
  }
  for (std::size_t s = made_.step.size(); s-- > 0;) {
    const Step& step = made_.step[s];
    Held& held = joint[step.out] ? joint : value;
    if (step.turns() && made_.needs_value(step.a)) take(held, step.a);
    if (step.in_place && made_.needs_value(step.a)) joint[step.a] = 1, held[step.out] = 0;
    if (step.in_place) {
      adjoint[step.a] = 1, adjoint[step.out] = 0;
    } else {
      drop(value, step.out);
      take(adjoint, step.a);
    }
    if (step.b >= 0) take(adjoint, step.b);
    for (Held* each : {&value, &adjoint, &joint}) drop(*each, step.out);
    for (const std::int32_t t : {step.a, step.b}) {
      if (t < 0) continue;
      if (t < made_.leaves) drop(adjoint, t);
      if (!made_.needs_value(t)) drop(value, t);
    }
  }
  made_.cells = most;
}

std::vector<std::pair<int, std::int32_t>> Planner::touches(
    std::int32_t t, const std::vector<std::int32_t>& axis) const {
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

std::vector<std::int32_t> Planner::by_touch(std::int32_t t,
                                            const std::vector<std::int32_t>& axis) const {
  std::vector<std::int32_t> sorted;
  for (const auto& [steps, v] : touches(t, axis)) sorted.push_back(v);
  return sorted;
}

void Planner::turn(std::int32_t& t, std::vector<std::int32_t> axis, std::vector<Step>& steps) {
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
  steps.push_back({t, -1, turned, {}, false});
  t = turned;
}

void Planner::arrange() {
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

void Planner::lay_out(Step& step, std::vector<Step>& after) {
  const auto cells = [&](std::int32_t t) { return made_.many_cells(made_.table[t].axis); };
  if (step.b >= 0 && !step.in_place && cells(step.b) > cells(step.a)) std::swap(step.a, step.b);
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
    run = common_run(step, out, false);  // b jumps
    const double products = made_.many_cells(out) * made_.many_cells(step.summed);
    if (products > 4.0 * cells(step.a) || (step.b >= 0 && cells(step.b) > kNear) ||
        made_.many_cells(run) < std::min(made_.many_cells(out), static_cast<double>(kRun))) {
      run = wanted;
      turn(step.a, ending_in(axis(step.a), run), after);
      if (same) turn(step.b, ending_in(axis(step.b), run), after);
    }
  }
  made_.table[step.out].axis = step.in_place ? axis(step.a) : ending_in(out, run);
}

std::vector<std::int32_t> Planner::common_run(const Step& step,
                                              const std::vector<std::int32_t>& wanted,
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

std::vector<std::int32_t> Planner::ending_in(const std::vector<std::int32_t>& axis,
                                             const std::vector<std::int32_t>& run) {
  std::vector<std::int32_t> made;
  for (const std::int32_t v : axis)
    if (!elimination::has(run, v)) made.push_back(v);
  made.insert(made.end(), run.begin(), run.end());
  return made;
}

}  // namespace crfkit
