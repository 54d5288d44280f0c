"""Gram matrices of positions, and columns of numbers whose inner products they are.

    K = R R^T,  R [P, r],   R of the r pivots is triangular

by Cholesky's method with pivots. Weights of the columns R give the scores that weights of the kernel's own
features would give, at the same penalty: every optimum is the same, and every objective and optimizer can be
used (Gupta 2005, after eq. 47; Lafferty, Zhu & Liu 2004). The weights W [r, L] of the columns become
coefficients R_pivots^-T W of the kernel with the r pivots, which is all that a model keeps of the positions
(`crfkit.models.classic.kernel`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats

__all__ = ["Factor", "check_memory"]

_RANK = 1e-12  # of the largest K(x, x): columns of less are rounding
_OFF = 1e-6  # of the same: how far R R^T may be from K
_PROBED = 100  # rows that are compared


def check_memory(positions: int, most: float) -> None:
    """Raise where the Gram matrix of so many positions is too large.

    Examples
    --------
    >>> check_memory(20_000, 2**30)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: X has 20,000 positions, whose Gram matrix takes 3.0 GiB, more than max_bytes = 1.0 GiB; ...
    """
    size = 8 * positions * positions
    if size > most:
        raise ValueError(
            f"X has {positions:,} positions, whose Gram matrix takes {size / 2**30:.1f} GiB, more than "
            f"max_bytes = {most / 2**30:.1f} GiB; give fewer sequences, raise max_bytes, or use ChainCRF"
        )


@dataclass(frozen=True, eq=False)
class Factor:
    """Columns of numbers whose inner products are a Gram matrix.

    Examples
    --------
    >>> made = Factor.of(np.array([[4.0, 2.0, 4.0], [2.0, 2.0, 2.0], [4.0, 2.0, 4.0]]))
    >>> made.columns.tolist(), made.pivots.tolist()
    ([[2.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [0, 1])
    """

    columns: Floats  #: [P, r]
    pivots: NDArray[np.int64]  #: [r] positions

    @classmethod
    def of(cls, gram: Floats) -> Factor:
        """Factor a Gram matrix [P, P]; refuse one that is not symmetric and positive semi-definite."""
        from scipy.linalg.lapack import dpstrf

        most = float(np.abs(np.diagonal(gram)).max(initial=0.0))
        if not most:
            raise ValueError("the kernel is 0 for every position; it cannot tell them apart")
        lower, order, rank, _ = dpstrf(gram, tol=_RANK * most, lower=1)
        pivot = np.asarray(order, dtype=np.int64) - 1  # [P]
        columns = np.zeros((len(gram), rank))
        columns[pivot] = np.tril(lower)[:, :rank]
        probed = np.linspace(0, len(gram) - 1, min(_PROBED, len(gram))).astype(np.int64)
        off = float(np.abs(gram[probed] - columns[probed] @ columns.T).max())
        if not off <= _OFF * most:
            raise ValueError(
                "the kernel is not symmetric and positive semi-definite on these positions, which max-margin "
                "and likelihood need; use another one, such as rbf"
            )
        return cls(columns, pivot[:rank])

    def coefficients(self, weights: Floats) -> Floats:
        """Return the coefficients [r, L] of the kernel with the pivots, by weights [r, L] of columns."""
        from scipy.linalg import solve_triangular

        found: Floats = solve_triangular(self.columns[self.pivots], weights, lower=True, trans="T")
        return found
