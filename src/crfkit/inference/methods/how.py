"""How an answer about graphs was found: by which method, whether it is exact, what bounds it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Floats, Pointers


@dataclass(frozen=True, eq=False)
class How:
    """How an answer was found, graph by graph: the method, whether it is exact, bounds.

    Examples
    --------
    >>> how = How.of("bp", 2, exact=False, converged=[True, False], sweeps=[7, 100])
    >>> print(how)
    2 graphs by bp: 0 exact, 1 not converged, at most 100 sweeps
    """

    method: NDArray[Any]  #: [N] name of the method
    exact: Bools  #: [N] whether the answer is the exact one, up to rounding
    converged: Bools  #: [N] False where an iterative method stopped before its tolerance
    sweeps: Pointers  #: [N] passes over the graph; 0 where there are none
    lower: Floats  #: [N] what the value is at least: itself where it is exact, -inf where nothing is known
    upper: Floats  #: [N] what the value is at most: itself where it is exact, inf where nothing is known
    cells: Floats  #: [N] cells of tables that elimination kept or would need; nan where not counted
    notes: tuple[str, ...] = field(default=())  #: sentences for users: what was chosen and why

    @classmethod
    def of(
        cls,
        method: str,
        graphs: int,
        *,
        exact: Any,
        converged: Any = True,
        sweeps: Any = 0,
        lower: Any = -np.inf,
        upper: Any = np.inf,
        cells: Any = np.nan,
        notes: tuple[str, ...] = (),
    ) -> How:
        """Return the same for all graphs, or what arrays [N] say."""

        def each(value: Any, dtype: Any) -> Any:
            return np.broadcast_to(np.asarray(value, dtype=dtype), (graphs,)).copy()

        return cls(
            each(method, object),
            each(exact, np.bool_),
            each(converged, np.bool_),
            each(sweeps, np.int64),
            each(lower, np.float64),
            each(upper, np.float64),
            each(cells, np.float64),
            notes,
        )

    def settled(self, value: Floats) -> How:
        """Return the same with the exact values, of [N], as their own bounds.

        Examples
        --------
        >>> how = How.of("bp", 2, exact=[True, False]).settled(np.array([1.5, 2.5]))
        >>> how.lower.tolist(), how.upper.tolist()
        ([1.5, -inf], [1.5, inf])
        """
        known = self.exact & ~np.isnan(value)
        lower, upper = np.where(known, value, self.lower), np.where(known, value, self.upper)
        return replace(self, lower=lower, upper=upper)

    def unbounded(self) -> How:
        """Return the same of another value, of which no bounds are known."""
        return replace(self, lower=np.full_like(self.lower, -np.inf), upper=np.full_like(self.upper, np.inf))

    def of_graph(self, graph: int) -> How:
        """Return what is said of one graph."""
        here = slice(graph, graph + 1)
        arrays = [f.name for f in fields(self) if f.name != "notes"]
        return replace(self, **{name: getattr(self, name)[here] for name in arrays})

    def __str__(self) -> str:
        """Return a sentence."""
        N = len(self.method)
        names = ", ".join(sorted({str(name) for name in self.method}))
        parts = [f"{int(self.exact.sum())} exact"] if N != 1 else ["exact" if self.exact[0] else "not exact"]
        missed = int((~self.converged).sum())
        if missed:
            parts.append(f"{missed} not converged" if N != 1 else "not converged")
        if N and self.sweeps.max(initial=0) > 0:
            parts.append(f"{'at most ' if N != 1 else ''}{self.sweeps.max()} sweeps")
        return "; ".join([f"{N} graph{'s' * (N != 1)} by {names}: {', '.join(parts)}", *self.notes])


class Number(float):
    """A float that says how it was found."""

    info: How

    def __new__(cls, value: float, how: How) -> Number:
        """Return the value with what is said of it."""
        made = super().__new__(cls, value)
        made.info = how
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what copies and pickles are made of."""
        return Number, (float(self), self.info)


class Numbers(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of doubles [N] that says how it was found."""

    info: How | None

    def __new__(cls, values: Floats, how: How | None) -> Numbers:
        """Return the values with what is said of them."""
        made = np.asarray(values, dtype=np.float64).view(cls)
        made.info = how
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what copies and pickles are made of."""
        return Numbers, (np.asarray(self), self.info)

    def __array_finalize__(self, other: Any) -> None:
        """Keep how the values were found in views and copies."""
        self.info = getattr(other, "info", None)
