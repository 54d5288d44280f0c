#include "graph/sampling/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "engine/checks.hpp"

namespace crfkit {

VisitPlan::VisitPlan(const Factors& factors, const Blocks& blocks_) : f(factors), blocks(blocks_) {
  const std::int64_t V = f.variables;
  if (static_cast<std::int64_t>(blocks.variable.size()) != V)
    refuse("the blocks are those of another graph");
  width_.resize(V);
  at_.assign(V + 1, 0);
  up_.assign(V + 1, 0);
  edge_at.assign(V + 1, 0);
  for (std::int64_t p = 0; p < V; ++p) {
    width_[p] = f.width[blocks.variable[p]];
    at_[p + 1] = at_[p] + width_[p];
    const std::int64_t above = blocks.parent[p] < 0 ? 0 : width_[blocks.parent[p]];
    up_[p + 1] = up_[p] + above;
    edge_at[p + 1] = edge_at[p] + above * width_[p];
  }
  own_.assign(at_[V], 0.0);
  edge_.assign(V, nullptr);
  edge_scale_.assign(V, 1.0);
  for (std::int64_t g = 0; g < f.groups; ++g) clique_cells += f.group[g].count * f.group[g].cells;
  by_axis();
  fill();
  for (std::int64_t p = 0; p < V; ++p)  // a factor with a variable of one label is no edge
    if (blocks.parent[p] >= 0 && !edge_[p]) {
      zeros_.resize(std::max<std::size_t>(zeros_.size(), edge_at[p + 1] - edge_at[p]));
      bare_.push_back(p);
    }
  for (const std::int64_t p : bare_) edge_[p] = zeros_.data();
  exponentiate();
  view = {V,
          width_.data(),
          at_.data(),
          own_.data(),
          local_ptr_.data(),
          local_.data(),
          other_.data(),
          blocks.block_ptr.data(),
          blocks.parent.data(),
          edge_.data(),
          edge_scale_.data(),
          up_.data(),
          most_.data(),
          chance_.data()};
}

std::int64_t VisitPlan::scratch() const {
  std::int64_t widest = 1, block = 1;
  for (const std::int32_t w : width_) widest = std::max<std::int64_t>(widest, w);
  for (std::size_t b = 0; b + 1 < blocks.block_ptr.size(); ++b) {
    const std::int64_t from = blocks.block_ptr[b], to = blocks.block_ptr[b + 1];
    block = std::max(block, 4 * (at_[to] - at_[from]) + up_[to] - up_[from] + to - from);
  }
  return block + 16 * widest + 16;
}

void VisitPlan::aim(double* cliques) {
  std::vector<double*> start(f.groups);
  for (std::int64_t g = 0; g < f.groups; ++g) {
    start[g] = cliques;
    cliques += f.group[g].count * f.group[g].cells;
  }
  for (std::size_t i = 0; i < local_.size(); ++i)
    if (local_[i].first)
      local_[i].clique =
          start[factor_[i].group] + factor_[i].factor * f.group[factor_[i].group].cells;
}

void VisitPlan::by_axis() {
  moved_.resize(f.groups);
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    if (group.cells > std::numeric_limits<std::int32_t>::max())
      refuse("a table has more than 2^31 - 1 cells, too many for draws and mean field");
    moved_[g].resize(group.arity);
    std::int64_t inner = 1;
    for (int a = group.arity; a-- > 0; inner *= group.shape[a]) {
      if (inner == 1 || group.shape[a] == 1) continue;
      const std::int64_t n = group.shape[a], outer = group.cells / n / inner;
      std::vector<double>& to = moved_[g][a];
      to.resize(group.tables * group.cells);
      for (std::int64_t k = 0; k < group.tables; ++k)
        for (std::int64_t o = 0; o < outer; ++o)
          for (std::int64_t l = 0; l < n; ++l)
            for (std::int64_t i = 0; i < inner; ++i)
              to[k * group.cells + (o * inner + i) * n + l] =
                  group.table[k * group.cells + (o * n + l) * inner + i];
    }
  }
}

const double* VisitPlan::along(std::int64_t g, int axis, std::int64_t m) const {
  const FactorGroup& group = f.group[g];
  const std::vector<double>& moved = moved_[g][axis];
  return moved.empty() ? group.scores(m) : moved.data() + group.table_of(m) * group.cells;
}

