// Compiled once per instruction set: passes of optimizers over weights.
#include "kernels/simd/vectors.hpp"

#include "shared/kernels.hpp"

namespace crfkit::CRFKIT_ARCH {

extern const VectorKernels vectors;

const VectorKernels vectors = {
    .combine = combine_vectors,
    .shorten = shorten_vector,
    .dot = dot_vectors<double>,
    .dot_briefs = dot_vectors<Brief>,
    .add_l2 = add_l2,
    .pseudo_gradient = pseudo_gradient,
    .move_in_orthant = move_in_orthant,
};

}  // namespace crfkit::CRFKIT_ARCH
