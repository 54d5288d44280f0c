// What crosses from the binding into the kernels: plain structs of pointers, the same for every
// instruction set.
//
// Letters: N sequences, P positions in all, T in one, L labels, D longest segment, k order of a
// chain.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crfkit {

inline constexpr int kMaxOrder = 8;

// Scores above this (1.3e300) are refused, so that sums over sequences of 2^25 positions do not
// overflow.  Below -kLargestScore they may: the sum is then -inf, which is what such a score means.
inline constexpr double kLargestScore = 0x1p997;

enum class Shape { chain, segments, tree };

// The steps (from, to) of a chain of order 1 whose scores may differ from the common one, by
// target.
struct Pairs {
  std::int64_t count;
  const std::int32_t* ptr;   // [L + 1]
  const std::int32_t* from;  // [count], rising for each target
};

// A batch of scored structures.  Scores are logarithms; -inf forbids a part.
struct Problem {
  Shape shape;
  std::int64_t sequences;       // N
  const std::int64_t* seq_ptr;  // [N + 1] positions (tree: variables) of each sequence

  int labels;                     // L; tree: the widest variable
  int order;                      // k >= 1; chain only
  int longest;                    // D; segments only
  const double* node;             // chain [P, L]; tree: flat, node_ptr
  const double* segment;          // segments [P, D, L]: begins at p, has length d + 1
  const double* start;            // [L] or null
  const double* stop;             // [L] or null
  const double* edge[kMaxOrder];  // table h = 1..k: [L, ..., L] (h + 1 axes) over the last h + 1
                                  // labels; tree: edge[0] flat
  std::int64_t
      edge_step;       // 0: shared by all positions; L * L: edge[0] is [P, L, L], entry p enters p
  const Pairs* pairs;  // or null: any step may have a score of its own.  Where given, all cells of
                       // edge[0] [L, L] outside the pairs have one score; forbidden cells are pairs
                       // too, unless that one score is -inf.  Gradients of steps are then [count]

  // Tree: variables of one sequence are contiguous; parents are relative to its first variable.
  const std::int32_t* parent;    // [P] or -1 for a root
  const std::int32_t* width;     // [P] labels of each variable
  const std::int64_t* node_ptr;  // [P + 1]
  const std::int64_t* edge_ptr;  // [P + 1]; edge of v: [width(v), width(parent of v)]
};

// Where gradients go; null where they are not wanted.  Same shapes as the potentials, except that
// edge gradients of a chain or of segments may be kept per position although the scores are shared.
struct Gradients {
  double* node;
  double* segment;
  double* edge;  // per position [P, L, L] when edge_step != 0; tree: flat; otherwise unused (see
                 // pooled)
  std::int64_t edge_step;  // 0: sums over positions are pooled
  bool no_steps;           // steps that positions share get no gradients: the pooled sums end with
                           // stop
};

enum class Query {
  sum,     // log partition; gradients are marginals
  best,    // score and labels of the best labeling
  kbest,   // the k best
  sample,  // k draws
  reach,   // 0 where a labeling exists, -inf where none does; gradients are 1 for parts on some
           // labeling
  count    // number of labelings modulo a prime
};

struct Task {
  Query query;
  bool log_space;       // sum, sample: never use scaled probabilities
  int k;                // kbest: paths; sample: draws
  std::uint64_t seed;   // sample
  std::uint64_t prime;  // count: below 2^62

  const double* weight;  // [N] or null: factors of the gradients of sequences; sum only

  double* value;     // [N]: log partition, best score
  double* expected;  // [N] or null: expected score under the model (entropy = value - expected)
  std::uint8_t* in_logs;   // [N] or null: 1 where the sum needed log space
  std::uint64_t* residue;  // [N]: count modulo prime
  Gradients gradients;     // sum, reach
  std::int32_t* path;      // [k, P] labels
  std::uint8_t* begin;     // [k, P] or null: 1 where a segment begins
  double* path_score;      // [N, k], -inf beyond the paths that exist; kbest, sample
};

// Second derivatives of log Z of chains of order 1, along a direction.

// Arrays with the shapes of the scores of one sequence: a direction, or the Hessian times it.
// `edge` is [L, edge_row], or [T, L, L] with step L * L, whose entry t enters position t.
template <class Number>
struct ChainParts {
  Number *node, *start, *stop, *edge;
  std::int64_t edge_step;
  int edge_row;
};

struct Tangents {
  ChainParts<const double> along;
  ChainParts<double> made;  // weight * Hessian * direction: node and edges by position are stored,
                            // the others are added to
  double weight;
  double value, dot;  // log Z; <marginals, direction>
};

}  // namespace crfkit
