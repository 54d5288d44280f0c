"""The limited memory of L-BFGS: pairs (s_i, y_i) and the few dot products that a direction needs.

The two-loop recursion of Nocedal & Wright (2006), algorithm 7.4, reads and writes a vector of F weights 4m
times in turn. All it needs of them are s_i.y_j for i <= j, y_i.y_j, s_i.g and y_i.g (Byrd, Nocedal &
Schnabel 1994; Chen, Wang & Zhou 2014): here the recursion runs on coefficients,

    H g = c g + sum_i a_i s_i + sum_i b_i y_i,

and vectors are read twice per iteration: once for the products of the new y and g with all of them, once for
the combination. s_i is kept as direction * length, so that directions become memory without a pass of
their own. One iteration without its evaluation, m = 6, one thread (`bench/vectors.py`): 11 ms instead of 31
for 457 thousand weights, 180 to 200 instead of 670 to 1100 for 7.4 million.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.optimise.vectors import Vectors
from crfkit.structures.labels import Floats

__all__ = ["Pairs"]


class Pairs:
    """Up to `memory` pairs, the newest last.

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

    def __init__(self, memory: int, vectors: Vectors) -> None:
        self.memory, self.vectors = memory, vectors
        self.free: list[Floats] = []  # buffers of pairs that were dropped
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.free += getattr(self, "s", []) + getattr(self, "y", [])
        self.s: list[Floats] = []
        self.y: list[Floats] = []
        self.length = np.zeros(0)  # [k] s_i is length_i times the vector s[i]
        self.sy = self.yy = np.zeros((0, 0))  # [k, k]
        self.sg = self.yg = np.zeros(0)  # [k] products with the gradient of now

    def __len__(self) -> int:
        return len(self.s)

    def buffer(self) -> Floats:
        """Return a vector that nobody uses."""
        return self.free.pop() if self.free else self.vectors.new()

    def add(self, direction: Floats, length: float, y: Floats, gradient: Floats) -> bool:
        """Remember s = length * direction and y; take the products with the gradient of now.

        The two vectors then belong to the memory, unless the pair is refused (False) because the function
        does not curve upwards along it.
        """
        k = len(self.s)
        found = self.vectors.dots([*self.s, direction, *self.y, y], [y, gradient])  # [2k + 2, 2]
        length_of = np.append(self.length, length)
        s_dot, y_dot = found[: k + 1] * length_of[:, None], found[k + 1 :]
        good = bool(s_dot[k, 0] > np.finfo(float).eps * y_dot[k, 0])
        kept = slice(max(0, k + 1 - self.memory), k + 1) if good else slice(0, k)
        self.sg, self.yg = s_dot[kept, 1], y_dot[kept, 1]
        if good:
            self.s, self.y, self.length = [*self.s, direction], [*self.y, y], length_of[kept]
            self.free += self.s[: kept.start] + self.y[: kept.start]
            self.s, self.y = self.s[kept], self.y[kept]
            below = np.append(np.zeros(k), s_dot[k, 0])  # s_i.y_j for i > j is not known, nor needed
            self.sy = _bordered(self.sy, below, s_dot[:, 0])[kept, kept]
            self.yy = _bordered(self.yy, y_dot[:, 0], y_dot[:, 0])[kept, kept]
        return good

    def downhill(self, gradient: Floats, square: float, out: Floats) -> float:
        """Write -H gradient to out and return its product with the gradient, of which `square` is |.|^2."""
        a, b, c = self._coefficients()
        coefficients = np.concatenate([[-c], -a * self.length, -b])
        self.vectors.combine(coefficients, [gradient, *self.s, *self.y], out)
        return -float(c * square + a @ self.sg + b @ self.yg)

    def _coefficients(self) -> tuple[Floats, Floats, float]:
        """Run the two loops on the coefficients of s, y and g."""
        k = len(self.s)
        a, b, alpha = np.zeros(k), np.zeros(k), np.zeros(k)
        for i in reversed(range(k)):
            alpha[i] = (self.sg[i] + b @ self.sy[i]) / self.sy[i, i]
            b[i] = -alpha[i]
        c = self.sy[-1, -1] / self.yy[-1, -1] if k else 1.0
        b *= c
        for i in range(k):
            beta = (c * self.yg[i] + b @ self.yy[i] + a @ self.sy[:, i]) / self.sy[i, i]
            a[i] = alpha[i] - beta
        return a, b, float(c)

    def state(self) -> dict[str, Any]:
        """Return everything as arrays."""
        F = self.vectors.size
        return {
            "pairs_s": np.array(self.s).reshape(-1, F),
            "pairs_y": np.array(self.y).reshape(-1, F),
            **{f"pairs_{name}": getattr(self, name).copy() for name in _SMALL},
        }

    def recall(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self.s = [np.array(s, dtype=np.float64) for s in state["pairs_s"]]
        self.y = [np.array(y, dtype=np.float64) for y in state["pairs_y"]]
        for name in _SMALL:
            setattr(self, name, np.array(state[f"pairs_{name}"], dtype=np.float64))


_SMALL = ("length", "sy", "yy", "sg", "yg")


def _bordered(matrix: Floats, row: Floats, column: Floats) -> Floats:
    """Return the matrix with one more row and column."""
    k = len(matrix)
    made = np.empty((k + 1, k + 1))
    made[:k, :k] = matrix
    made[k], made[:, k] = row, column
    return made
