// The kernels of one instruction set, as the binding sees them.
#pragma once

#include "shared/evaluation.hpp"
#include "shared/learned.hpp"
#include "shared/live.hpp"
#include "shared/problem.hpp"
#include "shared/rows.hpp"

namespace crfkit {

struct ChartKernels;
struct ConditionalKernels;
struct ContractionKernels;
struct PathKernels;
struct SamplingKernels;
struct SliceKernels;
struct SmallGraphKernels;
struct VisitKernels;

// Layouts: weights to scores, gradients of scores to gradients of weights.
struct LinearKernels {
  // score_scatter.hpp
  void (*expand)(const Rows&, const std::int32_t* attribute, std::int64_t count, double* table);
  bool (*score)(const Rows&, const Occurrences&, const double* base, std::int64_t first,
                std::int64_t last, double* out, void* scratch);
  void (*scatter)(const Rows&, const Transposed&, const double* score_gradient,
                  std::int64_t positions, std::int64_t first, std::int64_t last, bool add,
                  double* gradient);
  void (*sum_runs)(const Rows&, const double* score_gradient, std::int64_t positions, const Runs&,
                   double* sums);

  // The native likelihood (compose.hpp, edge_factors.hpp).
  void (*compose)(const Rows&, const Composed&, std::int64_t first, std::int64_t last,
                  double* table);
  bool (*fill_factors)(const EdgeRows&, std::int64_t first, std::int64_t last);
  void (*add_to_slots)(const Transposed&, const std::int32_t* slot, const double* score_gradient,
                       std::int64_t first, std::int64_t last, std::int64_t step, double* sums);
  void (*gather)(const Rows&, const Gathering&, const double* score_gradient, std::int64_t first,
                 std::int64_t last, double* table, double* gradient);
  void (*gather_loose)(const Rows&, const Loose&, const double* score_gradient, std::int64_t first,
                       std::int64_t last, double* gradient);
};

// Training methods: visits and blocks.
struct LearnKernels {
  // Dual training (dual.hpp).  The scratch holds what the visits of one group point to.
  void (*dual_answer)(const Dual&, const std::int64_t* sequences, int lanes,
                      const std::int64_t* soon, int next, Visit*, void* scratch);
  void (*dual_apply)(const Dual&, Visit&, int shard);
  void (*dual_settle)(const Dual&, Visit&);
  void (*dual_revise)(const Dual&, Visit&);

  // Stochastic training (sgd.hpp): visits of some sequences, each with its rate; the end of a pass.
  double (*stochastic_visits)(Stochastic&, const std::int64_t* order, const double* rate,
                              std::int64_t count, void* scratch);
  void (*stochastic_settle)(Stochastic&, void* scratch);

  // Learning from mistakes (perceptron.hpp): a pass over some sequences.
  double (*mistake_pass)(Mistakes&, const std::int64_t* order, std::int64_t count, void* scratch);

  // Max-margin in the dual (margin.hpp): how many visits were made before a set was full.
  std::int64_t (*margin_visits)(Margins&, const std::int64_t* order, std::int64_t count,
                                double* gaps, void* scratch);

  // The native likelihood (likelihood.hpp, segment_likelihood.hpp).
  void* (*make_workspace)();  // of one thread at a time
  void (*drop_workspace)(void*);
  bool (*evaluate)(const Evaluation&, const void* prepared, std::int64_t block, void* workspace,
                   double* pooled, std::int64_t* impossible);
};

// Optimizers: passes over weights [first, last); sums are added to (vectors.hpp).
struct VectorKernels {
  void (*combine)(const double* coefficients, const double* const* vectors, int count,
                  const std::uint16_t* const* briefs, int brief_count, std::int64_t first,
                  std::int64_t last, double* out);
  void (*shorten)(double* x, std::int64_t first, std::int64_t last, std::uint16_t* out);
  void (*dot)(const double* const* vectors, int count, const double* const* others, int other_count,
              std::int64_t first, std::int64_t last, double* sums);
  void (*dot_briefs)(const std::uint16_t* const* briefs, int count, const double* const* others,
                     int other_count, std::int64_t first, std::int64_t last, double* sums);
  void (*add_l2)(const double* l2, bool shared, const double* w, const double* direction,
                 std::int64_t first, std::int64_t last, double* gradient, double* sums);
  void (*pseudo_gradient)(const double* l1, bool shared, const double* w, const double* gradient,
                          std::int64_t first, std::int64_t last, double* out, double* sums);
  void (*move_in_orthant)(const double* l1, bool shared, const double* w, const double* pseudo,
                          const double* direction, double length, std::int64_t first,
                          std::int64_t last, double* out, double* sums);
};

// The sweep, and the way to all other tables.
struct Kernels {
  const char* name;
  std::int64_t (*pooled_size)(const Problem&, bool steps);
  // Shared tables in the form that the task needs; read-only afterwards.
  void* (*prepare)(const Problem&, const Task&);
  void (*release)(void*);
  // Answers the task for some sequences (in order of falling length) and adds their pooled
  // gradients to `pooled`, which may be null when no gradients are wanted.  Safe to call from many
  // threads with different sequences, sums and scratches; without a scratch it takes memory of its
  // own.
  void (*run)(const Problem&, const Task&, const void* prepared, const std::int64_t* sequences,
              std::int64_t count, double* pooled, void* scratch);
  // Second derivatives of one chain of order 1 (tangent.hpp); needs a scratch.
  void (*tangents)(const Problem&, std::int64_t sequence, Tangents&, void* scratch);

  // Sequences of a group, at the most.
  int (*lanes)(int labels, int order, std::int64_t longest);

  // Memory that is used again from call to call, by one thread at a time.
  void* (*make_scratch)();
  void (*free_scratch)(void*);

  // Tables of their own, each in a file of kernels/ or, for the engines of graphs, of
  // kernels/graph/.
  const LinearKernels* linear;
  const LearnKernels* learn;
  const VectorKernels* vectors;
  const ContractionKernels* contraction;
  const SmallGraphKernels* small_graphs;
  const SliceKernels* slices;
  const PathKernels* paths;
  const VisitKernels* visits;
  const SamplingKernels* sampling;
  const ConditionalKernels* conditionals;
  const ChartKernels* charts;
};

namespace baseline {
extern const Kernels kernels;
}
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}

}  // namespace crfkit
