"""Scores of chains, as queries and training see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Ids, Pointers, pointers, ranges, sum_by_sequence
from crfkit.structures.chains.expansion import Expansion
from crfkit.structures.gold import Path, forbid, label_ids, span_mask
from crfkit.structures.pieces import Pieces, pieces_of_chains
from crfkit.structures.potentials import KeptScores, edge_slot, one_or_all, score_of_gold, wrong_labels
from crfkit.structures.results import Labeling, Marginals

if TYPE_CHECKING:
    from crfkit.structures.chains.chain import Chain


class States(NamedTuple):
    """Scores of a chain by the states that the kernels see."""

    label: Pointers  #: [S] of each state
    node: Floats  #: [P, S]; of segments [P, D, S]
    tables: list[Floats]  #: table h has h + 1 axes of S
    start: Floats | None  #: [S]
    stop: Floats | None  #: [S]


def cumulated(tables: Sequence[Floats]) -> list[Floats]:
    """Return each table of a chain plus all tables of lower order, which its n-grams also meet.

    Examples
    --------
    >>> [table.tolist() for table in cumulated([np.full((1, 1), 2.0), np.full((1, 1, 1), 3.0)])]
    [[[2.0]], [[[5.0]]]]
    """
    summed = [tables[0]]
    for table in tables[1:]:
        summed.append(table + summed[-1])
    return summed


def shared_out(credits: Sequence[Floats]) -> list[Floats]:
    """Return credits of such sums as credits of the tables themselves: the transpose of `cumulated`.

    Examples
    --------
    >>> [table.tolist() for table in shared_out([np.full((1, 1), 2.0), np.full((1, 1, 1), 3.0)])]
    [[[5.0]], [[[3.0]]]]
    """
    tables = list(credits)
    for h in range(len(tables) - 1, 0, -1):
        tables[h - 1] = tables[h - 1] + tables[h].sum(axis=0)
    return tables


@dataclass(frozen=True, eq=False)
class ChainPotentials(KeptScores):
    """Scores of a chain, ready for `crfkit.inference`; made by `Chain.potentials`."""

    structure: Chain
    node: Floats  # [P, L]
    edge: tuple[Floats, ...]  # table h has h + 1 axes; order 1: [L, L] or [P, L, L]
    start: Floats | None  # [L]
    stop: Floats | None  # [L]
    seq_ptr: Pointers  # [N + 1]
    single: bool  # one sequence, not a batch of one
    unnormalized: ChainPotentials | None = None  # what normalized steps were made from

    @property
    def expansion(self) -> Expansion | None:
        """The automaton over states that limits segment lengths, if there is one."""
        return self.structure.resolved.expansion if self.structure.resolved else None

    @once
    def problem(self) -> _native.Problem:
        """The arrays as the kernels see them, checked."""
        if self.expansion:
            # The scores of labels are checked before they become scores of states.
            _native.Problem.chain(self.node, self.tables, self.start, self.stop, self.seq_ptr)
        return self.problem_of(self.states)

    def problem_of(self, states: States) -> _native.Problem:
        """Return the arrays of such states as the kernels see them, checked."""
        return _native.Problem.chain(states.node, states.tables, states.start, states.stop, self.seq_ptr)

    @property
    def steps_by_position(self) -> bool:
        """Whether scores of steps differ from position to position, so that they take much memory."""
        return self.edge[0].ndim == 3

    @property
    def states(self) -> States:
        """The scores by state: of labels, or of the automaton that limits segment lengths."""
        if not (expansion := self.expansion):
            labels = np.arange(len(self.structure.labels))
            return States(labels, self.node, self.tables, self.start, self.stop)
        of = expansion.state_label  # [S]
        edge = forbid(self.edge[0][..., of, :][..., of], expansion.transition)
        L = len(self.structure.labels)
        start = np.zeros(L) if self.start is None else self.start
        stop = np.zeros(L) if self.stop is None else self.stop
        return States(
            of,
            np.ascontiguousarray(self.node[:, of]),
            [np.ascontiguousarray(edge)],
            forbid(start[of], expansion.start),
            forbid(stop[of], expansion.stop),
        )

    @property
    def tables(self) -> list[Floats]:
        """Table h plus all tables of lower order, which an n-gram of h + 1 labels also meets."""
        L = len(self.structure.labels)
        if len(self.edge) > 1:
            for h, table in enumerate(self.edge):
                if table.shape != (L,) * (h + 2):
                    raise ValueError(
                        f"edge of order {h + 1} has shape {table.shape}, expected {(L,) * (h + 2)}"
                    )
        return cumulated(self.edge)

    @property
    def constrained(self) -> bool:
        """Whether the chain has constraints, so that a sequence without a labeling is an error."""
        return bool(self.structure.constraints)

    @property
    def raw(self) -> ChainPotentials:
        """The scores before their steps were normalized; these scores where they were not."""
        return self if self.unnormalized is None else self.unnormalized

    def sequence(self, n: int) -> ChainPotentials:
        """Return sequence n as one sequence."""
        rows = slice(int(self.seq_ptr[n]), int(self.seq_ptr[n + 1]))
        edge = self.edge
        if edge[0].ndim == 3 and len(edge) == 1:
            edge = (edge[0][rows],)
        length = np.array([0, rows.stop - rows.start], dtype=np.int64)
        before = None if self.unnormalized is None else self.unnormalized.sequence(n)
        return replace(
            self, node=self.node[rows], edge=edge, seq_ptr=length, single=True, unnormalized=before
        )

    def select(self, sequences: Pointers) -> ChainPotentials:
        """Return the batch of some sequences, by number.

        Examples
        --------
        >>> from crfkit import Chain
        >>> scores = Chain(2).potentials([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], seq_ptr=[0, 2, 3])
        >>> scores.select(np.array([1])).node.tolist()
        [[4.0, 5.0]]
        """
        counts = np.diff(self.seq_ptr)[sequences]
        rows, ptr = ranges(self.seq_ptr[:-1][sequences], counts), pointers(counts)
        edge = self.edge
        if edge[0].ndim == 3 and len(edge) == 1:
            edge = (edge[0][rows],)
        before = None if self.unnormalized is None else self.unnormalized.select(sequences)
        return replace(self, node=self.node[rows], edge=edge, seq_ptr=ptr, single=False, unnormalized=before)

    def clamped(self, mask: Bools) -> ChainPotentials:
        """Return the same scores with -inf for labels [P, L] that are not in the mask."""
        return replace(self, node=forbid(self.node, mask))

    def with_cost(self, gold: Path) -> ChainPotentials:
        """Return the scores plus the Hamming cost: 1 for each position with a wrong label.

        Examples
        --------
        >>> from crfkit import Chain
        >>> gold = Path(np.array([0, 2]), np.array([1, 0], dtype=np.int32))
        >>> Chain(2).potentials([[0.0, 0.5], [0.0, 0.0]]).with_cost(gold).node.tolist()
        [[1.0, 0.5], [0.0, 1.0]]
        """
        return replace(self, node=self.node + wrong_labels(gold, self.node.shape[1]))

    def ids(self, labels: Sequence[str | int] | Ids, argument: str = "labels") -> Ids:
        """Return one label id per position, checked."""
        ids = label_ids(self.structure.labels, labels, argument)
        if len(ids) != len(self.node):
            raise ValueError(f"{argument} has {len(ids)} entries, expected {len(self.node)}")
        return ids

    def flat_path(self, labels: Labeling | Sequence[str | int] | Ids) -> tuple[Ids, None]:
        """Return the label ids [P] of a labeling, or of names or ids; chains have no segments."""
        return self.ids(labels.labels if isinstance(labels, Labeling) else labels), None

    def path_score(self, labels: Ids, begin: NDArray[Any] | None = None) -> Floats:
        """Score one labeling of each sequence, [N]; every position begins anew in a chain."""
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

    def as_labels(self, paths: Ids) -> Ids:
        """Return the label ids of paths [k, P] over the kernel's states; -1 stays where there is no path."""
        if not (expansion := self.expansion):
            return paths
        labels = expansion.state_label[paths].astype(np.int32)
        return np.where(paths < 0, np.int32(-1), labels)

    def posterior(self, node: Floats) -> tuple[Ids, None]:
        """Return the labels [P] of the highest marginals [P, L]."""
        return np.argmax(node, axis=1).astype(np.int32), None

    def span_mask(self, start: int, end: int, labels: Sequence[str | int]) -> Bools:
        """Return the mask [T, L] that gives positions start to end - 1 of one sequence these labels."""
        return span_mask(self.structure.labels, int(self.seq_ptr[-1]), start, end, labels)

    def most(self) -> int:
        """Return an upper bound of the number of labelings of a sequence."""
        most: int = len(self.structure.labels) ** int(np.diff(self.seq_ptr).max(initial=0))
        return most

    def shaped(self, raw: dict[str, Any]) -> Marginals:
        """Return the kernels' marginals in the shapes and labels of the scores."""
        value, node = one_or_all(self, raw["value"]), raw["node"]
        start = None if self.start is None else raw["start"]
        stop = None if self.stop is None else raw["stop"]
        tables: list[Floats] = [raw["edge"]] if "edge" in raw else raw.get("tables", [])
        if expansion := self.expansion:
            onto = np.zeros((len(expansion.state_label), len(self.structure.labels)))  # [S, L]
            onto[np.arange(len(onto)), expansion.state_label] = 1.0
            start, stop = (None if end is None else end @ onto for end in (start, stop))
            node, tables = node @ onto, [onto.T @ table @ onto for table in tables]
        tables = shared_out(tables)
        edge = tables[0] if len(tables) == 1 else tuple(tables) if tables else None
        return Marginals(value, node, edge, start, stop)

    def scores(self) -> dict[str, Floats]:
        """Return the scores by slot; do not change them.

        "node" [P, L]; "transition" [L * L], for order k the raveled tables of all orders in a row, or
        "edge" [P, L * L] by position (order 0: neither); "start" and "stop" [L] where they are given.

        Examples
        --------
        >>> from crfkit import Chain
        >>> {slot: array.shape for slot, array in Chain(2, order=2).potentials([[0.0, 1.0]]).scores().items()}
        {'node': (1, 2), 'transition': (12,)}
        """
        return self._slots(self.node, self.edge, self.start, self.stop)

    def zeros(self) -> dict[str, Floats]:
        """Return arrays of 0 for a gradient by scores."""
        return {slot: np.zeros_like(array) for slot, array in self.scores().items()}

    def in_slots(self, marginals: Marginals) -> dict[str, Floats]:
        """Return marginals by slot, as `scores` has them; they may share memory with the marginals."""
        edge = marginals.edge if isinstance(marginals.edge, tuple) else (marginals.edge,)
        return self._slots(marginals.node, edge, marginals.start, marginals.stop)

    def _slots(
        self, node: Floats, edge: tuple[Floats, ...], start: Floats | None, stop: Floats | None
    ) -> dict[str, Floats]:
        slots = {"node": node}
        if self.structure.order > 0:
            slots |= edge_slot(edge)
        return slots | {name: end for name, end in (("start", start), ("stop", stop)) if end is not None}

    def gold_score(self, gold: Any, weight: Floats) -> float:
        """Add up weight[n] times the score of the gold of sequence n: a `Path`, or soft gold."""
        return score_of_gold(self, gold, weight)

    def pieces(self, gold: Path, weight: Floats) -> Pieces:
        """Return the factors with their gold labels, for losses that are sums of softmaxes."""
        return pieces_of_chains(self, gold, weight)

    def add_counts(self, gold: Any, weight: Floats, counts: dict[str, Floats]) -> None:
        """Add to `counts` how often the gold takes each cell, each sequence times its weight [N]."""
        self.structure.add_counts(gold, weight, counts)
