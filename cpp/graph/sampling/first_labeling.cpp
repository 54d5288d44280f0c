#include "graph/sampling/first_labeling.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "shared/interrupts.hpp"

namespace crfkit {

LabelingSearch::LabelingSearch(const Factors& f)
    : f_(f),
      incidence_(f),
      alive_(f.label_ptr[f.variables], true),
      size_(f.width, f.width + f.variables),
      label_(f.variables, -1),
      component_(f.variables, -1) {
  constexpr double zero = -std::numeric_limits<double>::infinity();
  forbids_.resize(f.groups);
  for (std::int64_t g = 0; g < f.groups; ++g) {
    const FactorGroup& group = f.group[g];
    for (std::int64_t k = 0; k < group.tables; ++k) {
      bool any = false;
      for (std::int64_t c = 0; c < group.cells && !any; ++c)
        any = group.table[k * group.cells + c] == zero;
      forbids_[g].push_back(any);
    }
  }
}

std::vector<LabelingSearch::End> LabelingSearch::find(bool random, std::uint64_t seed,
                                                      std::int64_t budget, std::int32_t* label) {
  std::vector<End> end(f_.graphs, End::found);
  for (std::int64_t n = 0; n < f_.graphs; ++n)
    if (f_.constant[n] == -std::numeric_limits<double>::infinity()) end[n] = End::none;
  component_.assign(f_.variables, -1);
  for (std::int32_t v = 0, c = 0; v < f_.variables; ++v) {
    if (component_[v] >= 0) continue;
    const std::int64_t graph = f_.graph[v];
    collect(v, c++);
    if (end[graph] != End::found) continue;
    End now = End::given_up;
    for (int attempt = 0; attempt < kAttempts && now == End::given_up; ++attempt) {
      random_.seed(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(v) * kAttempts +
                   attempt);
      reset();
      work_ = budget;
      now = search(random || attempt > 0);
    }
    end[graph] = now;
  }
  for (std::int64_t v = 0; v < f_.variables; ++v)
    label[v] = end[f_.graph[v]] == End::found ? label_[v] : -1;
  return end;
}

void LabelingSearch::collect(std::int32_t start, std::int32_t number) {
  member_ = {start};
  component_[start] = number;
  any_ = false;
  for (std::size_t i = 0; i < member_.size(); ++i)
    for (std::int64_t e = incidence_.ptr[member_[i]]; e < incidence_.ptr[member_[i] + 1]; ++e) {
      const Incident& at = incidence_.entry[e];
      const FactorGroup& group = f_.group[at.group];
      any_ = any_ || forbids_[at.group][group.table_of(at.factor)];
      for (int a = 0; a < group.arity; ++a) {
        const std::int32_t z = group.variables(at.factor)[a];
        if (component_[z] >= 0) continue;
        component_[z] = number;
        member_.push_back(z);
      }
    }
  place_.resize(f_.variables);
  for (std::size_t i = 0; i < member_.size(); ++i)
    place_[member_[i]] = static_cast<std::int32_t>(i);
}

void LabelingSearch::reset() {
  struck_.clear();
  chosen_.clear();
  choices_.clear();
  turns_ = {};
  for (const std::int32_t v : member_) {
    label_[v] = -1;
    size_[v] = f_.width[v];
    for (std::int64_t i = f_.label_ptr[v]; i < f_.label_ptr[v + 1]; ++i) alive_[i] = true;
    turn(v);
  }
}

LabelingSearch::End LabelingSearch::search(bool random) {
  if (any_) {
    for (const std::int32_t v : member_) touch(v);
    if (!settle()) return End::none;
  }
  while (true) {
    if (work_ < 0) return End::given_up;
    worked(1 << 8);
    std::int32_t v = -1;
    while (!turns_.empty() && v < 0) {
      const auto [size, place, next] = turns_.top();
      turns_.pop();
      if (label_[next] < 0 && (!any_ || size == size_[next])) v = next;
    }
    if (v < 0) return End::found;
    const std::int32_t l = preferred(v, random);
    choices_.push_back({v, l, struck_.size(), chosen_.size()});
    label_[v] = l;
    chosen_.push_back(v);
    for (std::int32_t other = 0; other < f_.width[v]; ++other)
      if (other != l && alive_[f_.label_ptr[v] + other]) strike(v, other);
    while (!settle()) {
      if (work_ < 0) return End::given_up;
      if (choices_.empty()) return End::none;
      const Choice last = choices_.back();
      choices_.pop_back();
      undo(last);
      strike(last.variable, last.label);
    }
  }
}

std::int32_t LabelingSearch::preferred(std::int32_t v, bool random) {
  std::int32_t best = -1;
  if (random) {
    std::uint64_t k = random_() % static_cast<std::uint64_t>(size_[v]);
    for (std::int32_t l = 0; l < f_.width[v]; ++l)
      if (alive_[f_.label_ptr[v] + l] && k-- == 0) return l;
  }
  score_.assign(f_.width[v], 0.0);
  for (std::int64_t e = incidence_.ptr[v]; e < incidence_.ptr[v + 1]; ++e)
    add_scores(v, incidence_.entry[e]);
  for (std::int32_t l = 0; l < f_.width[v]; ++l)
    if (alive_[f_.label_ptr[v] + l] && (best < 0 || score_[l] > score_[best])) best = l;
  return best;
}

void LabelingSearch::add_scores(std::int32_t v, const Incident& at) {
  const FactorGroup& group = f_.group[at.group];
  const std::int32_t* scope = group.variables(at.factor);
  std::int64_t cell = 0, step = 1, own = 1;
  for (int a = group.arity; a-- > 0; step *= group.shape[a]) {
    if (a == at.axis)
      own = step;
    else if (label_[scope[a]] < 0)
      return;
    else
      cell += step * label_[scope[a]];
  }
  const double scale = group.scale_of(at.factor);
  for (std::int32_t l = 0; l < f_.width[v]; ++l)
    score_[l] += scale * group.scores(at.factor)[cell + l * own];
}

void LabelingSearch::strike(std::int32_t v, std::int32_t l) {
  alive_[f_.label_ptr[v] + l] = false;
  if (--size_[v] == 0) empty_ = true;
  struck_.push_back({v, l});
  if (!any_) return;
  turn(v);
  touch(v);
}

void LabelingSearch::touch(std::int32_t v) {
  for (std::int64_t e = incidence_.ptr[v]; e < incidence_.ptr[v + 1]; ++e) {
    const Incident& at = incidence_.entry[e];
    if (forbids_[at.group][f_.group[at.group].table_of(at.factor)])
      waiting_.push_back({at.group, at.factor});
  }
}

void LabelingSearch::undo(const Choice& choice) {
  while (struck_.size() > choice.struck) {
    const auto [v, l] = struck_.back();
    struck_.pop_back();
    alive_[f_.label_ptr[v] + l] = true;
    ++size_[v];
    if (any_) turn(v);
  }
  while (chosen_.size() > choice.chosen) {
    label_[chosen_.back()] = -1;
    turn(chosen_.back());
    chosen_.pop_back();
  }
}

bool LabelingSearch::settle() {
  bool possible = !empty_;
  while (!waiting_.empty() && possible && work_ >= 0) {
    const auto [g, m] = waiting_.back();
    waiting_.pop_back();
    worked(f_.group[g].cells);
    possible = revise(f_.group[g], m);
  }
  waiting_.clear();
  empty_ = false;
  return possible;
}

bool LabelingSearch::revise(const FactorGroup& group, std::int64_t m) {
  const std::int32_t* scope = group.variables(m);
  const double* scores = group.scores(m);
  support_.clear();
  begin_.assign(1, 0);
  for (int a = 0; a < group.arity; ++a) begin_.push_back(begin_.back() + group.shape[a]);
  support_.assign(begin_.back(), 0);
  at_.assign(group.arity, 0);
  const auto next_alive = [&](int a) {
    while (at_[a] < group.shape[a] && !alive_[f_.label_ptr[scope[a]] + at_[a]]) ++at_[a];
    return at_[a] < group.shape[a];
  };
  for (int a = 0; a < group.arity; ++a)
    if (!next_alive(a)) return false;
  for (int a = 0; a >= 0;) {
    std::int64_t cell = 0;
    for (int i = 0; i < group.arity; ++i) cell = cell * group.shape[i] + at_[i];
    if (scores[cell] > -std::numeric_limits<double>::infinity())
      for (int i = 0; i < group.arity; ++i) support_[begin_[i] + at_[i]] = 1;
    --work_;
    for (a = group.arity - 1; a >= 0; --a) {
      ++at_[a];
      if (next_alive(a)) break;
      at_[a] = 0;
      next_alive(a);
    }
  }
  for (int a = 0; a < group.arity; ++a)
    for (std::int32_t l = 0; l < group.shape[a]; ++l)
      if (alive_[f_.label_ptr[scope[a]] + l] && !support_[begin_[a] + l]) {
        strike(scope[a], l);
        if (size_[scope[a]] == 0) return false;
      }
  return true;
}

}  // namespace crfkit
