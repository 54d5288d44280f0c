// Compiled once per instruction set: visits and blocks of training methods.
#include "kernels/learn/dual.hpp"
#include "kernels/learn/likelihood.hpp"
#include "kernels/learn/margin.hpp"
#include "kernels/learn/perceptron.hpp"
#include "kernels/learn/segment_likelihood.hpp"
#include "kernels/learn/sgd.hpp"
#include "shared/kernels.hpp"

namespace crfkit::CRFKIT_ARCH {

extern const LearnKernels learn;

namespace {

void dual_answer(const Dual& dual, const std::int64_t* sequences, int lanes,
                 const std::int64_t* soon, int next, Visit* visits, void* scratch) {
  Arena& arena = *static_cast<Arena*>(scratch);
  arena.reset();
  DualVisit(dual, arena).answer(sequences, lanes, soon, next, visits);
}
void dual_apply(const Dual& dual, Visit& visit, int shard) {
  Arena none;
  DualVisit(dual, none).apply(visit, shard);
}
void dual_settle(const Dual& dual, Visit& visit) {
  Arena none;
  DualVisit(dual, none).settle(visit);
}
void dual_revise(const Dual& dual, Visit& visit) {
  Arena none;
  DualVisit(dual, none).revise(visit);
}

void* make_workspace() { return new Workspace; }
void drop_workspace(void* workspace) { delete static_cast<Workspace*>(workspace); }

bool evaluate(const Evaluation& e, const void* prepared, std::int64_t block, void* workspace,
              double* pooled, std::int64_t* impossible) {
  const Prepared& tables = *static_cast<const Prepared*>(prepared);
  const auto evaluated = e.problem.shape == Shape::segments ? evaluate_segments : evaluate_block;
  return evaluated(e, tables.probabilities, tables.scores, block,
                   *static_cast<Workspace*>(workspace), pooled, impossible);
}

}  // namespace

const LearnKernels learn = {
    .dual_answer = dual_answer,
    .dual_apply = dual_apply,
    .dual_settle = dual_settle,
    .dual_revise = dual_revise,
    .stochastic_visits = stochastic_visits,
    .stochastic_settle = stochastic_settle,
    .mistake_pass = mistake_pass,
    .margin_visits = margin_visits,
    .make_workspace = make_workspace,
    .drop_workspace = drop_workspace,
    .evaluate = evaluate,
};

}  // namespace crfkit::CRFKIT_ARCH
