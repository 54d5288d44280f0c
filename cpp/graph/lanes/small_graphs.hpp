// ConnectedParts that share a pattern with others, swept in lanes; all other components are left
// out.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/lanes/patterns.hpp"
#include "graph/lanes/small_program.hpp"
#include "shared/small_graphs.hpp"

namespace crfkit {

class SmallGraphs {
 public:
  // Depends on the scopes and shapes of the factors, not on their scores.
  SmallGraphs(const Factors& f, std::int64_t least_share, int threads);

  const std::vector<bool>& covered() const { return covered_; }
  bool covers_all() const { return covers_all_; }
  std::int64_t components() const;
  std::int64_t patterns() const { return static_cast<std::int64_t>(shared_.size()); }

  // Cells of the largest component of each graph.
  std::vector<double> cells(const Factors& f) const;

  // Adds log Z of the components to their graphs; marginals where `node`, of factors where
  // `clique`.
  void sums(const SmallGraphKernels& kernels, const Factors& f, int threads, double* value,
            double* node, double* const* clique) const;

  // Adds scores of the best labelings to their graphs.
  void best(const SmallGraphKernels& kernels, const Factors& f, int threads, double* value,
            std::int32_t* label) const;

 private:
  struct Shared {  // a pattern and its components
    SmallCompiler compiled;
    std::vector<std::int64_t> members;
  };

  static bool few_factors(const Factors& f);

  static SmallPattern pattern(const Factors& f, const ConnectedParts& c, std::int64_t i);

  void check(const Factors& f) const;

  struct Piece {  // of the work
    const Shared* pattern;
    const std::int64_t* member;
    std::int64_t count;
  };

  static void cut(const Shared& one, const std::vector<std::int64_t>& members,
                  std::vector<Piece>& pieces);

  // Calls work(program, block, members of the block, memory); blocks do not depend on threads.
  template <class Work>
  void run(const SmallGraphKernels& kernels, const std::vector<Piece>& pieces, int threads,
           const Work& work) const;

  void add(const Factors& f, const std::vector<double>& each, double* value) const;

  std::int32_t graph_of(const Factors& f, std::int64_t i) const {
    return f.graph[components_.variable[components_.variable_ptr[i]]];
  }

  std::vector<bool> covered_;
  bool covers_all_;
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes_;  // factors and cells of each group
  ConnectedParts components_;
  std::vector<Shared> shared_;
};

}  // namespace crfkit
