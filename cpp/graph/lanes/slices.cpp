#include "graph/lanes/slices.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"
#include "graph/union_find.hpp"

namespace crfkit {

Slices::Slices(const Factors& f, const std::vector<std::int32_t>& steps, double budget) {
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    const bool pooled = group.tables == 1 && !group.scale;
    seen_.push_back({group.count, group.cells, pooled});
    pooled_.push_back(pooled ? pooled_cells_ : -1);
    if (pooled) pooled_cells_ += group.cells;
  }
  is_step_.resize(f.groups);
  for (const std::int32_t g : steps) {
    if (g < 0 || g >= f.groups) refuse("steps names a group that is not there");
    is_step_[g] =
        pooled_[g] >= 0 && f.group[g].arity == 2 && f.group[g].shape[0] == f.group[g].shape[1];
  }
  covered_.resize(f.variables);
  find(f, std::min(budget, kMostCells));
  find_roles(f);
  drop_rare(f);
}

std::int64_t Slices::components() const {
  std::int64_t count = 0;
  for (const Family& family : families_) count += static_cast<std::int64_t>(family.member.size());
  return count;
}

std::vector<double> Slices::cells(const Factors& f) const {
  check(f);
  std::vector<double> made(f.graphs);
  for (const Family& family : families_)
    for (const Member& m : family.member)
      made[m.graph] = std::max(made[m.graph], static_cast<double>(family.states) * m.length);
  return made;
}

std::vector<bool> Slices::sum(const SliceKernels& kernels, const Factors& f, const double* weight,
                              int threads, double* value, double* sums, double* const* row) const {
  check(f);
  std::vector<bool> lost(f.variables);
  std::int64_t memory = 0;
  for (const Family& family : families_)
    memory = std::max(memory, kernels.memory(family.view, family.member[0].length));
  Scratches scratches(memory);
  for (const Family& family : families_)
    sum(family, kernels, f, weight, threads, scratches, value, sums, row, lost);
  return lost;
}

void Slices::check(const Factors& f) const {
  bool same = f.groups == static_cast<std::int64_t>(seen_.size()) &&
              f.variables == static_cast<std::int64_t>(covered_.size());
  for (std::int64_t g = 0; same && g < f.groups; ++g)
    same = f.group[g].count == seen_[g].count && f.group[g].cells == seen_[g].cells &&
           (f.group[g].tables == 1 && !f.group[g].scale) == seen_[g].pooled;
  if (!same) refuse("these factors are not those that the slices were found for");
}

void Slices::find(const Factors& f, double budget) {
  const std::int64_t V = f.variables;
  UnionFind all(V), within(V);
  std::vector<std::int32_t> next(V, -1), before(V, -1), joined(V, 0);
  std::vector<std::uint8_t> wrong(V);
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> longer;  // (set, group) -> set
  std::vector<std::vector<std::int32_t>> sets(1);
  for (std::int32_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    all.join_rows(group.scope, group.count, group.arity);
    if (!is_step_[g]) {
      within.join_rows(group.scope, group.count, group.arity);
      continue;
    }
    for (std::int64_t m = 0; m < group.count; ++m) {
      const std::int32_t u = group.scope[2 * m], v = group.scope[2 * m + 1];
      if ((next[u] >= 0 && next[u] != v) || (before[v] >= 0 && before[v] != u)) wrong[u] = 1;
      next[u] = v, before[v] = u;
      const auto [entry, fresh] =
          longer.try_emplace({joined[u], g}, static_cast<std::int32_t>(sets.size()));
      if (fresh) {
        sets.push_back(sets[joined[u]]);
        sets.back().push_back(g);
      }
      joined[u] = entry->second;
    }
  }
  slice_of_.assign(V, -1), axis_of_.assign(V, -1);
  const std::vector<std::int32_t> component = std::move(all).components();
  const std::vector<std::int32_t> slice = std::move(within).components();
  std::vector<std::int32_t> wide(V);  // variables of each slice
  for (const std::int32_t s : slice) ++wide[s];
  std::int32_t count = 0;
  for (const std::int32_t c : component) count = std::max(count, c + 1);
  std::vector<std::vector<std::int32_t>> first(count);  // variables without one before them
  std::vector<std::int64_t> size(count);
  std::vector<std::uint8_t> bad(count);
  for (std::int32_t v = 0; v < V; ++v) {
    ++size[component[v]];
    bad[component[v]] |= wrong[v];
    if (before[v] < 0) first[component[v]].push_back(v);
  }
  std::map<std::vector<std::int32_t>, std::size_t> families;  // widths, sets
  std::vector<std::int32_t> alone;                            // components of one slice
  for (std::int32_t c = 0; c < count; ++c) {
    if (bad[c] || first[c].empty() || first[c].size() > kSliceAxes) continue;
    std::vector<std::int32_t> row = first[c], after(row.size()), key;
    double states = 1.0;
    for (const std::int32_t v : row) key.push_back(f.width[v]), states *= f.width[v];
    for (const std::int32_t v : row) key.push_back(joined[v]);
    if (states * static_cast<double>(size[c]) / static_cast<double>(row.size()) > budget) continue;
    const std::int64_t begin = static_cast<std::int64_t>(slices_.size());
    bool good = size[c] % static_cast<std::int64_t>(row.size()) == 0;
    const std::int64_t length = size[c] / static_cast<std::int64_t>(row.size());
    for (std::int64_t t = 0; good && t < length; ++t) {
      good = wide[slice[row[0]]] == static_cast<std::int32_t>(row.size());
      for (std::size_t a = 0; good && a < row.size(); ++a) {
        const std::int32_t v = row[a];
        after[a] = next[v];
        good = slice[v] == slice[row[0]] && (next[v] >= 0) == (t + 1 < length) &&
               (t + 1 == length || joined[v] == key[row.size() + a]) && f.width[v] == key[a];
      }
      if (good) slices_.push_back(row);
      row = after;
    }
    if (!good) {
      slices_.resize(begin);
      continue;
    }
    const Member member = {f.graph[first[c][0]], static_cast<std::int32_t>(length), 0, begin};
    if (length == 1) {
      alone_.push_back(member);
      continue;
    }
    const auto [entry, fresh] = families.try_emplace(key, families_.size());
    if (fresh) {
      families_.emplace_back();
      for (std::size_t a = 0; a < row.size(); ++a) {
        families_.back().width.push_back(key[a]);
        families_.back().groups.push_back(sets[key[row.size() + a]]);
      }
    }
    families_[entry->second].member.push_back(member);
  }
  // Single slices go with the first family whose slices look alike.
  for (const Member& member : alone_) {
    for (Family& family : families_) {
      const std::vector<std::int32_t>& row = slices_[member.slice];
      bool same = row.size() == family.width.size();
      for (std::size_t a = 0; same && a < row.size(); ++a)
        same = f.width[row[a]] == family.width[a];
      if (!same) continue;
      family.member.push_back(member);
      break;
    }
  }
}

