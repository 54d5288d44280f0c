"""Vector work on native kernels: one pass over memory each, on threads, same bits for any number of them.

With millions of weights a step of L-BFGS costs what its passes over memory cost: NumPy's temporaries
triple them. Blocks of 8192 weights are summed in order, whichever thread did them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.native import kernels, threads_or_all

__all__ = ["Kept", "Vectors"]

#: A vector that is kept for long: doubles [F], or the upper halves of floats, with zeros up to a cache line.
Kept: TypeAlias = "NDArray[Any]"

_BRIEF = 1 << 16  # weights from which vectors are kept in 16 bits: fewer fit into the cache as doubles
_PER_THREAD = 1 << 16  # a thread takes 30 us to start, in which one thread reads so many weights


@dataclass(frozen=True)
class Vectors:
    """Passes over vectors of `size` weights.

    Examples
    --------
    >>> import numpy as np
    >>> vectors, x, y = Vectors(2), np.array([1.0, 2.0]), np.array([3.0, 4.0])
    >>> vectors.dots([x, y], [y]).tolist()
    [[11.0], [25.0]]
    >>> vectors.combine([2.0, -1.0], [x, y], out=y).tolist()
    [-1.0, 0.0]
    """

    size: int
    threads: int | None = None  #: at the most; default: one for each core

    @property
    def _threads(self) -> int:
        return max(1, min(threads_or_all(self.threads), self.size // _PER_THREAD))

    @property
    def brief(self) -> bool:
        """Whether vectors are kept in 16 bits."""
        return self.size >= _BRIEF

    def keep(self, x: Floats, buffer: Kept | None = None) -> Kept:
        """Return a copy for long, in `buffer` where there is one; x is rounded to what is kept of it."""
        kept: Kept
        if self.brief:
            kept = np.zeros((self.size + 31) // 32 * 32, dtype=np.uint16) if buffer is None else buffer
            _native.shorten(kernels, x, kept, self._threads)
        else:
            kept = np.empty(self.size) if buffer is None else buffer
            kept[:] = x
        return kept

    def kept_in(self, state: Fields, name: str, count: int) -> list[Kept]:
        """Return the kept vectors of a state: a field of so many rows, without one where there are none."""
        if not count:
            if np.size(state[name]):
                state.wrong(name, "no vectors")
            return []
        if not self.brief:
            return list(state.floats(name, count, self.size))
        rows = state.array(name, np.uint16, count, (self.size + 31) // 32 * 32)
        if ((rows & 0x7F80) == 0x7F80).any():  # the exponent of inf and nan
            state.refuse(name, "not finite")
        return list(rows)

    def kept_bytes(self) -> int:
        """Return how much memory one kept vector takes."""
        return self.size * (2 if self.brief else 8)

    def combine(
        self,
        coefficients: Sequence[float] | Floats,
        vectors: Sequence[Floats],
        out: Floats,
        kept: Sequence[Kept] = (),
    ) -> Floats:
        """Write sum_i coefficient_i * vector_i, kept ones last, over `out`, which may be one of them."""
        wide, brief = (vectors, kept) if self.brief else ([*vectors, *kept], ())
        _native.combine(kernels, np.asarray(coefficients, np.float64), wide, brief, out, self._threads)
        return out

    def kept_dots(self, kept: Sequence[Kept], others: Sequence[Floats]) -> Floats:
        """Return the dot products of kept vectors and others, [len(kept), len(others)]."""
        products = _native.brief_dots if self.brief else _native.dots
        return products(kernels, kept, others, self._threads)

    def dots(self, vectors: Sequence[Floats], others: Sequence[Floats]) -> Floats:
        """Return the dot products of vectors and others, [len(vectors), len(others)]."""
        return _native.dots(kernels, vectors, others, self._threads)

    def dot(self, x: Floats, y: Floats) -> float:
        """Return one dot product."""
        return float(self.dots([x], [y])[0, 0])

    def add_l2(
        self, l2: Floats, w: Floats, gradient: Floats, direction: Floats | None
    ) -> tuple[float, float, float, float]:
        """Add l2 * w to the gradient; return w.(l2 w), w.w, gradient.gradient, gradient.direction."""
        a, b, c, d = _native.add_l2(kernels, l2, w, gradient, direction, self._threads)
        return a, b, c, d

    def pseudo_gradient(self, l1: Floats, w: Floats, gradient: Floats, out: Floats) -> tuple[float, float]:
        """Write the pseudo-gradient of loss + l1 |w| to out; return out.out and l1.|w|."""
        square, penalty = _native.pseudo_gradient(kernels, l1, w, gradient, out, self._threads)
        return square, penalty

    def downhill_within(
        self,
        s: Sequence[Kept],
        y: Sequence[Kept],
        length: Floats,
        l1: Floats,
        w: Floats,
        pseudo: Floats,
        out: Floats,
    ) -> float:
        """Write -H pseudo to out and return its slope; H is that of the weights that may move."""
        recursion = _native.brief_downhill_within if self.brief else _native.downhill_within
        return recursion(s, y, length, l1, w, pseudo, out)

    def move_in_orthant(
        self, l1: Floats, w: Floats, pseudo: Floats, direction: Floats, length: float, out: Floats
    ) -> tuple[float, float, float]:
        """Write w + length * direction to out, 0 where a sign changed.

        Returns pseudo.(out - w), l1.|out| and out.out.
        """
        a, b, c = _native.move_in_orthant(kernels, l1, w, pseudo, direction, length, out, self._threads)
        return a, b, c
