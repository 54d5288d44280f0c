#include "graph/visits/visits.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/barrier_threads.hpp"

namespace crfkit {

VisitEngine::VisitEngine(const Kernels& kernels, const KeptFactors& f, const VisitOrder& order,
                         bool forests, bool both)
    : kernels_(*kernels.visits),
      f_(f.view()),
      order_(order),
      tables_(f_, order, kernels_.lanes, both || forests),
      active_(f_.variables),
      label_(f_.variables, 0) {
  check_length("order", order.number.size(), f_.variables);
  fill_rows();
  index();
  if (forests)
    plant();
  else
    share_out();
  view_ = {row_.data(), width_.data(), own_.data(),          left_.data(),         shift_.data(),
           ptr_.data(), entry_.data(), tables_.group.data(), tables_.given.data(), label_.data()};
  cut();
}

void VisitEngine::sweep(std::span<const std::uint8_t> active, bool choose, int threads) {
  threads = useful(threads);
  activate(active, threads);
  if (forests_ == 0) {
    pass({active_.data(), pull_.data(), push_.data(), choose}, false, threads);
    pass({active_.data(), pull_back_.data(), push_back_.data(), false}, true, threads);
    return;
  }
  for (std::int32_t tree = 0; tree < forests_; ++tree) {
    for (std::size_t k = 0; k < entry_.size(); ++k) {
      const bool above = forest_[k] == tree && !is_last_[k],
                 below = forest_[k] == tree && is_last_[k];
      pull_[k] = !above, push_[k] = above ? 1.0 : 0.0;
      pull_back_[k] = !below, push_back_[k] = below ? share_[k] : 0.0;
    }
    pass({active_.data(), pull_.data(), push_.data(), choose && tree == 0}, false, threads);
    pass({active_.data(), pull_back_.data(), push_back_.data(), false}, true, threads);
  }
}

bool VisitEngine::improve(std::span<const std::uint8_t> active, int rounds, int threads) {
  threads = useful(threads);
  activate(active, threads);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::int64_t> changed(threads, 0);
    each_level(false, threads, [&](int t, std::int64_t first, std::int64_t last) {
      changed[t] += kernels_.improve(view_, active_.data(), first, last, scratch_[t].data());
    });
    if (std::all_of(changed.begin(), changed.end(), [](std::int64_t n) { return n == 0; }))
      return true;
  }
  return false;
}

std::vector<double> VisitEngine::bound() const {
  std::vector<double> total(f_.constant, f_.constant + f_.graphs);
  for (std::int64_t n = 0; n < f_.variables; ++n) total[graph_[n]] += shift_[n];
  return total;
}

std::vector<double> VisitEngine::score() const {
  std::vector<double> total(f_.constant, f_.constant + f_.graphs);
  for (std::int64_t n = 0; n < f_.variables; ++n) total[graph_[n]] += own_[row_[n] + label_[n]];
  for (const VisitGroup& group : tables_.group) {
    const FactorGroup& g = group.factors;
    for (std::int64_t m = 0; m < g.count; ++m) {
      const std::int32_t* scope = g.variables(m);
      std::int64_t cell = 0;
      for (int a = 0; a < g.arity; ++a) cell = cell * g.shape[a] + label_[scope[a]];
      total[graph_[scope[0]]] += g.scores(m)[cell] * g.scale_of(m);
    }
  }
  return total;
}

std::vector<std::int32_t> VisitEngine::label() const {
  std::vector<std::int32_t> out(label_.size());
  for (std::int64_t v = 0; v < f_.variables; ++v) out[v] = label_[order_.number[v]];
  return out;
}

void VisitEngine::set_label(Integers label) {
  check_length("label", label.size(), f_.variables);
  for (std::int64_t v = 0; v < f_.variables; ++v) {
    if (label[v] < 0 || label[v] >= f_.width[v])
      refuse("the label of variable " + text(v) + " is " + text(label[v]) + ", expected 0 to " +
             text(f_.width[v] - 1));
    label_[order_.number[v]] = label[v];
  }
}

std::vector<double> VisitEngine::left() const {
  constexpr double zero = -std::numeric_limits<double>::infinity();
  std::vector<double> out(f_.label_ptr[f_.variables]);
  for (std::int64_t v = 0; v < f_.variables; ++v) {
    const std::int32_t i = order_.number[v];
    for (std::int32_t x = 0; x < width_[i]; ++x) {
      double score = left_[row_[i] + x];
      for (std::int64_t k = ptr_[i]; score > zero && k < ptr_[i + 1]; ++k)
        score -= tables_.row(entry_[k])[x];
      out[f_.label_ptr[v] + x] = score;
    }
  }
  return out;
}

