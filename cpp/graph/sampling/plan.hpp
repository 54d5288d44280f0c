// Factors as the variables see them, by position: what draws and mean field run over.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/sampling/blocks.hpp"
#include "shared/sampling.hpp"

namespace crfkit {

// Refers to the factors and the blocks, which must stay.
class VisitPlan {
 public:
  const Factors& f;
  const Blocks& blocks;
  BlockVisits view;
  std::vector<std::int64_t> edge_at;  // [V + 1] cells of edges within blocks
  std::int64_t clique_cells = 0;      // of all factors

  VisitPlan(const Factors& factors, const Blocks& blocks_);

  std::int64_t labels() const { return at_.back(); }

  // Doubles that the kernels need for the blocks of any one piece.
  std::int64_t scratch() const;

  // Lets draws add to marginals of factors, [clique_cells], group by group.
  void aim(double* cliques);

 private:
  // Tables with each axis last; null where that is how they lie.
  void by_axis();

  const double* along(std::int64_t g, int axis, std::int64_t m) const;

  void fill();

  void add(std::int64_t p, const Incident& at);

  // Exponentials of edges, once for all that share a table and a scale; not where they are too
  // many.
  void exponentiate();

  // Several factors between a variable and its parent are added up.
  void add_edge(std::int64_t p, std::int64_t parent, const LocalFactor& local);

  std::vector<std::int32_t> width_;
  std::vector<std::int64_t> at_, up_, local_ptr_;
  std::vector<double> own_, edge_scale_;
  std::vector<LocalFactor> local_;
  std::vector<Incident> factor_;  // of each local
  std::vector<Other> other_;
  std::vector<const double*> edge_;
  std::vector<std::vector<std::vector<double>>> moved_;  // [groups, axes]
  std::vector<std::vector<double>> summed_;
  std::vector<double> zeros_, most_;
  std::vector<const double*> chance_;
  std::vector<std::vector<double>> exponentials_;
  static constexpr std::int64_t kKept = std::int64_t{1} << 25;  // cells: 256 MB
  std::vector<std::int64_t> bare_;
};

}  // namespace crfkit
