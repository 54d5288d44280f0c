#include "graph/cuts/moves.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace crfkit {

Moves::Moves(const Factors& f, std::span<const std::int32_t> start)
    : cycles(f.graphs), done(f.graphs), f_(f), costs_(f) {
  fault = costs_.fault;
  if (fault.why != Fault::none) return;
  label.assign(start.begin(), start.end());
  if (label.empty()) {
    label.resize(f.variables);
    for (std::int64_t v = 0; v < f.variables; ++v) {
      const double* first = costs_.unary.data() + f.label_ptr[v];
      label[v] = static_cast<std::int32_t>(std::min_element(first, first + f.width[v]) - first);
    }
  }
  for (std::int64_t v = 0; v < f.variables; ++v)
    if (unary(v, label[v]) == infinite) done[f.graph[v]] = 1;  // nothing to lower
  for (const LabelPair& pair : costs_.pairs)
    if (!done[f.graph[pair.u]] && pair.cost(label[pair.u], label[pair.v]) == infinite) {
      fault = {Fault::forbids, pair.group, pair.factor};
      return;
    }
  ptr_.resize(f.variables + 1);
  for (const LabelPair& pair : costs_.pairs) ++ptr_[pair.u + 1], ++ptr_[pair.v + 1];
  for (std::int64_t v = 0; v < f.variables; ++v) ptr_[v + 1] += ptr_[v];
  at_.resize(ptr_.back());
  std::vector<std::int64_t> next(ptr_.begin(), ptr_.end() - 1);
  for (std::size_t k = 0; k < costs_.pairs.size(); ++k)
    for (const std::int32_t v : {costs_.pairs[k].u, costs_.pairs[k].v})
      at_[next[v]++] = static_cast<std::int32_t>(k);
  local_.assign(f.variables, -1);
  delta_.resize(f.graphs);
}

void Moves::expand(std::int64_t most) {
  const std::int32_t L = *std::max_element(f_.width, f_.width + f_.variables);
  // Labels far from each other first: neighboring ones in turn took more cycles, to worse ends.
  std::int64_t step = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.382 * L + 0.5));
  while (std::gcd(step, static_cast<std::int64_t>(L)) > 1) ++step;
  repeat(most, L, [&](std::int64_t move) {
    const std::int32_t alpha = static_cast<std::int32_t>(move * step % L);
    choose([&](std::int64_t v, std::int32_t& x0, std::int32_t& x1) {
      x0 = label[v];
      x1 = alpha;
      return x0 != alpha;
    });
  });
}

void Moves::swap(std::int64_t most) {
  const std::int32_t L = *std::max_element(f_.width, f_.width + f_.variables);
  std::vector<std::pair<std::int32_t, std::int32_t>> both;
  for (std::int32_t a = 0; a < L; ++a)
    for (std::int32_t b = a + 1; b < L; ++b) both.push_back({a, b});
  repeat(most, static_cast<std::int64_t>(both.size()), [&](std::int64_t move) {
    const auto [alpha, beta] = both[move];
    choose([&, alpha = alpha, beta = beta](std::int64_t v, std::int32_t& x0, std::int32_t& x1) {
      x0 = alpha;
      x1 = beta;
      return label[v] == alpha || label[v] == beta;
    });
  });
}

template <class Move>
void Moves::repeat(std::int64_t most, std::int64_t moves, const Move& move) {
  quiet_.assign(f_.graphs, 0);
  if (moves == 0) std::fill(done.begin(), done.end(), 1);
  for (std::int64_t cycle = 0; cycle < most; ++cycle) {
    if (std::find(done.begin(), done.end(), 0) == done.end()) return;
    for (std::int64_t n = 0; n < f_.graphs; ++n) cycles[n] += !done[n];
    for (std::int64_t i = 0; i < moves; ++i) {
      move(i);
      for (std::int64_t n = 0; n < f_.graphs; ++n) done[n] |= ++quiet_[n] >= moves;
    }
  }
}

template <class Labels>
void Moves::choose(const Labels& labels) {
  active_.clear();
  energy_.clear(f_.graphs);
  for (std::int64_t v = 0; v < f_.variables; ++v) {
    std::int32_t x0, x1;
    if (done[f_.graph[v]] || !labels(v, x0, x1) || std::max(x0, x1) >= f_.width[v]) continue;
    const double cost0 = unary(v, x0), cost1 = unary(v, x1);
    if (cost0 == infinite || cost1 == infinite) continue;  // it has to keep its label
    local_[v] = energy_.add_variable(f_.graph[v]);
    active_.push_back({static_cast<std::int32_t>(v), x0, x1});
    energy_.slope[local_[v]] = cost1 - cost0;
  }
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const Active& a = active_[i];
    for (std::int64_t j = ptr_[a.v]; j < ptr_[a.v + 1]; ++j) {
      const LabelPair& pair = costs_.pairs[at_[j]];
      const bool first = pair.u == a.v;
      const std::int32_t w = first ? pair.v : pair.u;
      if (local_[w] < 0) {
        const std::int32_t y = label[w];
        energy_.add_unary(static_cast<std::int32_t>(i),
                          first ? pair.cost(a.x0, y) : pair.cost(y, a.x0),
                          first ? pair.cost(a.x1, y) : pair.cost(y, a.x1));
      } else if (first) {
        const Active& b = active_[local_[w]];
        energy_.add_table(static_cast<std::int32_t>(i), local_[w], pair.cost(a.x0, b.x0),
                          pair.cost(a.x0, b.x1), pair.cost(a.x1, b.x0), pair.cost(a.x1, b.x1));
      }
    }
  }
  if (!active_.empty()) {
    if (solver_.cut(energy_, answer_) >= 0) {
      solver_.roof(energy_, answer_);
      ++fused;
    }
    make();
  }
  for (const Active& a : active_) local_[a.v] = -1;
}

void Moves::make() {
  changed_.clear();
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const Active& a = active_[i];
    const std::int8_t x = answer_.label[i];
    const std::int32_t before = label[a.v], after = x < 0 ? before : x == 0 ? a.x0 : a.x1;
    if (after == before) continue;
    changed_.push_back({a.v, before, after});
    label[a.v] = after;
    delta_[f_.graph[a.v]] = 0.0;
    local_[a.v] = -2 - static_cast<std::int32_t>(changed_.size() - 1);
  }
  for (const Active& c : changed_) {
    double& delta = delta_[f_.graph[c.v]];
    delta += unary(c.v, c.x1) - unary(c.v, c.x0);
    for (std::int64_t j = ptr_[c.v]; j < ptr_[c.v + 1]; ++j) {
      const LabelPair& pair = costs_.pairs[at_[j]];
      const bool first = pair.u == c.v;
      const std::int32_t w = first ? pair.v : pair.u;
      if (local_[w] < -1 && !first) continue;  // counted there
      const std::int32_t y = local_[w] < -1 ? changed_[-2 - local_[w]].x0 : label[w];
      delta += first ? pair.cost(c.x1, label[w]) - pair.cost(c.x0, y)
                     : pair.cost(label[w], c.x1) - pair.cost(y, c.x0);
    }
  }
  for (const Active& c : changed_) {
    if (delta_[f_.graph[c.v]] < 0.0)
      quiet_[f_.graph[c.v]] = 0;
    else
      label[c.v] = c.x0;
  }
}

}  // namespace crfkit
