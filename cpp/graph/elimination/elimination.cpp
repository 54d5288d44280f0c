#include "graph/elimination/elimination.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/threads/parallel.hpp"
#include "graph/elimination/best.hpp"
#include "graph/elimination/count.hpp"
#include "graph/elimination/draws.hpp"
#include "graph/elimination/kbest.hpp"
#include "graph/elimination/sums.hpp"

namespace crfkit {

std::vector<double> Elimination::cells(const Factors& f, int threads) {
  const Reduction left(f);
  return cells_of(f, *plan(f, left, threads));
}

Elimination::Sums Elimination::sum(const Kernels& kernels, const Factors& f, MarginalsOut* out,
                                   int threads) {
  const Reduction left(f);
  const std::shared_ptr<const Components> all = plan(f, left, threads);
  Sums made = {begin(f, left, *all), cells_of(f, *all)};
  if (!within(made.cells)) return made;
  std::vector<double> value(all->component.size());
  each(*all, threads, [&](std::size_t i, int inner) {
    ComponentSum component(all->component[i], f, left, *kernels.contraction, inner);
    value[i] = component.run(out);
  });
  for (std::size_t i = 0; i < value.size(); ++i) made.value[all->component[i].graph] += value[i];
  if (out) finish(f, left, *all, made.value, *out);
  return made;
}

std::vector<double> Elimination::best(const Kernels& kernels, const Factors& f, std::int32_t* label,
                                      int threads) {
  const Reduction left(f);
  const std::shared_ptr<const Components> all = plan(f, left, threads);
  const std::vector<double> cells = cells_of(f, *all);
  if (!within(cells)) return cells;
  const std::vector<double> start = begin(f, left, *all);
  std::vector<std::uint8_t> none(f.graphs), failed(all->component.size());
  for (std::int64_t n = 0; n < f.graphs; ++n) none[n] = start[n] == kNone;
  set_known(f, left, 1, label);
  each(*all, threads, [&](std::size_t i, int inner) {
    failed[i] = !best_labeling(all->component[i], f, left, *kernels.contraction, inner, label);
  });
  for (std::size_t i = 0; i < failed.size(); ++i) none[all->component[i].graph] |= failed[i];
  for (std::int64_t v = 0; v < f.variables; ++v)
    if (none[f.graph[v]]) label[v] = -1;
  return cells;
}

Elimination::Listed Elimination::kbest(const Kernels& kernels, const Factors& f, std::int64_t k,
                                       std::int32_t* label, int threads) {
  const Reduction left(f);
  const std::shared_ptr<const Components> all = plan(f, left, threads);
  Listed made = {std::vector<std::int64_t>(f.graphs), cells_of(f, *all)};
  if (!within(made.cells)) return made;
  struct OfComponent {
    std::vector<double> score;
    std::vector<std::int32_t> state;  // [score, variables of the component]
  };
  std::vector<OfComponent> listed(all->component.size());
  each(*all, threads, [&](std::size_t i, int inner) {
    BestLists lists(all->component[i], f, left, *kernels.contraction, inner);
    listed[i].score = lists.scores(k);
    for (std::size_t rank = 0; rank < listed[i].score.size(); ++rank) {
      const std::vector<std::int32_t>& state = lists.labeling(static_cast<std::int64_t>(rank));
      listed[i].state.insert(listed[i].state.end(), state.begin(), state.end());
    }
  });
  const std::vector<double> start = begin(f, left, *all);
  std::vector<std::vector<std::size_t>> of_graph(f.graphs);
  for (std::size_t i = 0; i < listed.size(); ++i) of_graph[all->component[i].graph].push_back(i);
  set_known(f, left, k, label);
  parallel_for(f.graphs, threads, [&](std::int64_t n) {
    if (start[n] == kNone) return;
    BestSums sums(k);
    for (const std::size_t i : of_graph[n]) sums.add(listed[i].score);
    made.count[n] = sums.count();
    for (std::int64_t rank = 0; rank < sums.count(); ++rank) {
      const std::vector<std::int64_t> numbers = sums.numbers(rank);
      for (std::size_t j = 0; j < numbers.size(); ++j) {
        const Component& c = all->component[of_graph[n][j]];
        const std::int32_t* state =
            listed[of_graph[n][j]].state.data() + numbers[j] * c.variable.size();
        for (std::size_t v = 0; v < c.variable.size(); ++v)
          label[rank * f.variables + c.variable[v]] = left.label_of(c.variable[v], state[v]);
      }
    }
  });
  for (std::int64_t rank = 0; rank < k; ++rank)
    for (std::int64_t v = 0; v < f.variables; ++v)
      if (rank >= made.count[f.graph[v]]) label[rank * f.variables + v] = -1;
  return made;
}

std::vector<double> Elimination::sample(const Kernels& kernels, const Factors& f, std::int64_t n,
                                        std::uint64_t seed, std::int32_t* label, int threads) {
  const Reduction left(f);
  const std::shared_ptr<const Components> all = plan(f, left, threads);
  const std::vector<double> cells = cells_of(f, *all);
  if (!within(cells)) return cells;
  const std::vector<double> start = begin(f, left, *all);
  std::vector<std::uint8_t> none(f.graphs), failed(all->component.size());
  for (std::int64_t g = 0; g < f.graphs; ++g) none[g] = start[g] == kNone;
  std::vector<std::int32_t> within(f.variables), seen(f.graphs);
  for (std::int64_t v = 0; v < f.variables; ++v) within[v] = seen[f.graph[v]]++;
  set_known(f, left, n, label);
  const Draws draws = {n, seed, within.data(), f.variables, label};
  each(*all, threads, [&](std::size_t i, int inner) {
    failed[i] = !draw_labelings(all->component[i], f, left, *kernels.contraction, inner, draws);
  });
  for (std::size_t i = 0; i < failed.size(); ++i) none[all->component[i].graph] |= failed[i];
  for (std::int64_t d = 0; d < n; ++d)
    for (std::int64_t v = 0; v < f.variables; ++v)
      if (none[f.graph[v]]) label[d * f.variables + v] = -1;
  return cells;
}

Elimination::Counts Elimination::count(const Factors& f, std::uint64_t prime, int threads) {
  const Reduction left(f);
  const std::shared_ptr<const Components> all = plan(f, left, threads);
  Counts made = {std::vector<std::uint64_t>(f.graphs), cells_of(f, *all)};
  if (!within(made.cells)) return made;
  const std::vector<double> start = begin(f, left, *all);
  for (std::int64_t n = 0; n < f.graphs; ++n) made.count[n] = start[n] > kNone;
  std::vector<std::uint64_t> each_count(all->component.size());
  each(*all, threads, [&](std::size_t i, int) {
    each_count[i] = count_labelings(all->component[i], f, left, prime);
  });
  const Residues ring = {prime};
  for (std::size_t i = 0; i < each_count.size(); ++i) {
    std::uint64_t& total = made.count[all->component[i].graph];
    total = ring.times(total, each_count[i]);
  }
  return made;
}

std::shared_ptr<const Components> Elimination::plan(const Factors& f, const Reduction& left,
                                                    int threads) {
  const std::shared_ptr<const Kept> kept = last(nullptr);
  if (kept && kept->width == left.width && kept->impossible == left.impossible)
    return {kept, &kept->components};
  const auto made = std::make_shared<const Kept>(left.width, left.impossible,
                                                 Components(f, left, budget_, threads));
  last(made);
  return {made, &made->components};
}

std::shared_ptr<const Elimination::Kept> Elimination::last(std::shared_ptr<const Kept> next) {
  const std::lock_guard<std::mutex> lock(guard_);
  if (next) kept_.swap(next);
  return kept_;
}

void Elimination::set_known(const Factors& f, const Reduction& left, std::int64_t k,
                            std::int32_t* label) {
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t v = 0; v < f.variables; ++v)
      label[i * f.variables + v] =
          left.width[v] == 1 ? left.label_of(static_cast<std::int32_t>(v), 0) : -1;
}

