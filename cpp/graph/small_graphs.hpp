// Components that share a pattern with others, swept in lanes; all other components are left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"
#include "graph/patterns.hpp"
#include "graph/small_program.hpp"
#include "shared/small_graphs.hpp"

namespace crfkit {

class SmallGraphs {
 public:
  // Depends on the scopes and shapes of the factors, not on their scores.
  SmallGraphs(const Factors& f, std::int64_t least_share) : covered_(f.variables) {
    const Components components(f);
    for (std::int64_t g = 0; g < f.groups; ++g)
      shapes_.push_back({f.group[g].count, f.group[g].cells});
    for (const std::vector<std::int64_t>& members : patterns_of(f, components)) {
      if (static_cast<std::int64_t>(members.size()) < least_share) continue;
      std::optional<SmallCompiler> compiled = SmallCompiler::of(pattern(f, components, members[0]));
      if (!compiled) continue;
      Shared made{std::move(*compiled), components_.size(), members.size(), variable_.size(),
                  factor_.size()};
      const SmallProgram program = made.compiled.program();
      for (const std::int64_t c : members) {
        for (std::int64_t k = components.variable_ptr[c]; k < components.variable_ptr[c + 1]; ++k) {
          variable_.push_back(components.variable[k]);
          covered_[components.variable[k]] = true;
        }
        factor_.insert(factor_.end(), components.factor.begin() + components.factor_ptr[c],
                       components.factor.begin() + components.factor_ptr[c + 1]);
        factor_.resize(made.first_factor +
                       (components_.size() - made.first_component + 1) * program.inputs);
        components_.push_back(f.graph[components.variable[components.variable_ptr[c]]]);
      }
      shared_.push_back(std::move(made));
    }
    covers_all_ = std::find(covered_.begin(), covered_.end(), false) == covered_.end();
  }

  const std::vector<bool>& covered() const { return covered_; }
  bool covers_all() const { return covers_all_; }
  std::int64_t components() const { return static_cast<std::int64_t>(components_.size()); }
  std::int64_t patterns() const { return static_cast<std::int64_t>(shared_.size()); }

  // Adds log Z of the components to their graphs; marginals where `node`, of factors where
  // `clique`.
  void sums(const SmallGraphKernels& kernels, const Factors& f, int threads, double* value,
            double* node, double* const* clique) const {
    check(f);
    std::vector<double> each(components_.size());
    std::vector<unsigned char> again(components_.size());
    for (const bool logs : {false, true}) {
      for (const Shared& one : shared_) {
        std::vector<std::int64_t> members;  // of the pattern
        for (std::size_t i = 0; i < one.components; ++i)
          if (!logs || again[one.first_component + i])
            members.push_back(static_cast<std::int64_t>(i));
        run(kernels, one, members, threads,
            [&](const SmallProgram& program, const SmallBlock& block, const std::int64_t* member,
                double* memory) {
              double values[kSmallLanes];
              const unsigned left_out =
                  kernels.sums(f, program, block, {logs, values, node, clique}, memory);
              for (int l = 0; l < block.count; ++l) {
                again[one.first_component + member[l]] = left_out >> l & 1;
                each[one.first_component + member[l]] = values[l];
              }
            });
      }
    }
    add(each, value);
  }

  // Adds scores of the best labellings to their graphs.
  void best(const SmallGraphKernels& kernels, const Factors& f, int threads, double* value,
            std::int32_t* label) const {
    check(f);
    std::vector<double> each(components_.size());
    for (const Shared& one : shared_) {
      std::vector<std::int64_t> members(one.components);
      for (std::size_t i = 0; i < one.components; ++i) members[i] = static_cast<std::int64_t>(i);
      run(kernels, one, members, threads,
          [&](const SmallProgram& program, const SmallBlock& block, const std::int64_t* member,
              double* memory) {
            double values[kSmallLanes];
            kernels.best(f, program, block, values, label, memory);
            for (int l = 0; l < block.count; ++l) each[one.first_component + member[l]] = values[l];
          });
    }
    add(each, value);
  }

 private:
  struct Shared {  // a pattern, and where its components lie in the lists
    SmallCompiler compiled;
    std::size_t first_component, components, first_variable, first_factor;
  };

  static SmallPattern pattern(const Factors& f, const Components& c, std::int64_t i) {
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

  void check(const Factors& f) const {
    bool same = f.variables == static_cast<std::int64_t>(covered_.size()) &&
                f.groups == static_cast<std::int64_t>(shapes_.size());
    for (std::int64_t g = 0; same && g < f.groups; ++g)
      same = shapes_[g] == std::pair(f.group[g].count, f.group[g].cells);
    if (!same) refuse("the factors are not those that the programs were made for");
  }

  // Calls work(program, block, members of the block, memory); blocks depend on `members` only.
  template <class Work>
  void run(const SmallGraphKernels& kernels, const Shared& one,
           const std::vector<std::int64_t>& members, int threads, Work work) const {
    constexpr std::int64_t kBlocks = 64;  // of one piece of work
    const SmallProgram program = one.compiled.program();
    const std::int64_t count = static_cast<std::int64_t>(members.size()),
                       size = kBlocks * kSmallLanes;
    parallel_for((count + size - 1) / size, threads, [&](std::int64_t piece) {
      std::vector<double> memory(kernels.memory(program));
      for (std::int64_t first = piece * size; first < std::min(count, (piece + 1) * size);
           first += kSmallLanes) {
        const std::int64_t* factor[kSmallLanes];
        const std::int32_t* variable[kSmallLanes];
        const int lanes = static_cast<int>(std::min<std::int64_t>(kSmallLanes, count - first));
        for (int l = 0; l < lanes; ++l) {
          const std::size_t i = static_cast<std::size_t>(members[first + l]);
          factor[l] = factor_.data() + one.first_factor + i * program.inputs;
          variable[l] = variable_.data() + one.first_variable + i * program.variables;
        }
        work(program, SmallBlock{factor, variable, lanes}, members.data() + first, memory.data());
      }
    });
  }

  void add(const std::vector<double>& each, double* value) const {
    for (std::size_t i = 0; i < each.size(); ++i) value[components_[i]] += each[i];
  }

  std::vector<bool> covered_;
  bool covers_all_;
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes_;  // factors and cells of each group
  std::vector<Shared> shared_;
  std::vector<std::int32_t> components_;  // graph of each component that is covered, by pattern
  std::vector<std::int32_t> variable_;    // [components, variables] of each pattern
  std::vector<std::int64_t> factor_;      // [components, inputs] of each pattern; 0 for ones
};

}  // namespace crfkit
