"""Chains of order k: one label per position, scores for labels and for label n-grams of up to k + 1 labels.

score(y) = start[y_1] + sum_t node[t, y_t] + sum_t sum_{h=1..min(k, t-1)} edge_h[y_{t-h}, ..., y_t]
           + stop[y_T]

For k = 1 this is the linear chain of Sutton & McCallum (2006) eq. 1.16; for k = 2 the label pairs of
Sha & Pereira (2003) section 3, of which the kernel visits only the pairs that can follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from crfkit._safe.pickling import Restored
from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, Pointers, as_scores, as_seq_ptr
from crfkit.checks import check_number, in_order
from crfkit.data.batch import Batch
from crfkit.native import check_memory
from crfkit.structures.chains.gold import add_chain_counts, check_path, ngram_cells
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.constraints import Constraint, Resolved, check_constraints, resolve
from crfkit.structures.gold import (
    Allowed,
    Gold,
    Path,
    Soft,
    allowed_mask,
    check_range,
    forbid,
    gold_of,
    label_names,
)
from crfkit.structures.rules import constraints_of, plain_constraints
from crfkit.structures.structure import Scores, Slot

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self


@dataclass(frozen=True)
class Chain(Restored):
    """The structure of a chain: its labels, order and constraints.

    Parameters
    ----------
    labels : int or list of str, optional
        Label names, or their number. Without them the chain says what to learn, and training finds the names
        in the data (`crfkit.train`); `with_labels` returns a chain that can be used.
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

    kind: ClassVar[str] = "chain"
    objective: ClassVar[str] = "likelihood"
    segmental: ClassVar[bool] = False
    local: ClassVar[bool] = False
    graphical: ClassVar[bool] = False

    labels: tuple[str, ...]
    order: int = 1
    constraints: tuple[Constraint, ...] = ()
    resolved: Resolved | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        labels: int | Iterable[str] | None = None,
        order: int = 1,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        names = () if labels is None or (isinstance(labels, tuple) and not labels) else label_names(labels)
        check_number("order", order, None, whole=True)
        if not 0 <= order <= 8:
            raise ValueError(f"order is {order}, expected 0 to 8")
        if constraints:
            check_constraints(constraints)
        resolved = resolve(constraints, names) if names and constraints else None
        if constraints and order == 0:
            raise ValueError("constraints on transitions need a chain of order 1 or more, not 0")
        if resolved and resolved.expansion and order > 1:
            raise ValueError(f"limits on segment lengths need a chain of order 1, not {order}")
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "constraints", tuple(in_order(constraints)))
        object.__setattr__(self, "resolved", resolved)

    @property
    def is_chain(self) -> bool:
        """Whether it scores as chains do: one of another kind may be built on a chain and not.

        Examples
        --------
        >>> from crfkit.structures import LocalChain
        >>> Chain(2).is_chain, LocalChain(2).is_chain
        (True, False)
        """
        return self.kind == Chain.kind

    @property
    def limits_lengths(self) -> bool:
        """Whether constraints limit the lengths of segments."""
        return self.resolved is not None and self.resolved.expansion is not None

    def unnormalized(self, scores: Scores, batch: Batch) -> ChainPotentials:
        """Return `potentials_of`: label sequences are normalized as a whole."""
        return self.potentials_of(scores, batch)

    def states(self) -> int:
        """Return how many states a position has in a sweep.

        Examples
        --------
        >>> from crfkit.structures.constraints import SegmentLength
        >>> Chain(["a", "b"], constraints=[SegmentLength("a", maximum=2)]).states()
        3
        """
        expansion = None if self.resolved is None else self.resolved.expansion
        return len(self.labels) if expansion is None else len(expansion.state_label)

    def lengths(self) -> None:
        """Return None: labels are those of positions."""
        return

    def with_labels(self, names: Sequence[str]) -> Self:
        """Return the same chain over these labels.

        Examples
        --------
        >>> Chain(order=2).with_labels(["A", "B"])
        Chain(labels=('A', 'B'), order=2, constraints=())
        """
        return replace(self, labels=tuple(names))

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
        """Score one sequence, or a batch of them, one after the other.

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
        if not self.labels:
            raise ValueError("this chain has no labels: give them, as in chain.with_labels(['A', 'B'])")
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
        check_memory(f"scores of {order + 1} labels in a row", *(L,) * (order + 1))
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

    # ---- training

    def settled(self, batches: Iterable[Batch]) -> Self:
        """Return the chain itself: data have nothing to add."""
        return self

    def describe(self) -> str:
        """Return the name that messages use for the chain."""
        return f"a chain of order {self.order}"

    def slots(self) -> dict[str, Slot]:
        """Return the slots of scores: nodes, steps, label n-grams, and both ends."""
        return chain_slots(len(self.labels), self.order)

    def potentials_of(self, scores: Scores, batch: Batch) -> ChainPotentials:
        """Return potentials of the scores of a batch; a slot that is missing counts as 0."""
        L = len(self.labels)
        edge: Any = None
        if "edge" in scores:
            edge = scores["edge"].reshape(-1, L, L)
        elif "transition" in scores:
            tables = self.slots()["transition"].split(scores["transition"])
            edge = tables[0] if self.order == 1 else tables
        return self.potentials(
            scores["node"], edge, start=scores.get("start"), stop=scores.get("stop"), seq_ptr=batch.seq_ptr
        )

    def gold(self, batch: Batch, before: int = 0) -> Gold:
        """Return what is known about the labels, checked against the constraints."""
        found = gold_of(batch, len(self.labels))
        if isinstance(found, Path) and self.resolved is not None:
            check_path(found, self.labels, self.resolved, before)
        return found

    def gold_cells(self, batch: Batch) -> dict[str, Pointers]:
        """Return the cells that gold labels take: labels, steps, and label n-grams."""
        L = len(self.labels)
        label = np.full(batch.positions, -1, np.int32) if batch.label is None else batch.label
        check_range(label, L)
        ngrams = ngram_cells(batch.seq_ptr, label, L, self.order)
        begins = np.cumsum([0, *(L ** (h + 1) for h in range(1, self.order + 1))])
        known = [cells[cells >= 0] + begin for begin, cells in zip(begins, ngrams, strict=False)]
        cells = {"node": label, "transition": np.concatenate([np.zeros(0, np.int64), *known])}
        return {**cells, "edge": ngrams[0]} if self.order == 1 else cells

    def add_counts(self, gold: Gold, weight: Floats, counts: Scores) -> None:
        """Add to `counts` how often the gold takes each cell, each sequence times its weight [N]."""
        L, rules = len(self.labels), self.resolved
        if rules is None or not isinstance(gold, Soft):
            add_chain_counts(gold, weight, L, self.order, counts)
            return
        # Positions are drawn independently, so that they may take forbidden steps: those do not count.
        drawn = {slot: np.zeros_like(array) for slot, array in counts.items()}
        add_chain_counts(gold, weight, L, self.order, drawn)
        if "transition" in drawn:
            drawn["transition"][: L * L][~rules.transition.ravel()] = 0.0
        if "edge" in drawn:
            drawn["edge"][:, ~rules.transition.ravel()] = 0.0
        for name, allowed in (("start", rules.start), ("stop", rules.stop)):
            if name in drawn:
                drawn[name][~allowed] = 0.0
        for slot, array in drawn.items():
            counts[slot][:] += array

    def cells(self) -> int:
        """Return how many scores a position has: one for each label."""
        return len(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the labels, as values that JSON can hold; `crfkit.structures.kinds` reads them.

        Examples
        --------
        >>> Chain(["a", "b"], order=2).to_dict()
        {'kind': 'chain', 'order': 2, 'constraints': []}
        """
        rules = plain_constraints(self.constraints, self.labels)
        return {"kind": self.kind, "order": self.order, "constraints": rules}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any], labels: Sequence[str]) -> Self:
        """Return the chain that `to_dict` described, over these labels; else raise a ValueError."""
        order = plain["order"]
        if type(order) is not int:
            raise ValueError(f"the order is {quoted(str(order))}, expected a number")
        return cls(labels, order, constraints_of(plain["constraints"], labels))


def chain_slots(L: int, order: int) -> dict[str, Slot]:
    """Return the slots of a chain of L labels.

    Examples
    --------
    >>> {name: slot.cells for name, slot in chain_slots(3, 2).items()}
    {'node': 3, 'transition': 36, 'start': 3, 'stop': 3}
    """
    one = ((L,),)
    slots = {"node": Slot(one, "position")}
    if order == 1:
        slots["edge"] = Slot(((L, L),), "step", base="transition")
    slots["transition"] = Slot(tuple((L,) * (h + 1) for h in range(1, order + 1)))
    return {**slots, "start": Slot(one), "stop": Slot(one)}


def is_chain(structure: object) -> TypeGuard[Chain]:
    """Tell native paths, which read its fields, whether a structure is a chain (`Chain.is_chain`)."""
    return isinstance(structure, Chain) and structure.is_chain


def _checked_forbid(scores: Floats, allowed: NDArray[np.bool_], argument: str) -> Floats:
    if scores.shape[-allowed.ndim :] != allowed.shape:
        raise ValueError(f"{argument} has shape {scores.shape}, expected {allowed.shape}")
    return forbid(scores, allowed)
