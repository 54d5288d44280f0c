// Dual training: the state of all sequences, and passes over them (dual.hpp has the formulas).
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/sequential/compiled.hpp"
#include "engine/sequential/dual_pass.hpp"
#include "engine/sequential/labeled.hpp"

namespace crfkit {

// log-potential of gold labels at the start

class DualTrainer {
 public:
  // strengths: l1 and l2 of attributes, then of transitions, start and stop.  The pairs, where they
  // are given, are all transitions with weights and all forbidden ones (shared/problem.hpp).
  DualTrainer(const Labeled& data, Reals strengths, bool exponentiated, int threads,
              const std::optional<KeptIntegers>& pair_ptr,
              const std::optional<KeptIntegers>& pair_from);

  // Visits sequences in the given order.
  PassTotals run(const Kernels& kernels, Pointers order, double relax, double threshold, bool ramp,
                 int threads);

  // Gives every sequence the distribution of these scores: node [rows, L], edge [tables, L], ends
  // [2, L].
  PassTotals begin(const Kernels& kernels, Reals node, Reals edge,
                   const std::optional<KeptReals>& ends, Pointers order, int threads);

  // v in the order of the layout.
  void read(Written out) const;

  // v as the marginals now have it, without the rounding of the rows that the passes change.
  void exact(Written out, int threads) const;

  // Roughly the diagonal of the Hessian of the loss, from the marginals now: mu (1 - mu) at the
  // positions of each weight (values count as squares).  Marginals of single steps are not kept:
  // of the expected count of a step the part counts in which a label is unsure, 1 - s_i s_j, with
  // s_j = sum mu_j^2 / sum mu_j.  (The count itself is 10 to 25 times too large near the optimum,
  // where most steps are certain: L-BFGS then takes twice the evaluations to a small gradient.)
  void diagonal(Written out, int threads) const;

  // The sum of weight * entropy.
  double entropy() const;

  // Everything that a run consists of beside v, by name; restored into the same places.
  template <class T>
  using Parts = std::vector<std::pair<const char*, std::vector<T>*>>;
  Parts<float> floats();
  Parts<double> doubles() {
    return {{"entropy", &entropy_}, {"curvature", &curvature_}, {"rate", &rate_}};
  }
  // Takes v as `read` gives it.
  void write(Reals v);

 private:
  // out[k] = sum over the positions of weight k of node(position, label), times the value there or
  // its square; edge(sequence, weight, sums) adds what a sequence has for transitions.  Two halves
  // of the data, whatever the number of threads.
  template <class Node, class Edge>
  void gather(Written out, bool squares, int threads, Node node, Edge edge) const;

  // The same for sequences [n, end), without transitions, whose sums go to `small`.
  template <class Node, class Edge>
  void gather_some(std::int64_t n, std::int64_t end, bool squares, Node node, Edge edge,
                   double* sum, std::vector<double>& small) const;

  // Lists the cells of the tables that have weights, where these are not most of them; in the order
  // of the pairs, where there are any.
  void list_cells();
  void order_by_pairs();
  // The place of a cell among those that are kept, below 0 where it has no weight; start and stop
  // follow.
  std::int64_t at(std::int64_t row, int label) const;

  // Every sequence has its gold labels for sure: v = 0.
  void begin_at_gold();

  void connect(const double* strengths, bool exponentiated);

  PassTotals pass(const Kernels& kernels, Pointers order, bool ramp, int threads);

  void read_lone(const CompiledOf<float>::Lone& lone, double c, double* v) const;

  Labeled data_;
  int L_;
  std::int64_t step_, table_, kept_ = 0;  // cells of a row, of the shared tables, and of these kept
  std::vector<std::int32_t> cell_, place_;  // kept cells of [tables, step], and where each is
  std::optional<KeptIntegers> pair_ptr_, pair_from_;
  Pairs pairs_;
  std::vector<std::int32_t> pair_;  // of the kept cells among the pairs
  std::unique_ptr<CompiledOf<float>> compiled_;
  std::vector<float> node_, edge_, theta_node_, theta_edge_;
  std::vector<double> entropy_, curvature_, rate_;
  std::vector<double> small_, steps_;  // [K + 2 * step]: tables, start, stop
  std::vector<double> forbidden_;      // [tables + 2, step]
  Segmentation segments_ = {};
  Dual dual_ = {};
};

}  // namespace crfkit
