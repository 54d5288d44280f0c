#include "graph/lanes/small_graphs.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"

namespace crfkit {

SmallGraphs::SmallGraphs(const Factors& f, std::int64_t least_share, int threads)
    : covered_(f.variables), components_(few_factors(f) ? f : Factors{}, kMostSmallVariables) {
  for (std::int64_t g = 0; g < f.groups; ++g)
    shapes_.push_back({f.group[g].count, f.group[g].cells});
  const ConnectedParts& c = components_;
  for (std::vector<std::int64_t>& members : patterns_of(f, c, kMostSmallVariables, threads)) {
    if (static_cast<std::int64_t>(members.size()) < least_share) continue;
    std::optional<SmallCompiler> compiled = SmallCompiler::of(pattern(f, c, members[0]));
    if (!compiled) continue;
    for (const std::int64_t i : members)
      for (std::int64_t k = c.variable_ptr[i]; k < c.variable_ptr[i + 1]; ++k)
        covered_[c.variable[k]] = true;
    shared_.push_back({std::move(*compiled), std::move(members)});
  }
  covers_all_ = std::find(covered_.begin(), covered_.end(), false) == covered_.end();
  components_.drop_what_only_patterns_need();
}

std::int64_t SmallGraphs::components() const {
  std::int64_t count = 0;
  for (const Shared& one : shared_) count += static_cast<std::int64_t>(one.members.size());
  return count;
}

std::vector<double> SmallGraphs::cells(const Factors& f) const {
  check(f);
  std::vector<double> made(f.graphs);
  for (const Shared& one : shared_)
    for (const std::int64_t i : one.members) {
      double& most = made[graph_of(f, i)];
      most = std::max(most, static_cast<double>(one.compiled.program().cells));
    }
  return made;
}

void SmallGraphs::sums(const SmallGraphKernels& kernels, const Factors& f, int threads,
                       double* value, double* node, double* const* clique) const {
  check(f);
  std::vector<double> each(components_.count());
  std::vector<unsigned char> again(components_.count());
  const auto answer = [&](bool logs) {
    return [&, logs](const SmallProgram& program, const SmallBlock& block,
                     const std::int64_t* member, double* memory) {
      double values[kSmallLanes];
      const unsigned left_out =
          kernels.sums(f, program, block, {logs, values, node, clique}, memory);
      for (int l = 0; l < block.count; ++l) {
        again[member[l]] = left_out >> l & 1;
        each[member[l]] = values[l];
      }
    };
  };
  std::vector<Piece> all, rest;
  for (const Shared& one : shared_) cut(one, one.members, all);
  run(kernels, all, threads, answer(false));
  std::vector<std::vector<std::int64_t>> unsafe(shared_.size());
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    for (const std::int64_t member : shared_[i].members)
      if (again[member]) unsafe[i].push_back(member);
    cut(shared_[i], unsafe[i], rest);
  }
  run(kernels, rest, threads, answer(true));
  add(f, each, value);
}

void SmallGraphs::best(const SmallGraphKernels& kernels, const Factors& f, int threads,
                       double* value, std::int32_t* label) const {
  check(f);
  std::vector<double> each(components_.count());
  std::vector<Piece> all;
  for (const Shared& one : shared_) cut(one, one.members, all);
  run(kernels, all, threads,
      [&](const SmallProgram& program, const SmallBlock& block, const std::int64_t* member,
          double* memory) {
        double values[kSmallLanes];
        kernels.best(f, program, block, values, label, memory);
        for (int l = 0; l < block.count; ++l) each[member[l]] = values[l];
      });
  add(f, each, value);
}

bool SmallGraphs::few_factors(const Factors& f) {
  for (std::int64_t g = 0; g < f.groups; ++g)
    if (f.group[g].count > std::numeric_limits<std::int32_t>::max()) return false;
  return true;
}

SmallPattern SmallGraphs::pattern(const Factors& f, const ConnectedParts& c, std::int64_t i) {
  SmallPattern made;
  for (std::int64_t k = c.variable_ptr[i]; k < c.variable_ptr[i + 1]; ++k)
    made.width.push_back(f.width[c.variable[k]]);
  for (std::int64_t k = c.factor_ptr[i]; k < c.factor_ptr[i + 1]; ++k) {
    const FactorGroup& group = f.group[c.group[k]];
    SmallPattern::Factor factor = {c.group[k], {}};
    for (int a = 0; a < group.arity; ++a)
      factor.scope.push_back(c.local[group.variables(c.factor[k])[a]]);
    made.factors.push_back(std::move(factor));
  }
  return made;
}

void SmallGraphs::check(const Factors& f) const {
  bool same = f.variables == static_cast<std::int64_t>(covered_.size()) &&
              f.groups == static_cast<std::int64_t>(shapes_.size());
  for (std::int64_t g = 0; same && g < f.groups; ++g)
    same = shapes_[g] == std::pair(f.group[g].count, f.group[g].cells);
  if (!same) refuse("the factors are not those that the programs were made for");
}

void SmallGraphs::cut(const Shared& one, const std::vector<std::int64_t>& members,
                      std::vector<Piece>& pieces) {
  constexpr std::size_t kSize = 64 * kSmallLanes;
  for (std::size_t i = 0; i < members.size(); i += kSize)
    pieces.push_back(
        {&one, members.data() + i, static_cast<std::int64_t>(std::min(kSize, members.size() - i))});
}

template <class Work>
void SmallGraphs::run(const SmallGraphKernels& kernels, const std::vector<Piece>& pieces,
                      int threads, const Work& work) const {
  parallel_for(static_cast<std::int64_t>(pieces.size()), threads, [&](std::int64_t p) {
    const Piece& piece = pieces[p];
    const SmallProgram program = piece.pattern->compiled.program();
    std::vector<double> memory(kernels.memory(program));
    for (std::int64_t first = 0; first < piece.count; first += kSmallLanes) {
      const std::int64_t* member = piece.member + first;
      const int lanes = static_cast<int>(std::min<std::int64_t>(kSmallLanes, piece.count - first));
      const std::int32_t *factor[kSmallLanes], *variable[kSmallLanes];
      for (int l = 0; l < lanes; ++l) {
        factor[l] = components_.factor.data() + components_.factor_ptr[member[l]];
        variable[l] = components_.variable.data() + components_.variable_ptr[member[l]];
      }
      work(program, SmallBlock{factor, variable, lanes}, member, memory.data());
    }
  });
}

void SmallGraphs::add(const Factors& f, const std::vector<double>& each, double* value) const {
  for (const Shared& one : shared_)
    for (const std::int64_t i : one.members) value[graph_of(f, i)] += each[i];
}

}  // namespace crfkit