void VisitPlan::fill() {
  const Incidence incidence(f);
  local_ptr_.assign(1, 0);
  for (std::int64_t p = 0; p < f.variables; ++p) {
    const std::int32_t v = blocks.variable[p];
    for (std::int64_t i = incidence.ptr[v]; i < incidence.ptr[v + 1]; ++i)
      add(p, incidence.entry[i]);
    local_ptr_.push_back(static_cast<std::int64_t>(local_.size()));
  }
}

void VisitPlan::add(std::int64_t p, const Incident& at) {
  const FactorGroup& group = f.group[at.group];
  const std::int32_t* scope = group.variables(at.factor);
  LocalFactor local = {along(at.group, at.axis, at.factor),
                       group.scale_of(at.factor),
                       nullptr,
                       static_cast<std::int64_t>(other_.size()),
                       {-1, 0},
                       0,
                       1};
  std::int64_t step = width_[p];
  std::int32_t inside = -1;  // the other variable of an edge of this block
  for (int a = group.arity; a-- > 0;) {
    if (a == at.axis || group.shape[a] == 1) continue;
    if (a < at.axis) local.first = 0;
    const Other other = {blocks.position[scope[a]], static_cast<std::int32_t>(step)};
    step *= group.shape[a];
    if (local.next.position < 0)
      local.next = other;
    else
      other_.push_back(other);
    inside = other.position;
  }
  local.more = static_cast<std::int32_t>(static_cast<std::int64_t>(other_.size()) - local.rest);
  const bool alone = local.next.position < 0;  // a score of this variable, if its first
  if (alone && (width_[p] > 1 || at.axis == 0)) {
    for (std::int32_t l = 0; l < width_[p]; ++l) own_[at_[p] + l] += local.scale * local.table[l];
  } else if (!alone && width_[p] > 1) {
    if (local.more == 0 && blocks.parent[p] == inside)
      add_edge(p, inside, local);
    else if (local.more > 0 || blocks.parent[inside] != p) {
      local_.push_back(local);
      factor_.push_back(at);
    }
  }
}

void VisitPlan::exponentiate() {
  const std::int64_t V = f.variables;
  most_.resize(up_[V]);
  chance_.assign(V, nullptr);
  std::map<std::pair<const double*, double>, std::int64_t> before;  // position
  for (std::int64_t p = 0, kept = 0; p < V; ++p) {
    if (blocks.parent[p] < 0) continue;
    const std::int64_t m = up_[p + 1] - up_[p], n = width_[p];
    const auto [at, fresh] = before.insert({{edge_[p], edge_scale_[p]}, p});
    if (!fresh && width_[at->second] == n && up_[at->second + 1] - up_[at->second] == m) {
      chance_[p] = chance_[at->second];
      std::copy_n(most_.begin() + up_[at->second], m, most_.begin() + up_[p]);
      continue;
    }
    if (kept + m * n > kKept) continue;
    kept += m * n;
    std::vector<double> e(m * n);
    for (std::int64_t k = 0; k < m; ++k) {
      double& most = most_[up_[p] + k];
      most = -std::numeric_limits<double>::infinity();
      for (std::int64_t l = 0; l < n; ++l)
        most = std::max(most, edge_scale_[p] * edge_[p][k * n + l]);
      for (std::int64_t l = 0; l < n && most > -std::numeric_limits<double>::infinity(); ++l)
        e[k * n + l] = std::exp(edge_scale_[p] * edge_[p][k * n + l] - most);
    }
    exponentials_.push_back(std::move(e));
    chance_[p] = exponentials_.back().data();
  }
}

void VisitPlan::add_edge(std::int64_t p, std::int64_t parent, const LocalFactor& local) {
  if (!edge_[p]) {
    edge_[p] = local.table;
    edge_scale_[p] = local.scale;
    return;
  }
  const std::int64_t cells = static_cast<std::int64_t>(width_[p]) * width_[parent];
  std::vector<double> sum(cells);
  for (std::int64_t i = 0; i < cells; ++i)
    sum[i] = edge_scale_[p] * edge_[p][i] + local.scale * local.table[i];
  summed_.push_back(std::move(sum));
  edge_[p] = summed_.back().data();
  edge_scale_[p] = 1.0;
}

}  // namespace crfkit