void VisitEngine::fill_rows() {
  constexpr double zero = -std::numeric_limits<double>::infinity();
  const std::int64_t V = f_.variables;
  row_.resize(V + 1), width_.resize(V), graph_.resize(V), shift_.assign(V, 0.0);
  for (std::int64_t n = 0; n < V; ++n) {
    const std::int32_t v = order_.variable[n];
    width_[n] = f_.width[v], graph_[n] = f_.graph[v];
    row_[n + 1] = row_[n] + tables_.padded_row(width_[n]);
  }
  own_.assign(row_[V], zero);
  for (std::int64_t n = 0; n < V; ++n) std::fill_n(own_.begin() + row_[n], width_[n], 0.0);
  for (std::int64_t g = 0; g < f_.groups; ++g) {
    const FactorGroup& group = f_.group[g];
    if (group.arity != 1) continue;
    for (std::int64_t m = 0; m < group.count; ++m) {
      double* own = own_.data() + row_[order_.number[group.scope[m]]];
      const double *scores = group.scores(m), scale = group.scale_of(m);
      for (std::int32_t x = 0; x < group.shape[0]; ++x) own[x] += scores[x] * scale;
    }
  }
  left_ = own_;
}

void VisitEngine::index() {
  ptr_.assign(f_.variables + 1, 0);
  for (const VisitGroup& g : tables_.group)
    for (std::int64_t i = 0; i < g.factors.count * g.factors.arity; ++i)
      ++ptr_[g.factors.scope[i] + 1];
  std::int64_t most = 0;
  for (std::int64_t n = 0; n < f_.variables; ++n) {
    most = std::max(most, (ptr_[n + 1] + 4) * tables_.padded_row(width_[n]));
    ptr_[n + 1] += ptr_[n];
  }
  scratch_size_ = most;
  const std::size_t entries = ptr_.back();
  entry_.resize(entries), is_first_.resize(entries), is_last_.resize(entries);
  pull_.resize(entries), push_.resize(entries), pull_back_.resize(entries),
      push_back_.resize(entries);
  std::vector<std::int64_t> next(ptr_.begin(), ptr_.end() - 1);
  for (std::size_t g = 0; g < tables_.group.size(); ++g) {
    const FactorGroup& group = tables_.group[g].factors;
    for (std::int64_t m = 0; m < group.count; ++m) {
      const std::int32_t* scope = group.variables(m);
      const auto [low, high] = std::minmax_element(scope, scope + group.arity);
      for (int a = 0; a < group.arity; ++a) {
        const std::int64_t k = next[scope[a]]++;
        entry_[k] = {static_cast<std::int32_t>(g), a, m, tables_.begin(g, m)};
        is_first_[k] = scope[a] == *low, is_last_[k] = scope[a] == *high;
      }
    }
  }
}

void VisitEngine::share_out() {
  for (std::int64_t n = 0; n < f_.variables; ++n) {
    std::int64_t earlier = 0, later = 0;
    for (std::int64_t k = ptr_[n]; k < ptr_[n + 1]; ++k)
      earlier += !is_first_[k], later += !is_last_[k];
    const double share = 1.0 / static_cast<double>(std::max<std::int64_t>({earlier, later, 1}));
    for (std::int64_t k = ptr_[n]; k < ptr_[n + 1]; ++k) {
      pull_[k] = !is_first_[k], push_[k] = is_last_[k] ? 0.0 : share;
      pull_back_[k] = !is_last_[k], push_back_[k] = is_first_[k] ? 0.0 : share;
    }
  }
}

