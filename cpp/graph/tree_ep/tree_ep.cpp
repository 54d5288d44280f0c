#include "graph/tree_ep/tree_ep.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/threads/parallel.hpp"

namespace crfkit {

TreeEP::TreeEP(const SpanningForest& forest, double budget) : TreeBelief(forest) {
  const std::int64_t V = f.variables;
  inside_.assign(V, -1);
  term_.resize(s.loose.size());
  by_tree_.resize(s.tree_ptr.size() - 1);
  for (std::size_t i = 0; i < s.loose.size(); ++i) {
    const Combined& factor = s.combined[s.loose[i]];
    term_[i].factor = &factor;
    find_subtree(term_[i]);
    work_ += work(term_[i]);
    if (work_ > budget) return;
    by_tree_[s.tree[factor.scope[0]]].push_back(static_cast<std::int64_t>(i));
  }
  // Near the same place in the tree, one after the other.
  std::vector<std::int64_t> rank(V);
  for (std::int64_t i = 0; i < V; ++i) rank[s.order[i]] = i;
  for (auto& terms : by_tree_)
    std::stable_sort(terms.begin(), terms.end(), [&](std::int64_t a, std::int64_t b) {
      return rank[term_[a].top] < rank[term_[b].top];
    });
}

TreeEPResult TreeEP::run(double tolerance, std::int64_t most, bool cliques, int threads) {
  const std::int64_t N = f.graphs, trees = static_cast<std::int64_t>(by_tree_.size());
  TreeEPResult result = {std::vector<double>(f.label_ptr[f.variables]),
                         {},
                         std::vector<double>(f.constant, f.constant + N),
                         std::vector<std::int64_t>(N),
                         std::vector<std::uint8_t>(N, 1),
                         std::vector<std::uint8_t>(N, 1)};
  std::vector<double> value(trees);
  std::vector<std::int64_t> sweeps(trees);
  std::vector<std::uint8_t> converged(trees);
  parallel_for(trees, threads, [&](std::int64_t t) {
    const double change = settle(t, tolerance, most, sweeps[t]);
    value[t] = change < 0.0 ? kZero : calibrate(t, result.node.data());
    converged[t] = change >= 0.0 && change <= tolerance;
  });
  for (std::int64_t t = 0; t < trees; ++t) {
    const std::int64_t n = f.graph[s.order[s.tree_ptr[t]]];
    result.value[n] += value[t];
    result.sweeps[n] = std::max(result.sweeps[n], sweeps[t]);
    result.converged[n] &= converged[t];
    if (!by_tree_[t].empty()) result.exact[n] = 0;
  }
  if (cliques) fill_cliques(result);
  return result;
}

double TreeEP::work(const Term& term) const {
  double each = 0.0, runs = 1.0;
  for (const std::int32_t v : term.below)
    each += static_cast<double>(f.width[v]) * f.width[s.parent[v]];
  for (std::size_t k = 0; k + 1 < term.factor->scope.size(); ++k)
    runs *= f.width[term.factor->scope[k]];
  return each * runs;
}

void TreeEP::find_subtree(Term& term) const {
  std::vector<std::int32_t> head = term.factor->scope;
  const auto deeper = [&](std::int32_t a, std::int32_t b) {
    return s.depth[a] != s.depth[b] ? s.depth[a] < s.depth[b] : a < b;
  };
  while (true) {
    std::sort(head.begin(), head.end(), deeper);
    head.erase(std::unique(head.begin(), head.end()), head.end());
    if (head.size() == 1) break;
    term.below.push_back(head.back());
    head.back() = s.parent[head.back()];
  }
  term.top = head[0];
}

TreeEP::Tilted TreeEP::tilt(const Term& term) {
  const std::size_t U = term.below.size() + 1;
  std::vector<std::int32_t> variable = term.below;
  variable.push_back(term.top);
  std::vector<std::int64_t> at(U + 1, 0), edge_at(U, 0), up_at(U, 0), place(U, -1);
  for (std::size_t i = 0; i < U; ++i) {
    inside_[variable[i]] = static_cast<std::int32_t>(i);
    at[i + 1] = at[i] + f.width[variable[i]];
  }
  for (std::size_t i = 0; i + 1 < U; ++i) {
    const std::int64_t m = f.width[s.parent[variable[i]]];
    place[i] = inside_[s.parent[variable[i]]];
    edge_at[i + 1] = edge_at[i] + m * f.width[variable[i]];
    up_at[i + 1] = up_at[i] + m;
  }
  std::vector<std::int64_t> spot;  // of the factor's variables in the subtree
  for (const std::int32_t v : term.factor->scope) spot.push_back(inside_[v]);
  Tilted t = {kZero,
              std::vector<double>(at[U]),
              {},
              std::vector<double>(up_at[U - 1]),
              std::vector<double>(edge_at[U - 1], kZero),
              std::vector<double>(at[U], kZero),
              std::vector<double>(term.factor->table.size(), kZero)};
  for (std::size_t i = 0; i < U; ++i)
    gather(variable[i], [&](std::int32_t z) { return inside_[z] >= 0; }, t.row.data() + at[i]);
  for (const std::int32_t v : variable) inside_[v] = -1;

  std::vector<double> x, belief(at[U]);
  const auto sum_up = [&](std::vector<double>& row, std::vector<double>& up) {
    for (std::size_t i = 0; i + 1 < U; ++i) {
      const std::int32_t n = f.width[variable[i]];
      const std::int64_t m = at[place[i] + 1] - at[place[i]];
      x.resize(n);
      for (std::int64_t k = 0; k < m; ++k) {
        for (std::int32_t l = 0; l < n; ++l) x[l] = edge(variable[i], k * n + l) + row[at[i] + l];
        row[at[place[i]] + k] += up[up_at[i] + k] = log_sum(x.data(), n);
      }
    }
  };
  t.plain = t.row;
  sum_up(t.plain, t.up);

  // The factor's last variable stays free; the others take all their labels in turn.
  const std::size_t last = spot.size() - 1;
  const std::int64_t free = f.width[variable[spot[last]]],
                     runs = static_cast<std::int64_t>(t.scope.size()) / free;
  std::vector<double> row, up(t.up.size());
  for (std::int64_t run = 0; run < runs; ++run) {
    row = t.row;
    std::int64_t rest = run;
    for (std::size_t k = last; k-- > 0;) {
      const std::int64_t width = f.width[variable[spot[k]]], label = rest % width;
      rest /= width;
      for (std::int64_t l = 0; l < width; ++l)
        if (l != label) row[at[spot[k]] + l] = kZero;
    }
    for (std::int64_t l = 0; l < free; ++l)
      row[at[spot[last]] + l] += term.factor->table[run * free + l];
    sum_up(row, up);
    const double mass = log_sum(row.data() + at[U - 1], at[U] - at[U - 1]);
    if (mass == kZero) continue;
    add_log(t.mass, mass);
    std::fill(belief.begin(), belief.end(), kZero);
    std::copy(row.begin() + at[U - 1], row.end(), belief.begin() + at[U - 1]);
    for (std::size_t i = U - 1; i-- > 0;) {
      const std::int64_t n = at[i + 1] - at[i], m = at[place[i] + 1] - at[place[i]];
      for (std::int64_t k = 0; k < m; ++k) {
        const double above = belief[at[place[i]] + k];
        if (above == kZero) continue;
        for (std::int64_t l = 0; l < n; ++l) {
          const double cell =
              above - up[up_at[i] + k] + edge(variable[i], k * n + l) + row[at[i] + l];
          add_log(belief[at[i] + l], cell);
          add_log(t.joint[edge_at[i] + k * n + l], cell);
        }
      }
    }
    for (std::int64_t l = 0; l < at[U]; ++l) add_log(t.node[l], belief[l]);
    for (std::int64_t l = 0; l < free; ++l) t.scope[run * free + l] = belief[at[spot[last]] + l];
  }
  return t;
}

double TreeEP::visit(Term& term) {
  const bool fresh = term.seen.empty();
  if (!fresh) put(term, -1);
  const Tilted t = tilt(term);
  if (t.mass == kZero) return -1.0;
  double change = fresh ? 1.0 : 0.0;
  term.seen.resize(t.node.size());
  for (std::size_t l = 0; l < t.node.size(); ++l) {
    const double p = std::exp(t.node[l] - t.mass);
    if (!fresh) change = std::max(change, std::abs(p - term.seen[l]));
    term.seen[l] = p;
  }
  const auto set = [&](double& to, double target, double plain) {
    double x = target == kZero ? (plain == kZero ? 0.0 : kZero) : target - plain;
    if (!fresh && x > kZero && to > kZero) x = term.damping * to + (1.0 - term.damping) * x;
    to = x;
  };
  // q on the subtree: q(top) times q(variable | parent) of all others.
  std::vector<std::int64_t> node_at(term.below.size() + 1, 0);
  for (std::size_t i = 0; i < term.below.size(); ++i) {
    inside_[term.below[i]] = static_cast<std::int32_t>(i);
    node_at[i + 1] = node_at[i] + f.width[term.below[i]];
  }
  inside_[term.top] = static_cast<std::int32_t>(term.below.size());
  term.edges.resize(t.joint.size());
  std::int64_t at = 0, up_at = 0;
  for (std::size_t i = 0; i < term.below.size(); ++i) {
    const std::int32_t v = term.below[i], n = f.width[v];
    const std::int64_t above = node_at[inside_[s.parent[v]]];
    for (std::int32_t k = 0; k < f.width[s.parent[v]]; ++k, ++up_at)
      for (std::int32_t l = 0; l < n; ++l, ++at) {
        if (t.node[above + k] == kZero) {
          term.edges[at] = 0.0;
          continue;
        }
        const double cell = edge(v, k * n + l) + t.plain[node_at[i] + l];
        set(term.edges[at], t.joint[at] == kZero ? kZero : t.joint[at] - t.node[above + k],
            cell == kZero ? kZero : cell - t.up[up_at]);
      }
  }
  for (const std::int32_t v : term.below) inside_[v] = -1;
  inside_[term.top] = -1;
  term.root.resize(f.width[term.top]);
  for (std::int32_t l = 0; l < f.width[term.top]; ++l)
    set(term.root[l], t.node[node_at.back() + l], t.plain[node_at.back() + l]);
  put(term, 1);
  for (const std::int32_t v : term.below) send_up(v);
  return change;
}

double TreeEP::settle(std::int64_t t, double tolerance, std::int64_t most, std::int64_t& sweeps) {
  std::vector<Term*> terms;
  for (const std::int64_t i : by_tree_[t]) terms.push_back(&term_[i]);
  refresh(t, terms);
  double change = 0.0, best = std::numeric_limits<double>::infinity();
  std::int64_t stalled = 0;
  while (!terms.empty() && sweeps < most) {
    std::int32_t focus = s.order[s.tree_ptr[t]];
    change = 0.0;
    for (Term* term : terms) {
      worked(static_cast<std::int64_t>(std::min(16.0 * work(*term), 1e12)) + kItem);
      move(focus, term->top);
      focus = term->top;
      const double now = visit(*term);
      if (now < 0.0) return now;
      change = std::max(change, now);
    }
    ++sweeps;
    refresh(t, terms);
    if (change <= tolerance) break;
    if (change < best) {
      best = change;
      stalled = 0;
    } else if (++stalled >= kPatience) {
      stalled = 0;
      for (Term* term : terms) term->damping = 0.5 + 0.5 * term->damping;
    }
  }
  return change;
}

}  // namespace crfkit
