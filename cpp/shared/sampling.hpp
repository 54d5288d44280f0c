// Kernels of visits of variables: draws, and mean field.
//
// Variables have *positions*: by graph, by class of blocks that share no factor, by block.  A block
// is a tree of variables that are drawn, or summed, together given all others; often a single
// variable.
#pragma once

#include <cstdint>

#include "shared/factors.hpp"

namespace crfkit {

struct Other {
  std::int32_t position;
  std::int32_t step;  // of its label in the table
};

// A factor as one of its variables sees it.
struct LocalFactor {
  const double* table;  // scores of the factor, the axis of this variable last
  double scale;
  double*
      clique;  // where marginals of the factor are added; null unless this is its first variable
  std::int64_t rest;  // further variables of the factor: `other` [rest, rest + more)
  Other next;         // one of them
  std::int32_t more;
  std::int32_t first;  // whether this is the factor's first variable
};

struct BlockVisits {
  std::int64_t positions;
  const std::int32_t* width;      // [V] labels
  const std::int64_t* at;         // [V + 1] first label in flat arrays
  const double* own;              // [labels] scores of a variable alone
  const std::int64_t* local_ptr;  // [V + 1] of each position
  const LocalFactor* local;       // factors that leave the block
  const Other* other;
  const std::int64_t* block_ptr;  // [blocks + 1] positions, parents before children
  const std::int32_t* parent;     // [V] position, or -1
  const double* const* edge;      // [V] scores [labels of the parent, labels], to be scaled
  const double* edge_scale;       // [V]
  const std::int64_t* up;         // [V + 1] labels of parents before: where messages up lie
  const double* most;             // [up] highest scaled score of an edge for a label of the parent
  const double* const* chance;    // [V] exp(scaled scores of the edge - most); null: not kept
};

struct Drawing {
  std::uint64_t seed, chain, sweep;
  double cold;          // 1 / temperature, of `draw` alone; inf: the best label
  std::int32_t* label;  // [V]
  double* node;         // [labels] probabilities given the others are added; may be null
  double* joint;  // of edges within blocks, [labels of the parent, labels] at edge_at; may be null
  const std::int64_t* edge_at;  // [V + 1]
  bool cliques;                 // whether to add to LocalFactor::clique
  std::int64_t shift;           // of LocalFactor::clique: which share of the memory
};

// What is watched of a sweep: mean local score, labels, labels with random signs.
struct Watched {
  double score, label, sign;
};

struct Averaging {
  double* node;   // [labels] q, read and written
  double* joint;  // as above; may be null
  const std::int64_t* edge_at;
  double* inner;  // [blocks] entropy and mean scores within blocks
};

struct SamplingKernels {
  // Draws the blocks [first, last), no two of which share a factor; `draw` needs blocks of one
  // variable.  What scratch must hold: VisitPlan::scratch.
  Watched (*draw)(const BlockVisits&, const Drawing&, std::int64_t first, std::int64_t last,
                  double* scratch);
  Watched (*draw_trees)(const BlockVisits&, const Drawing&, std::int64_t first, std::int64_t last,
                        double* scratch);
  // Score of the labels of positions [first, last): each factor counts at its first variable.
  double (*score)(const BlockVisits&, const std::int32_t* label, std::int64_t first,
                  std::int64_t last);
  // The best q of the blocks given the others; returns the largest change of a probability, or inf
  // where all labels of a block became impossible.
  double (*average)(const BlockVisits&, const Averaging&, std::int64_t first, std::int64_t last,
                    double* scratch);
  // Mean score under q of the factors between blocks whose first variable lies in [first, last).
  double (*expected)(const BlockVisits&, const double* node, std::int64_t first, std::int64_t last,
                     double* scratch);
};

namespace baseline {
extern const SamplingKernels sampling;
}
namespace avx2 {
extern const SamplingKernels sampling;
}
namespace avx512 {
extern const SamplingKernels sampling;
}

}  // namespace crfkit
