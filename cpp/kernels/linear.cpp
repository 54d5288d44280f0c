// Compiled once per instruction set: weights to scores, gradients of scores to gradients of
// weights.
#include "kernels/linear/compose.hpp"
#include "kernels/linear/edge_factors.hpp"
#include "kernels/linear/score_scatter.hpp"
#include "shared/kernels.hpp"

namespace crfkit::CRFKIT_ARCH {

extern const LinearKernels linear;

const LinearKernels linear = {
    .expand = expand_rows,
    .score = score_rows,
    .scatter = scatter_rows,
    .sum_runs = sum_runs,
    .compose = compose_rows,
    .fill_factors = fill_factors,
    .add_to_slots = add_to_slots,
    .gather = gather_rows,
    .gather_loose = gather_loose,
};

}  // namespace crfkit::CRFKIT_ARCH
