"""Cliques: which kinds of variables are scored together, and which cells of a table share a weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, Ids, as_finite_scores

Form = Literal["free", "symmetric", "same", "potts"]
_FORMS: dict[str, Form] = {"free": "free", "symmetric": "symmetric", "same": "same", "potts": "potts"}


class Clique:
    """Kinds of variables that are scored together.

    Parameters
    ----------
    *kinds : str
        The kind of each variable; a kind may occur several times.
    cells : {"free", "symmetric", "same", "potts"} or integer array, optional
        Which cells of the table share a weight, as the number of the weight of each cell, [L1, ..., La]; -1
        for a cell without one. "free": each has its own. "symmetric": the order of the variables does not
        matter. "same": a weight for each label, where all variables have it. "potts": one weight, where all
        variables have the same label. Default: "free", and no weights where scores are `fixed`.
    counts : array [L1, ..., La, weights], optional
        How many times each weight counts in each cell, instead of `cells`: a cell scores the sum of its
        weights, each times its count.
    fixed : array [L1, ..., La], optional
        Scores that are not learned; -inf forbids. They are added to those of weights, where `cells` or
        `counts` give any.
    attractive : bool
        Equal labels attract each other, in training too: the weights stay at 0 or more, and features must
        not be negative. Needs cells "same" or "potts". Then two labels are decoded exactly by a minimum cut,
        and more within known bounds by expansion moves: the associative networks of Taskar, Chatalbashev &
        Koller (2004).

    Examples
    --------
    >>> from crfkit.graphs import Clique
    >>> Clique("token", "token", cells="same").numbers((2, 2)).tolist()
    [[0, -1], [-1, 1]]
    """

    def __init__(
        self,
        *kinds: str,
        cells: Form | Sequence[Any] | Ids | None = None,
        counts: ArrayLike | None = None,
        fixed: ArrayLike | None = None,
        attractive: bool = False,
    ) -> None:
        if not kinds or not all(isinstance(kind, str) for kind in kinds):
            raise ValueError(f"a clique needs the names of its kinds, not {kinds!r}")
        self.kinds = kinds
        self.fixed: Floats | None = None if fixed is None else as_finite_scores(fixed, "fixed")
        self.cells: Form | Ids
        if cells is None:
            self.cells = "free"
            if self.fixed is not None and counts is None:
                self.cells = np.full(self.fixed.shape, -1, dtype=np.int32)
        elif isinstance(cells, str):
            if cells not in _FORMS:
                raise ValueError(
                    f"cells is {cells!r}, expected 'free', 'symmetric', 'same', 'potts' or an integer array"
                )
            if cells != "free" and len(set(kinds)) > 1:
                raise ValueError(f"cells={cells!r} needs variables of one kind, not of {', '.join(kinds)}")
            self.cells = _FORMS[cells]
        else:
            numbers = np.asarray(cells)
            if numbers.dtype.kind not in "iu" or numbers.ndim != len(kinds):
                raise ValueError(
                    f"cells has type {numbers.dtype} and shape {numbers.shape}; expected integers with "
                    f"{len(kinds)} axes"
                )
            if (numbers < -1).any():
                raise ValueError("cells has numbers below -1, the number of a cell without a weight")
            if (numbers >= 2**31).any():
                raise ValueError(f"cells has the number {numbers.max()}, expected less than 2**31")
            self.cells = numbers.astype(np.int32)
        self.counts: Floats | None = None
        if counts is not None:
            self.counts = np.array(counts, dtype=np.float64)
            if not isinstance(self.cells, str) or self.cells != "free":
                raise ValueError("give cells or counts, not both")
            if self.counts.ndim != len(kinds) + 1 or not np.isfinite(self.counts).all():
                raise ValueError(
                    f"counts has shape {self.counts.shape}; expected finite numbers with {len(kinds) + 1} "
                    "axes: labels, then weights"
                )
        self.attractive = attractive
        if attractive and (fixed is not None or not isinstance(cells, str) or cells not in ("same", "potts")):
            raise ValueError('an attractive clique has cells="same" or cells="potts", and no fixed scores')

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Raise unless `cells` and `fixed` have the shape of the tables."""
        for argument, given in (("fixed", self.fixed), ("cells", self.cells)):
            if isinstance(given, np.ndarray) and given.shape != shape:
                raise ValueError(f"clique {name!r}: {argument} has shape {given.shape}, expected {shape}")
        if self.counts is not None and self.counts.shape[:-1] != shape:
            raise ValueError(
                f"clique {name!r}: counts has shape {self.counts.shape}, expected {shape} and "
                "an axis of weights"
            )

    def numbers(self, shape: tuple[int, ...]) -> Ids:
        """Return the number of the weight of each cell of a table of this shape, -1 where there is none."""
        if self.counts is not None:
            raise ValueError("the cells of a clique with counts have several weights; `spread` gives them")
        if isinstance(self.cells, np.ndarray):
            return self.cells
        if self.cells == "free":
            return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
        labels = np.indices(shape, dtype=np.int32).reshape(len(shape), -1)  # [a, cells]
        if self.cells == "symmetric":
            ordered = np.sort(labels, axis=0)
            _, number = np.unique(np.ravel_multi_index(tuple(ordered), shape), return_inverse=True)
            return number.astype(np.int32).reshape(shape)
        equal = (labels == labels[0]).all(axis=0)
        weight = labels[0] if self.cells == "same" else np.zeros_like(labels[0])
        return np.where(equal, weight, np.int32(-1)).astype(np.int32).reshape(shape)

    def spread(self, shape: tuple[int, ...]) -> Any:
        """Return how many times each weight counts in each cell of a table, sparse [cells, weights]."""
        from scipy.sparse import csr_array

        if self.counts is not None:
            return csr_array(self.counts.reshape(-1, self.counts.shape[-1]))
        numbers = self.numbers(shape).ravel()
        cell, size = np.flatnonzero(numbers >= 0), (len(numbers), int(numbers.max(initial=-1)) + 1)
        return csr_array((np.ones(len(cell)), (cell, numbers[cell])), shape=size)

    @property
    def plain(self) -> bool:
        """Whether it is no more than a list of kinds."""
        return isinstance(self.cells, str) and self.cells == "free" and self.counts is self.fixed is None

    @property
    def _by_default(self) -> bool:
        """Whether `cells` is what it is where it is not given."""
        if self.fixed is not None and self.counts is None:
            return isinstance(self.cells, np.ndarray) and bool((self.cells == -1).all())
        return isinstance(self.cells, str) and self.cells == "free"

    def __repr__(self) -> str:
        """Return a list of kinds, or the call that makes it."""
        if self.plain:
            return repr([*self.kinds])
        parts = [repr(kind) for kind in self.kinds]
        if not self._by_default:
            parts.append(f"cells={self.cells if isinstance(self.cells, str) else self.cells.tolist()!r}")
        if self.counts is not None:
            parts.append(f"counts={self.counts.tolist()!r}")
        if self.fixed is not None:
            parts.append(f"fixed={self.fixed.tolist()!r}")
        if self.attractive:
            parts.append("attractive=True")
        return f"Clique({', '.join(parts)})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = {name: state[name] for name in ("cells", "counts", "fixed", "attractive")}
        if given["counts"] is not None:
            given["cells"] = None
        Clique.__init__(self, *state["kinds"], **given)

    def __eq__(self, other: object) -> bool:
        """Return whether kinds, cells, counts and fixed scores are the same."""
        return isinstance(other, Clique) and repr(self) == repr(other)

    def __hash__(self) -> int:
        """Return a hash that agrees with ``==``."""
        return hash(repr(self))
