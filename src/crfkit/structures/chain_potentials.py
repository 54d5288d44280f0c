"""Scores of chains, as queries and training see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers, sum_by_sequence
from crfkit.structures.expansion import Expansion
from crfkit.structures.labels import forbid, label_ids

if TYPE_CHECKING:
    from crfkit.structures.chain import Chain

__all__ = ["ChainPotentials"]


@dataclass(frozen=True, eq=False)
class ChainPotentials:
    """Scores of a chain, ready for `crfkit.inference`; made by `Chain.potentials`."""

    structure: Chain
    node: Floats  # [P, L]
    edge: tuple[Floats, ...]  # table h has h + 1 axes; order 1: [L, L] or [P, L, L]
    start: Floats | None  # [L]
    stop: Floats | None  # [L]
    seq_ptr: Pointers  # [N + 1]
    single: bool  # one sequence, not a batch of one

    @property
    def expansion(self) -> Expansion | None:
        """The automaton over states that limits segment lengths, if there is one."""
        return self.structure.resolved.expansion if self.structure.resolved else None

    @cached_property
    def problem(self) -> _native.Problem:
        """The arrays as the kernels see them, checked."""
        given = _native.Problem.chain(self.node, self.tables, self.start, self.stop, self.seq_ptr)
        if not (expansion := self.expansion):
            return given
        of = expansion.state_label  # [S]
        edge = forbid(self.edge[0][..., of, :][..., of], expansion.transition)
        L = len(self.structure.labels)
        start = np.zeros(L) if self.start is None else self.start
        stop = np.zeros(L) if self.stop is None else self.stop
        return _native.Problem.chain(
            np.ascontiguousarray(self.node[:, of]),
            [np.ascontiguousarray(edge)],
            forbid(start[of], expansion.start),
            forbid(stop[of], expansion.stop),
            self.seq_ptr,
        )

    @property
    def tables(self) -> list[Floats]:
        """Table h plus all tables of lower order, which a run of h + 1 labels also meets."""
        L = len(self.structure.labels)
        if len(self.edge) > 1:
            for h, table in enumerate(self.edge):
                if table.shape != (L,) * (h + 2):
                    raise ValueError(
                        f"edge of order {h + 1} has shape {table.shape}, expected {(L,) * (h + 2)}"
                    )
        summed = [self.edge[0]]
        for table in self.edge[1:]:
            summed.append(table + summed[-1])
        return summed

    def sequence(self, n: int) -> ChainPotentials:
        """Return sequence n alone."""
        rows = slice(int(self.seq_ptr[n]), int(self.seq_ptr[n + 1]))
        edge = self.edge
        if edge[0].ndim == 3 and len(edge) == 1:
            edge = (edge[0][rows],)
        length = np.array([0, rows.stop - rows.start], dtype=np.int64)
        return ChainPotentials(
            self.structure, self.node[rows], edge, self.start, self.stop, length, single=True
        )

    def clamped(self, mask: NDArray[np.bool_]) -> ChainPotentials:
        """Return the same scores with -inf for labels [P, L] that are not in the mask."""
        return ChainPotentials(
            self.structure,
            forbid(self.node, mask),
            self.edge,
            self.start,
            self.stop,
            self.seq_ptr,
            self.single,
        )

    def ids(self, labels: Sequence[str | int] | Ids, argument: str = "labels") -> Ids:
        """Return one label id per position, checked."""
        ids = label_ids(self.structure.labels, labels, argument)
        if len(ids) != len(self.node):
            raise ValueError(f"{argument} has {len(ids)} entries, expected {len(self.node)}")
        return ids

    def path_score(self, labels: Ids) -> Floats:
        """Score of one labelling of each sequence, [N]."""
        _ = self.problem  # checks shapes and numbers
        P = len(labels)
        terms = self.node[np.arange(P), labels]  # [P]
        within = np.arange(P) - np.repeat(self.seq_ptr[:-1], np.diff(self.seq_ptr))  # [P]
        if len(self.edge) == 1 and self.edge[0].ndim == 3:
            at = np.flatnonzero(within >= 1)
            terms[at] += self.edge[0][at, labels[at - 1], labels[at]]
        else:
            for h, table in enumerate(self.edge, start=1):
                at = np.flatnonzero(within >= h)
                terms[at] += table[tuple(labels[at - back] for back in range(h, -1, -1))]
        filled = self.seq_ptr[1:] > self.seq_ptr[:-1]
        first, last = self.seq_ptr[:-1][filled], self.seq_ptr[1:][filled] - 1
        if self.start is not None:
            terms[first] += self.start[labels[first]]
        if self.stop is not None:
            terms[last] += self.stop[labels[last]]
        total = sum_by_sequence(terms, self.seq_ptr)
        if self.expansion and self.structure.resolved:
            for n in range(len(total)):
                inside = labels[self.seq_ptr[n] : self.seq_ptr[n + 1]]
                if not self.structure.resolved.accepts(inside.tolist()):
                    total[n] = -np.inf
        return total