void VisitEngine::plant() {
  forest_.assign(entry_.size(), -1), share_.assign(entry_.size(), 0.0);
  std::vector<std::vector<std::int64_t>> place(tables_.group.size());  // entries of factors
  for (std::size_t g = 0; g < place.size(); ++g)
    place[g].resize(tables_.group[g].factors.count * tables_.group[g].factors.arity);
  for (std::int64_t n = 0; n < f_.variables; ++n)
    for (std::int64_t k = ptr_[n]; k < ptr_[n + 1]; ++k)
      place[entry_[k].group]
           [entry_[k].factor * tables_.group[entry_[k].group].factors.arity + entry_[k].axis] = k;
  std::vector<std::uint8_t> taken;
  for (std::int64_t n = 0; n < f_.variables; ++n)
    for (std::int64_t k = ptr_[n]; k < ptr_[n + 1]; ++k) {
      if (!is_first_[k]) continue;
      const FactorGroup& group = tables_.group[entry_[k].group].factors;
      const std::int64_t* mine = place[entry_[k].group].data() + entry_[k].factor * group.arity;
      taken.assign(forests_ + 1, 0);
      for (int a = 0; a < group.arity; ++a) {
        if (is_last_[mine[a]]) continue;
        const std::int32_t v = group.variables(entry_[k].factor)[a];
        for (std::int64_t j = ptr_[v]; j < ptr_[v + 1]; ++j)
          if (!is_last_[j] && forest_[j] >= 0) taken[forest_[j]] = 1;
      }
      const std::int32_t tree =
          static_cast<std::int32_t>(std::find(taken.begin(), taken.end(), 0) - taken.begin());
      forests_ = std::max(forests_, tree + 1);
      if (forests_ > kMostForests)
        refuse("dual decomposition needs more than " + text(kMostForests) +
               " forests, as a variable has too many factors; use method=TRWS()");
      for (int a = 0; a < group.arity; ++a) forest_[mine[a]] = tree;
    }
  // A variable keeps a quarter for the next forest; the rest goes on, by the sizes of subtrees.
  constexpr double kOn = 0.75;
  // Sizes of subtrees: what is below a variable in each forest, and what of it is in a factor.
  std::vector<double> size(f_.variables);
  for (std::int32_t tree = 0; tree < forests_; ++tree) {
    std::fill(size.begin(), size.end(), 1.0);
    for (std::int64_t n = 0; n < f_.variables; ++n)  // all below n are done
      for (std::int64_t k = ptr_[n]; k < ptr_[n + 1]; ++k) {
        if (forest_[k] != tree || !is_last_[k]) continue;
        const FactorGroup& group = tables_.group[entry_[k].group].factors;
        for (int a = 0; a < group.arity; ++a)
          if (a != entry_[k].axis) share_[k] += size[group.variables(entry_[k].factor)[a]];
        size[n] += share_[k];
      }
    for (std::int64_t n = 0; n < f_.variables; ++n)
      for (std::int64_t k = ptr_[n]; k < ptr_[n + 1]; ++k)
        if (forest_[k] == tree && is_last_[k]) share_[k] *= kOn / (size[n] - 1.0);
  }
}

int VisitEngine::useful(int threads) const {
  check_threads(threads);
  return static_cast<int>(std::clamp<std::int64_t>(widest_ / 8, 1, threads));
}

void VisitEngine::activate(std::span<const std::uint8_t> active, int threads) {
  check_length("active", active.size(), f_.graphs);
  for (std::int64_t n = 0; n < f_.variables; ++n) active_[n] = active[graph_[n]];
  scratch_.resize(std::max<std::size_t>(scratch_.size(), threads));
  for (std::vector<double>& scratch : scratch_) scratch.resize(scratch_size_);
}

void VisitEngine::cut() {
  constexpr std::int64_t kLeast = 1 << 14;  // cells of a level that are worth a barrier
  const std::int64_t levels = static_cast<std::int64_t>(order_.level.size()) - 1;
  for (std::int64_t d = 0; d < levels; ++d) {
    std::int64_t cells = 0;
    for (std::int64_t n = order_.level[d]; n < order_.level[d + 1]; ++n)
      cells += (1 + ptr_[n + 1] - ptr_[n]) * width_[n] * 8;
    const bool shared = cells >= kLeast;
    if (steps_.empty() || shared || steps_.back().shared)
      steps_.push_back({d, d + 1, shared});
    else
      steps_.back().last = d + 1;
    if (shared) widest_ = std::max(widest_, order_.level[d + 1] - order_.level[d]);
  }
}

template <class Do>
void VisitEngine::each_level(bool backward, int threads, Do work) {
  const auto run = [&](int member, BarrierThreads* barrier) {
    const std::int64_t steps = static_cast<std::int64_t>(steps_.size());
    for (std::int64_t s = 0; s < steps; ++s) {
      const Step& step = steps_[backward ? steps - 1 - s : s];
      if (!step.shared || !barrier) {
        for (std::int64_t d = step.first; member == 0 && d < step.last; ++d) {
          const std::int64_t level = backward ? step.first + step.last - 1 - d : d;
          worked((order_.level[level + 1] - order_.level[level]) * kVisit);
          work(member, order_.level[level], order_.level[level + 1]);
        }
      } else {
        const std::int64_t begin = order_.level[step.first],
                           count = order_.level[step.last] - begin, all = barrier->members();
        worked(count / all * kVisit);
        work(member, begin + count * member / all, begin + count * (member + 1) / all);
      }
      if (barrier) barrier->wait();
    }
  };
  if (threads > 1 && widest_ > 0)
    in_step(threads, [&](int member, BarrierThreads& barrier) { run(member, &barrier); });
  else
    run(0, nullptr);
}

void VisitEngine::pass(const VisitPass& how, bool backward, int threads) {
  each_level(backward, threads, [&](int member, std::int64_t first, std::int64_t last) {
    kernels_.pass(view_, how, first, last, scratch_[member].data());
  });
}

}  // namespace crfkit
