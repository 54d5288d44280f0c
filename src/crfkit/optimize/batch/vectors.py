"""Vectors of weights on native kernels, and the limited memory of L-BFGS that is made of them.

Each pass over memory runs on threads and gives the same bits for any number of them. With millions of weights
a step of L-BFGS costs what its passes over memory cost: NumPy's temporaries triple them. Blocks of 8192
weights are summed in order, whichever thread did them.

The two-loop recursion of Nocedal & Wright (2006), algorithm 7.4, reads and writes a vector of F weights 4m
times in turn. All it needs of them are s_i.y_j for i <= j, y_i.y_j, s_i.g and y_i.g (Byrd, Nocedal & Schnabel
1994, eq. 3.1): with R = [s_i.y_j, i <= j], D its diagonal, Y'Y = [y_i.y_j] and H_0 = c I,

    H g = c g + S a + Y b,   p = R^-1 S'g,   a = R^-T (D p + c Y'Y p - c Y'g),   b = -c p,

and vectors are read twice per iteration: once for the products of the new y and g with all of them, once for
the combination. s_i is kept as direction * length.

How many pairs? Forty instead of six save a fifth to two thirds of the iterations (evaluations until
certified at l2 = 2 and 0.02: CoNLL-2000 171 -> 119; a quarter of SkillSpan 259 -> 79 and 498 -> 175; an
eighth of CoNLL-2002 Spanish 106 -> 66 and 309 -> 164), and 300 up to half of the rest, where reading them is
cheap beside an evaluation. So vectors of 2,048 weights and more are kept in 16 bits, as the upper halves of
floats: a quarter of the memory and of the time, and as many iterations (79 -> 74, 175 -> 184, 66 -> 67,
164 -> 163). Products are taken of what is kept, so that H is positive definite whatever the rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, solved_upper
from crfkit.native import kernels, threads_or_all

#: A vector that is kept for long: doubles [F], or the upper halves of floats, with zeros up to a cache line.
Kept: TypeAlias = "NDArray[Any]"

_BRIEF = 1 << 11  # weights from which vectors are kept in 16 bits: a quarter of what is read in each step
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
        """Return the kept vectors of a state: a field of `count` rows."""
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
        return recursion(kernels, s, y, length, l1, w, pseudo, out)

    def move_in_orthant(
        self, l1: Floats, w: Floats, pseudo: Floats, direction: Floats, length: float, out: Floats
    ) -> tuple[float, float, float]:
        """Write w + length * direction to out, 0 where a sign changed.

        Returns pseudo.(out - w), l1.|out| and out.out.
        """
        a, b, c = _native.move_in_orthant(kernels, l1, w, pseudo, direction, length, out, self._threads)
        return a, b, c


class KeptPairs:
    """Up to `memory` pairs, the newest last, whose products are taken over the weights that may move.

    The two-loop recursion runs on these weights alone: a part of the inverse of the Hessian is not the
    inverse of its part. Under L1, where most weights are 0 and stay there, that is the difference between
    hundreds of iterations and some dozens.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = KeptPairs(3, Vectors(2))
    >>> pairs.add(np.array([1.0, 0.0]), 0.5, np.array([2.0, 0.0]), np.zeros(2))
    True
    >>> w, pseudo, d = np.array([1.0, 0.0]), np.array([8.0, 0.0]), np.empty(2)
    >>> pairs.downhill_within(np.array([0.1]), w, pseudo, d), d.tolist()
    (-16.0, [-2.0, 0.0])
    """

    def __init__(self, memory: int, vectors: Vectors) -> None:
        self.memory, self.vectors = memory, vectors
        self.free: list[Kept] = []  # buffers of pairs that were dropped
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.free += getattr(self, "s", []) + getattr(self, "y", [])
        self.s: list[Kept] = []
        self.y: list[Kept] = []
        self.length = np.zeros(0)  # [k] s_i is length_i times the vector s[i]

    def __len__(self) -> int:
        return len(self.s)

    def _keep(self, x: Floats) -> Kept:
        return self.vectors.keep(x, self.free.pop() if self.free else None)

    def _append(self, s: Kept, y: Kept, length: float) -> slice:
        """Add a pair, and return which pairs are left of those before and this one."""
        kept = slice(max(0, len(self.s) + 1 - self.memory), len(self.s) + 1)
        self.s, self.y, self.length = [*self.s, s], [*self.y, y], np.append(self.length, length)[kept]
        self.free += self.s[: kept.start] + self.y[: kept.start]
        self.s, self.y = self.s[kept], self.y[kept]
        return kept

    def add(self, direction: Floats, length: float, y: Floats, gradient: Floats) -> bool:
        """Remember s = length * direction and y; False where the function does not curve upwards along s."""
        s_kept, y_kept = self._keep(direction), self._keep(y)
        sy, yy = self.vectors.kept_dots([s_kept, y_kept], [y])[:, 0]
        if not (isfinite(sy) and isfinite(yy) and length * sy > np.finfo(float).eps * yy):
            self.free += [s_kept, y_kept]
            return False
        self._append(s_kept, y_kept, length)
        return True

    def downhill_within(self, l1: Floats, w: Floats, pseudo: Floats, out: Floats) -> float:
        """Write -H pseudo to out, for weights that are not 0 or would leave it; return its slope."""
        return self.vectors.downhill_within(self.s, self.y, self.length, l1, w, pseudo, out)

    def state(self) -> dict[str, Any]:
        """Return everything as arrays."""
        return {
            "pairs_s": np.array(self.s),
            "pairs_y": np.array(self.y),
            "pairs_length": self.length.copy(),
        }

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        self.length = state.floats("pairs_length", None)
        k = len(self.length)
        if k > self.memory:
            state.wrong("pairs_length", f"lengths of at most {self.memory} pairs")
        self.s = self.vectors.kept_in(state, "pairs_s", k)
        self.y = self.vectors.kept_in(state, "pairs_y", k)


class Pairs(KeptPairs):
    """Pairs, and their products over all weights.

    Examples
    --------
    On a quadratic with the Hessian 4, one pair is enough to know the inverse:

    >>> import numpy as np
    >>> pairs = Pairs(3, Vectors(1))
    >>> pairs.add(np.array([1.0]), 0.5, np.array([2.0]), np.array([8.0]))
    True
    >>> d = np.empty(1)
    >>> pairs.downhill(np.array([8.0]), 64.0, d), d.tolist()
    (-16.0, [-2.0])
    """

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._room = np.zeros((2, 0, 0))  # for `sy` and `yy`
        self.sg = self.yg = np.zeros(0)  # [k] products with the gradient of now

    @property
    def sy(self) -> Floats:
        """Products s_i.y_j for i <= j, [k, k]; the others are not known, nor needed."""
        return self._room[0, : len(self.s), : len(self.s)]

    @property
    def yy(self) -> Floats:
        """Products y_i.y_j, [k, k]."""
        return self._room[1, : len(self.s), : len(self.s)]

    def add(self, direction: Floats, length: float, y: Floats, gradient: Floats) -> bool:
        """Remember s = length * direction and y; take the products with the present gradient.

        The two vectors are rounded to what is kept of them. A pair is refused (False) where the function
        does not curve upwards along it.
        """
        k = len(self.s)
        s_kept, y_kept = self._keep(direction), self._keep(y)
        found = self.vectors.kept_dots([*self.s, s_kept, *self.y, y_kept], [y, gradient])  # [2k + 2, 2]
        s_dot, y_dot = found[: k + 1] * np.append(self.length, length)[:, None], found[k + 1 :]
        if not (np.isfinite(found).all() and s_dot[k, 0] > np.finfo(float).eps * y_dot[k, 0]):
            self.sg, self.yg = s_dot[:k, 1], y_dot[:k, 1]
            self.free += [s_kept, y_kept]
            return False
        kept = self._append(s_kept, y_kept, length)
        self.sg, self.yg = s_dot[kept, 1], y_dot[kept, 1]
        if kept.start:
            self._room[:, :-1, :-1] = self._room[:, 1:, 1:]
        self._border(k - kept.start, s_dot[kept, 0], y_dot[kept, 0])
        return True

    def _border(self, k: int, sy: Floats, yy: Floats) -> None:
        """Put products with a new y behind those of k pairs."""
        if len(self._room[0]) == k:
            before, m = self._room, min(max(2 * k, 16), self.memory)
            self._room = np.zeros((2, m, m))
            self._room[:, :k, :k] = before
        self._room[0, : k + 1, k] = sy
        self._room[1, : k + 1, k] = self._room[1, k, : k + 1] = yy

    def downhill(self, gradient: Floats, square: float, out: Floats) -> float:
        """Write -H gradient to out and return its product with the gradient, of which `square` is |.|^2."""
        a, b, c = self._coefficients()
        coefficients = np.concatenate([[-c], -a * self.length, -b])
        self.vectors.combine(coefficients, [gradient], out, kept=[*self.s, *self.y])
        return -float(c * square + a @ self.sg + b @ self.yg)

    def _coefficients(self) -> tuple[Floats, Floats, float]:
        """Return a, b and c of H g."""
        if not self.s:
            return np.zeros(0), np.zeros(0), 1.0
        c = float(self.sy[-1, -1] / self.yy[-1, -1])
        p = solved_upper(self.sy, self.sg)  # R is the upper triangle
        right = np.diagonal(self.sy) * p + c * (self.yy @ p - self.yg)
        return solved_upper(self.sy, right, transposed=True), -c * p, c

    def state(self) -> dict[str, Any]:
        """Return everything as arrays."""
        return {**super().state(), **{f"pairs_{name}": getattr(self, name).copy() for name in _SMALL}}

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        k = len(self.length)
        self._room = np.array([state.floats(f"pairs_{name}", k, k) for name in ("sy", "yy")]).reshape(2, k, k)
        self.sg, self.yg = (state.floats(f"pairs_{name}", k) for name in ("sg", "yg"))
        if not (np.diagonal(self.sy) > 0.0).all() or not (np.diagonal(self.yy) > 0.0).all():
            state.refuse("pairs_sy", "not that of pairs along which the objective curves upwards")


_SMALL = ("sy", "yy", "sg", "yg")