void Slices::find_roles(const Factors& f) {
  std::vector<std::int32_t> family_of(f.variables, -1);
  for (std::size_t i = 0; i < families_.size(); ++i) {
    Family& family = families_[i];
    std::stable_sort(family.member.begin(), family.member.end(),
                     [](const Member& x, const Member& y) { return x.length > y.length; });
    for (Member& m : family.member) {
      m.begin = family.slices;
      for (std::int32_t t = 0; t < m.length; ++t) {
        const std::vector<std::int32_t>& row = slices_[m.slice + t];
        for (std::size_t a = 0; a < row.size(); ++a) {
          family_of[row[a]] = static_cast<std::int32_t>(i);
          slice_of_[row[a]] = static_cast<std::int32_t>(family.slices + t);
          axis_of_[row[a]] = static_cast<std::int32_t>(a);
        }
      }
      family.slices += m.length;
    }
  }
  using Place = std::tuple<std::int32_t, std::int32_t, std::int64_t>;  // slice, role, factor
  std::vector<std::vector<Place>> found(families_.size());
  std::vector<std::map<RoleKey, std::int32_t>> number(families_.size());
  std::map<std::pair<std::int32_t, RoleKey>, std::int32_t> repeated;
  RoleKey key;
  for (std::int32_t g = 0; g < f.groups; ++g) {
    if (is_step_[g]) continue;
    const FactorGroup& group = f.group[g];
    std::vector<std::int32_t> last(f.variables, -1);  // how often a variable came first
    for (std::int64_t m = 0; m < group.count; ++m) {
      const std::int32_t* scope = group.variables(m);
      const std::int32_t i = family_of[scope[0]];
      if (i < 0) continue;
      key = {++last[scope[0]], g};
      for (int a = 0; a < group.arity; ++a) key.push_back(axis_of_[scope[a]]);
      const auto [entry, fresh] =
          number[i].try_emplace(key, static_cast<std::int32_t>(families_[i].role_key.size()));
      if (fresh) families_[i].role_key.push_back(key);
      found[i].emplace_back(slice_of_[scope[0]], entry->second, m);
    }
  }
  for (std::size_t i = 0; i < families_.size(); ++i) {
    Family& family = families_[i];
    const std::size_t roles = family.role_key.size();
    if (roles > kSliceRoles) continue;
    family.factor.assign(family.slices * roles, -1);
    std::vector<std::int64_t> times(roles);
    for (const auto& [slice, role, m] : found[i])
      family.factor[slice * roles + role] = static_cast<std::int32_t>(m), ++times[role];
    set_axes(family);
    set_roles(f, family, times);
  }
}

