// The rows of variables: what their factors of arity 1 say, and the messages into them.
#pragma once

#include <memory>

#include "engine/threads/parallel.hpp"
#include "graph/messages/tables.hpp"

namespace crfkit {

// Calls work(v) for all variables, on threads: blocks of them, which depend on their number only.
template <class Work>
void for_variables(std::int64_t variables, int threads, Work work) {
  constexpr std::int64_t part = 1 << 12;
  parallel_for((variables + part - 1) / part, threads, [&](std::int64_t b) {
    for (std::int64_t v = b * part; v < std::min(variables, (b + 1) * part); ++v) work(v);
  });
}

class MessageRows {
 public:
  std::vector<double> most;  // [V] highest score of arity 1, which is taken from the row

  MessageRows(const PathKernels& kernels, const Factors& f, const Places& places, int threads)
      : most(places.variables()),
        kernels_(kernels),
        factors_(f),
        places_(places),
        threads_(threads),
        row_(new double[places.row_ptr.back()]) {}

  double* data() const { return row_.get(); }
  double* of(std::int64_t v) const { return row_.get() + places_.row_ptr[v]; }

  // Scores of arity 1, as logarithms, of the variables for which wanted(v).
  template <class Wanted>
  void write_own(Wanted wanted) {
    for_variables(places_.variables(), threads_, [&](std::int64_t v) {
      if (wanted(v))
        for (std::int64_t i = 0; i < row_stride(places_.width[v]); ++i)
          of(v)[i] = i < places_.width[v] ? 0.0 : kForbidden;
    });
    for (std::int64_t g = 0; g < factors_.groups; ++g) {
      const FactorGroup& group = factors_.group[g];
      if (group.arity != 1) continue;
      // Factors of different variables can be added side by side.
      const bool apart =
          std::is_sorted(group.scope, group.scope + group.count, std::less_equal<>());
      for_variables(group.count, apart ? threads_ : 1, [&](std::int64_t m) {
        if (!wanted(group.scope[m])) return;
        double* to = of(group.scope[m]);
        const double* score = group.scores(m);
        const double scale = group.scale_of(m);
        for (std::int64_t i = 0; i < group.cells; ++i) to[i] += scale * score[i];
      });
    }
  }

  // Rows under the rule of each variable, as they are before the first message; -1: leave them.
  template <class Rule>
  void start(Rule rule) {
    for_variables(places_.variables(), threads_, [&](std::int64_t v) {
      const int which = rule(v);
      if (which < 0) return;
      const bool sums = which == static_cast<int>(MessageRule::sums);
      const std::int64_t n = places_.width[v], stride = row_stride(n);
      double* to = of(v);
      most[v] = Range(to, n).most;
      if (sums) {
        kernels_.exponentiate(to, stride, 1.0, most[v], to);
      } else {
        for (std::int64_t i = 0; i < n; ++i) to[i] -= most[v];
      }
      const double one = sums ? 1.0 : 0.0, none = sums ? 0.0 : kForbidden;
      for (to += stride; to < of(v + 1); to += stride)
        for (std::int64_t i = 0; i < stride; ++i) to[i] = i < n ? one : none;
    });
  }

 private:
  const PathKernels& kernels_;
  const Factors& factors_;
  const Places& places_;
  int threads_;
  std::unique_ptr<double[]> row_;
};

}  // namespace crfkit
