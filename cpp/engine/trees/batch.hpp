// A batch of structures: sums with probabilities, or the best, the k best and draws, on threads.
//
// Sentence by sentence, each alone: the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "engine/trees/plan.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

// Parts may have labels, one of which is chosen for each part of a structure: the score of a part
// is then a log sum over labels, or the highest.
struct TreeBatch {
  TreeShape shape;
  const void* score;  // [sentences, rows, columns, kinds or labels] floats or doubles
  bool wide;          // doubles
  std::int64_t sentences, rows, columns, labels;
  const std::int64_t *height, *width;  // [sentences] rows and columns that are there

  std::int64_t kinds() const { return shape == TreeShape::alignment ? 3 : 1; }
  std::int64_t cells() const { return rows * columns; }
  std::int64_t scores() const { return cells() * kinds() * labels; }
  bool spanning() const {
    return shape == TreeShape::spanning || shape == TreeShape::spanning_single_root;
  }
};

// log Z [sentences]; probabilities of parts in the type and shape of the scores, 0 at first, or
// null.
void sum_trees(const Kernels& kernels, const TreeBatch& batch, double* value, void* marginals,
               int threads);

enum class TreeQuery { best, kbest, sample };

// chosen [sentences, count, rows, columns], -1 at first: the kind or label of each part that a
// structure has; score [sentences, count], -inf at first, 0 of draws.
void find_trees(const Kernels& kernels, const TreeBatch& batch, TreeQuery query, std::int64_t count,
                std::uint64_t seed, std::int64_t* chosen, double* score, int threads);

}  // namespace crfkit
