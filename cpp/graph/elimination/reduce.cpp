#include "graph/elimination/reduce.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/incidence.hpp"

namespace crfkit {

Reduction::Reduction(const Factors& f)
    : allowed(f.label_ptr[f.variables], 1),
      width(f.width, f.width + f.variables),
      at(f.variables + 1),
      impossible(f.graphs) {
  for (std::int64_t n = 0; n < f.graphs; ++n)
    impossible[n] = f.constant[n] == -std::numeric_limits<double>::infinity();
  std::vector<std::vector<std::uint8_t>> forbids(f.groups);
  bool any = false;
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    forbids[g].resize(group.tables);
    for (std::int64_t k = 0; k < group.tables; ++k) {
      for (std::int64_t i = 0; i < group.cells && !forbids[g][k]; ++i)
        forbids[g][k] = group.table[k * group.cells + i] == forbidden();
      any |= forbids[g][k];
    }
  }
  if (any) propagate(f, forbids);
  label.reserve(allowed.size());
  for (std::int64_t v = 0; v < f.variables; ++v) {
    for (std::int32_t y = 0; y < f.width[v]; ++y)
      if (allowed[f.label_ptr[v] + y]) label.push_back(y);
    at[v + 1] = static_cast<std::int64_t>(label.size());
  }
}

void Reduction::propagate(const Factors& f, const std::vector<std::vector<std::uint8_t>>& forbids) {
  const Incidence incidence(f);
  struct Waiting {
    std::int32_t group;
    std::int64_t factor;
  };
  std::vector<Waiting> queue;
  std::vector<std::vector<std::uint8_t>> queued(f.groups);
  const auto put = [&](std::int32_t g, std::int64_t m) {
    if (queued[g][m] || !forbids[g][f.group[g].table_of(m)]) return;
    queued[g][m] = 1;
    queue.push_back({g, m});
  };
  for (std::int32_t g = 0; g < f.groups; ++g) {
    queued[g].resize(f.group[g].count);
    for (std::int64_t m = 0; m < f.group[g].count; ++m) put(g, m);
  }
  std::vector<std::uint8_t> support;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    if (head > (std::size_t{1} << 16) && head * 2 > queue.size()) {  // what is done is forgotten
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
      head = 0;
    }
    const auto [g, m] = queue[head];
    queued[g][m] = 0;
    const FactorGroup& group = f.group[g];
    const std::int32_t* scope = group.variables(m);
    const std::int32_t graph = f.graph[scope[0]];
    if (impossible[graph]) continue;
    find_support(f, group, m, support);
    std::size_t place = 0;
    for (int a = 0; a < group.arity; ++a) {
      const std::int32_t v = scope[a], before = width[v];
      for (std::int32_t y = 0; y < group.shape[a]; ++y, ++place) {
        std::uint8_t& mine = allowed[f.label_ptr[v] + y];
        if (mine && !support[place]) mine = 0, --width[v];
      }
      if (width[v] == 0) impossible[graph] = 1;
      if (width[v] < before)
        for (std::int64_t i = incidence.ptr[v]; i < incidence.ptr[v + 1]; ++i) {
          const Incident& other = incidence.entry[i];
          if (other.group != g || other.factor != m) put(other.group, other.factor);
        }
    }
  }
}

void Reduction::find_support(const Factors& f, const FactorGroup& group, std::int64_t m,
                             std::vector<std::uint8_t>& support) const {
  const int arity = group.arity;
  const std::int32_t* scope = group.variables(m);
  const double* table = group.scores(m);
  std::vector<std::int32_t> label(arity, 0);
  std::vector<std::size_t> place(arity);
  std::size_t total = 0;
  for (int a = 0; a < arity; ++a) place[a] = total, total += group.shape[a];
  support.assign(total, 0);
  int dead = 0;  // how many of the labels of now were dropped
  const auto dropped = [&](int a) { return !allowed[f.label_ptr[scope[a]] + label[a]]; };
  for (int a = 0; a < arity; ++a) dead += dropped(a);
  for (std::int64_t cell = 0; cell < group.cells; ++cell) {
    if (!dead && table[cell] != forbidden())
      for (int a = 0; a < arity; ++a) support[place[a] + label[a]] = 1;
    for (int a = arity - 1; a >= 0; --a) {
      dead -= dropped(a);
      if (++label[a] == group.shape[a]) label[a] = 0;
      dead += dropped(a);
      if (label[a]) break;
    }
  }
}

}  // namespace crfkit
