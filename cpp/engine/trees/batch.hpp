// A batch of structures: sums with probabilities, or the best, the k best and draws, on threads.
//
// Sentence by sentence, each alone: the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "engine/trees/plan.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

struct TreeBatch {
  TreeShape shape;
  const void* score;  // [sentences, rows, columns, kinds] floats or doubles; kinds: of an alignment
  bool wide;          // doubles
  std::int64_t sentences, rows, columns;
  const std::int64_t *height, *width;  // [sentences] rows and columns that are there
  std::int64_t options;                // of each part (kbest): a last axis, from the highest on

  std::int64_t kinds() const { return shape == TreeShape::alignment ? 3 : 1; }
  std::int64_t cells() const { return rows * columns; }
};

// log Z [sentences]; probabilities of parts in the type and shape of the scores, 0 at first, or
// null.
void sum_trees(const Kernels& kernels, const TreeBatch& batch, double* value, void* marginals,
               int threads);

enum class TreeQuery { best, kbest, sample };

// chosen [sentences, count, rows, columns], -1 at first: of each part that a structure has, its
// kind, or which of its options; score [sentences, count], -inf at first.
void find_trees(const Kernels& kernels, const TreeBatch& batch, TreeQuery query, std::int64_t count,
                std::uint64_t seed, std::int64_t* chosen, double* score, int threads);

}  // namespace crfkit