std::vector<double> Elimination::cells_of(const Factors& f, const Components& all) const {
  std::vector<double> cells(f.graphs, 0.0);
  for (const Component& c : all.component) {
    // A plan that does not fit has more cells than the budget, whatever its estimate was.
    const double needs = c.program ? c.cells : std::max(c.cells, budget_ + 1.0);
    cells[c.graph] = std::max(cells[c.graph], needs);
  }
  return cells;
}

std::vector<double> Elimination::begin(const Factors& f, const Reduction& left,
                                       const Components& all) const {
  std::vector<double> value(f.constant, f.constant + f.graphs);
  for (std::int64_t n = 0; n < f.graphs; ++n)
    if (left.impossible[n]) value[n] = kNone;
  for (const Member& member : all.known) {
    const FactorGroup& group = f.group[member.group];
    const std::int32_t* scope = group.variables(member.factor);
    value[f.graph[scope[0]]] +=
        group.scale_of(member.factor) * group.scores(member.factor)[known_cell(group, scope, left)];
  }
  return value;
}

std::int64_t Elimination::known_cell(const FactorGroup& group, const std::int32_t* scope,
                                     const Reduction& left) {
  std::int64_t cell = 0;
  for (int a = 0; a < group.arity; ++a) cell = cell * group.shape[a] + left.label_of(scope[a], 0);
  return cell;
}

template <class Work>
void Elimination::each(const Components& all, int threads, Work work) {
  constexpr double kLarge = 1 << 20;  // products
  std::vector<std::size_t> small;
  for (std::size_t i = 0; i < all.component.size(); ++i) {
    if (all.component[i].program->work > kLarge) {
      work(i, threads);
    } else {
      small.push_back(i);
    }
  }
  parallel_for(static_cast<std::int64_t>(small.size() + 15) / 16, threads, [&](std::int64_t b) {
    for (std::size_t i = b * 16; i < std::min<std::size_t>(small.size(), (b + 1) * 16); ++i)
      work(small[i], 1);
  });
}

void Elimination::finish(const Factors& f, const Reduction& left, const Components& all,
                         const std::vector<double>& value, MarginalsOut& out) {
  const auto possible = [&](std::int32_t v) { return value[f.graph[v]] > kNone; };
  for (std::int32_t v = 0; v < f.variables; ++v) {
    if (!possible(v)) {
      std::fill(out.node + f.label_ptr[v], out.node + f.label_ptr[v + 1], 0.0);
    } else if (left.width[v] == 1) {
      out.node[f.label_ptr[v] + left.label_of(v, 0)] = 1.0;
    }
  }
  if (out.clique.empty()) return;
  for (const Member& member : all.known) {
    const FactorGroup& group = f.group[member.group];
    const std::int32_t* scope = group.variables(member.factor);
    if (possible(scope[0]))
      out.clique[member.group][member.factor * group.cells + known_cell(group, scope, left)] = 1.0;
  }
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    for (std::int64_t m = 0; m < group.count; ++m)
      if (!possible(group.variables(m)[0]))
        std::fill_n(out.clique[g] + m * group.cells, group.cells, 0.0);
  }
}

}  // namespace crfkit
