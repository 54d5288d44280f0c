"""Chains of order k: one label per position, scores for labels and for runs of k + 1 labels.

score(y) = start[y_1] + sum_t node[t, y_t] + sum_t sum_{h=1..min(k, t-1)} edge_h[y_{t-h}, ..., y_t]
           + stop[y_T]

For k = 1 this is the linear chain of Sutton & McCallum (2006) eq. 1.16; for k = 2 the label pairs of
Sha & Pereira (2003) section 3, of which the kernel visits only the pairs that can follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, as_scores, as_seq_ptr
from crfkit.structures.chain_potentials import ChainPotentials
from crfkit.structures.constraints import Constraint, Resolved, resolve
from crfkit.structures.labels import Allowed, allowed_mask, forbid, label_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Chain", "ChainPotentials"]


@dataclass(frozen=True)
class Chain:
    """A chain: its labels, its order, and what is allowed.

    Parameters
    ----------
    labels : int or list of str
        Label names, or their number.
    order : int
        How many labels before the current one a score may look at; 0 means independent positions.
    constraints : sequence of constraints
        See `crfkit.structures.constraints`. They act in every query.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> from crfkit.structures.constraints import Scheme
    >>> chain = Chain(["B", "I", "O"], constraints=[Scheme("BIO")])
    >>> scores = chain.potentials([[0.0, 3.0, 0.0], [0.0, 1.0, 0.0]])
    >>> [chain.labels[y] for y in inference.decode(scores).labels]
    ['B', 'I']
    """

    labels: tuple[str, ...]
    order: int = 1
    constraints: tuple[Constraint, ...] = ()
    resolved: Resolved | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        labels: int | Iterable[str],
        order: int = 1,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        names = label_names(labels)
        if not 0 <= order <= 8:
            raise ValueError(f"order is {order}, expected 0 to 8")
        resolved = resolve(constraints, names) if constraints else None
        if resolved and order == 0:
            raise ValueError("constraints on transitions need a chain of order 1 or more, not 0")
        if resolved and resolved.expansion and order > 1:
            raise ValueError(f"limits on segment lengths need a chain of order 1, not {order}")
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "constraints", tuple(constraints))
        object.__setattr__(self, "resolved", resolved)

    def potentials(
        self,
        node: ArrayLike,
        edge: ArrayLike | Sequence[ArrayLike | None] | None = None,
        *,
        start: ArrayLike | None = None,
        stop: ArrayLike | None = None,
        seq_ptr: ArrayLike | None = None,
        allowed: ArrayLike | Sequence[Allowed] | None = None,
    ) -> ChainPotentials:
        """Score one sequence, or a batch of them laid end to end.

        Parameters
        ----------
        node : array [P, L]
            Score of each label at each position.
        edge : array [L, L] or [P, L, L], or for order k an array with k + 1 axes or a list of k
            Score of ``edge[from, to]``, shared or per position (entry p is for the step from p - 1
            to p). In a list, entry h - 1 has h + 1 axes and scores the last h + 1 labels; None is 0.
        start, stop : array [L]
            Score of the first and of the last label.
        seq_ptr : array [N + 1]
            Sequence n has the positions ``seq_ptr[n]`` to ``seq_ptr[n + 1] - 1``. Without it there is
            one sequence, and results are those of one sequence.
        allowed : mask [P, L], or a list with None, a label or a set of labels per position
            Partial knowledge: what each position may be.
        """
        L = len(self.labels)
        nodes = as_scores(node, "node")  # [P, L]
        if nodes.ndim != 2 or nodes.shape[1] != L:
            raise ValueError(f"node has shape {nodes.shape}, expected (positions, {L})")
        tables = self._tables(edge)
        starts = None if start is None else as_scores(start, "start")
        stops = None if stop is None else as_scores(stop, "stop")
        if self.resolved:
            tables[0] = _checked_forbid(tables[0], self.resolved.transition, "edge")
            starts = _checked_forbid(np.zeros(L) if starts is None else starts, self.resolved.start, "start")
            stops = _checked_forbid(np.zeros(L) if stops is None else stops, self.resolved.stop, "stop")
        if allowed is not None:
            nodes = forbid(nodes, allowed_mask(self.labels, allowed, len(nodes)))
        pointers = as_seq_ptr(seq_ptr, len(nodes))
        return ChainPotentials(self, nodes, tuple(tables), starts, stops, pointers, single=seq_ptr is None)

    def _tables(self, edge: ArrayLike | Sequence[ArrayLike | None] | None) -> list[Floats]:
        L, order = len(self.labels), max(self.order, 1)
        tables = [np.zeros((L,) * (h + 1)) for h in range(1, order + 1)]
        if edge is None:
            return tables
        if self.order == 0:
            raise ValueError("edge is given, but a chain of order 0 has no edges")
        listed = isinstance(edge, list | tuple) and (
            any(e is None for e in edge)
            or (len(edge) == order and all(np.ndim(cast(ArrayLike, e)) == h + 2 for h, e in enumerate(edge)))
        )
        if not listed:
            tables[-1] = as_scores(cast(ArrayLike, edge), "edge")
            return tables
        parts = cast("Sequence[ArrayLike | None]", edge)
        if len(parts) != order:
            raise ValueError(f"edge lists {len(parts)} tables, expected one per order: {order}")
        for h, part in enumerate(parts):
            if part is not None:
                tables[h] = as_scores(part, f"edge[{h}]")
        return tables


def _checked_forbid(scores: Floats, allowed: NDArray[np.bool_], argument: str) -> Floats:
    if scores.shape[-allowed.ndim :] != allowed.shape:
        raise ValueError(f"{argument} has shape {scores.shape}, expected {allowed.shape}")
    return forbid(scores, allowed)
