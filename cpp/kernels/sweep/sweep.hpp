// The only dynamic program of the package: rows forward, rows in reverse.
//
// `forward` lets every row pull from the rows before it; afterwards the last row holds the value of
// the whole structure. `reverse` is the chain rule: every row hands its share on to the rows that
// it was made from, so the share of a part is its marginal (sums), whether it lies on the path
// (best, draws) or whether it lies on any path (reach).  There is no beta table and no third pass
// for edges.
#pragma once

namespace crfkit::CRFKIT_ARCH {

template <class Semiring, class Structure>
inline void forward(Semiring& semiring, const Structure& structure) {
  for (int r = 0; r < structure.rows(); ++r) semiring.pull(structure, r);
}

template <class Semiring, class Structure>
inline void reverse(Semiring& semiring, const Structure& structure) {
  for (int r = structure.rows() - 1; r >= 0; --r) semiring.push(structure, r);
}

}  // namespace crfkit::CRFKIT_ARCH