void Slices::set_axes(Family& family) {
  const std::size_t axes = family.width.size();
  std::vector<std::int64_t> inner(axes, 1);
  for (std::size_t a = axes; a-- > 0; family.states *= family.width[a]) inner[a] = family.states;
  std::vector<std::size_t> order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return family.width[x] < family.width[y]; });
  for (const std::size_t a : order)
    family.axis.push_back({family.width[a], family.states / (inner[a] * family.width[a]), inner[a],
                           family.groups[a].data(), static_cast<int>(family.groups[a].size())});
}

void Slices::set_roles(const Factors& f, Family& family,
                       const std::vector<std::int64_t>& times) const {
  const std::size_t axes = family.width.size();
  for (std::size_t r = 0; r < family.role_key.size(); ++r) {
    const RoleKey& key = family.role_key[r];
    const FactorGroup& group = f.group[key[1]];
    std::vector<std::int64_t> stride(axes);
    std::int64_t step = 1;
    for (int a = group.arity; a-- > 0; step *= group.shape[a]) stride[key[2 + a]] = step;
    std::vector<std::int32_t>& at = family.at.emplace_back(family.states);
    for (std::int64_t s = 0; s < family.states; ++s) {
      std::int64_t rest = s, cell = 0;
      for (std::size_t a = axes; a-- > 0; rest /= family.width[a])
        cell += stride[a] * (rest % family.width[a]);
      at[s] = static_cast<std::int32_t>(cell);
    }
    family.role.push_back({key[1], static_cast<std::int32_t>(group.cells),
                           pooled_[key[1]] >= 0 && times[r] == family.slices, nullptr});
  }
  for (std::size_t r = 0; r < family.role.size(); ++r) family.role[r].at = family.at[r].data();
}

void Slices::drop_rare(const Factors&) {
  std::erase_if(families_, [](const Family& family) {
    return family.member.size() < kLeast || family.role_key.size() > kSliceRoles;
  });
  for (Family& family : families_) {
    for (const Member& m : family.member)
      for (std::int32_t t = 0; t < m.length; ++t)
        for (const std::int32_t v : slices_[m.slice + t]) covered_[v] = true;
    family.view = {family.states,
                   static_cast<int>(family.axis.size()),
                   static_cast<int>(family.role.size()),
                   family.axis.data(),
                   family.role.data(),
                   family.factor.data()};
  }
}

void Slices::sum(const Family& family, const SliceKernels& kernels, const Factors& f,
                 const double* weight, int threads, Scratches& scratches, double* value,
                 double* sums, double* const* row, std::vector<bool>& lost) const {
  std::vector<double> prepared(kernels.prepared_size(family.view));
  kernels.prepare(f, family.view, prepared.data());
  const std::int64_t members = static_cast<std::int64_t>(family.member.size());
  const std::int64_t sweeps = (members + kSliceLanes - 1) / kSliceLanes;
  const std::int64_t room =
      std::max<std::int64_t>(1, kMostSums / std::max<std::int64_t>(1, pooled_cells_));
  const std::int64_t blocks = std::min({sweeps, kBlocks, room});
  std::vector<double> each(members), part(weight ? blocks * pooled_cells_ : 0);
  std::vector<std::uint8_t> failed(members);
  parallel_for(blocks, threads, [&](std::int64_t block) {
    scratches.with([&](double* memory) {
      const SliceGradient out = {pooled_.data(), part.data() + block * pooled_cells_, row};
      for (std::int64_t s = block * sweeps / blocks; s < (block + 1) * sweeps / blocks; ++s) {
        const std::int64_t first = s * kSliceLanes;
        std::int64_t begin[kSliceLanes];
        std::int32_t length[kSliceLanes];
        double mine[kSliceLanes];
        const int count = static_cast<int>(std::min<std::int64_t>(kSliceLanes, members - first));
        for (int b = 0; b < count; ++b) {
          const Member& m = family.member[first + b];
          begin[b] = m.begin, length[b] = m.length, mine[b] = weight ? weight[m.graph] : 0.0;
        }
        const SliceLanes lanes = {
            count, begin, length, mine, each.data() + first, failed.data() + first};
        kernels.sweep(f, family.view, prepared.data(), lanes, weight ? &out : nullptr, memory);
      }
    });
  });
  for (std::int64_t i = 0; i < members; ++i) {
    const Member& m = family.member[i];
    value[m.graph] += each[i];
    for (std::int32_t t = 0; failed[i] && t < m.length; ++t)
      for (const std::int32_t v : slices_[m.slice + t]) lost[v] = true;
  }
  for (std::int64_t block = 0; weight && block < blocks; ++block)
    for (std::int64_t i = 0; i < pooled_cells_; ++i) sums[i] += part[block * pooled_cells_ + i];
}

}  // namespace crfkit
