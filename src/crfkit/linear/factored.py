"""Sequences of a max-margin loss, as methods of its dual visit them; see `crfkit.optimize.margin`.

A sequence is scored by its own attributes only, and so is the way back from parts to weights: a visit does
not cost more where the layout has more weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crfkit import inference
from crfkit._safe.cached import once
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.linear.fast.sequences import chains_lack
from crfkit.linear.objective import Family
from crfkit.linear.score import is_scored, scatter, score
from crfkit.optimize.classic.marginal_dual import FactoredChains, FactoredSequences
from crfkit.structures.gold import Path
from crfkit.structures.potentials import wrong_labels

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

_MOST_FLOW = 1 << 28  # marginals of steps that SMO keeps: 2 GiB


def factored_lack(loss: LinearLoss) -> str:
    """Return why methods of the max-margin dual cannot take a loss; empty where they can."""
    if loss.objective.family is not Family.MARGIN:
        return f"the objective {loss.objective.name}, only max-margin"
    return "negative weights of sequences" if (loss.weight < 0.0).any() else ""


def factored_chains_lack(loss: LinearLoss) -> str:
    """Return why SMO cannot take a loss; empty where it can."""
    against = factored_lack(loss) or chains_lack(loss.structure)
    flow = loss.batch.positions * loss.layout.labels**2
    if not against and flow > _MOST_FLOW:
        P, L = loss.batch.positions, loss.layout.labels
        return f"{P:,} positions with {L} x {L} steps each, whose marginals take {8 * flow / 2**30:.1f} GiB"
    return against


class _Term(NamedTuple):
    """What the weights of one block give to the places of a sequence."""

    slot: str
    place: Pointers  # [rows, cells] in the weights; [cells] where places share them
    rows: Any  # [places, rows] values of attributes; None where places share the weights


class LossPart:
    """One sequence of a loss; see `crfkit.optimize.classic.marginal_dual.Part`."""

    def __init__(self, loss: LinearLoss, tables: dict[str, Pointers]) -> None:
        assert isinstance(loss.gold, Path)
        self.structure, self.batch, self.gold = loss.structure, loss.batch, loss.gold
        self.slots, self.size = loss.layout.slots, loss.size
        self.weight = float(loss.weight[0])
        self.cost = wrong_labels(self.gold, loss.layout.labels)  # [T, L]
        made = [_term(loss, name, tables[name]) for name in tables]
        self.terms = sorted(
            (term for term in made if term is not None), key=lambda term: term.rows is not None
        )

    def scores(self, w: Floats) -> dict[str, Floats]:
        """Return scores by weights [F + 1], plus 1 for each wrong label."""
        made = {"node": self.cost}
        for slot, place, rows in self.terms:
            if rows is None:
                made[slot] = w[place]
                continue
            begin = made.get(slot)
            base = self.slots[slot].base
            if begin is None and base is not None:
                begin = made.pop(base, None)
            given = rows @ w[place]
            made[slot] = given if begin is None else begin + given
        return made

    def at_gold(self, amount: float) -> dict[str, Floats]:
        """Return scores of 0, but `amount` for each gold label."""
        made = {slot: np.zeros(shape) for slot, shape in self._shapes.items()}
        made["node"] += amount * (1.0 - self.cost)
        return made

    def best(self, scores: dict[str, Floats]) -> tuple[float, Ids]:
        """Return the best score of a labeling, and its labels [T]."""
        values, path = inference.best(self._potentials(scores), threads=1)
        return float(values[0]), path.label

    def marginals(self, scores: dict[str, Floats]) -> dict[str, Floats]:
        """Return the expected parts of the distribution that scores give."""
        made: dict[str, Floats] = inference.expected(self._potentials(scores), np.ones(1), threads=1)[1]
        return made

    def wrong(self, parts: dict[str, Floats]) -> float:
        """Return the expected number of wrong labels of expected parts."""
        return float(np.sum(parts["node"] * self.cost))

    def features(self, parts: dict[str, Floats]) -> list[tuple[Pointers, Floats]]:
        """Return the sum of the features of parts: places in the weights, none twice, and amounts."""
        made = []
        for slot, place, rows in self.terms:
            found = parts.get(slot)
            if rows is None:
                if found is None:  # a base: the sum over the places that begin with it
                    found = next(parts[s].sum(axis=0) for s in parts if self.slots[s].base == slot)
                made.append((place, found))
            elif found is not None:
                made.append((place, rows.T @ found))
        return made

    @once
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the scores, by slot."""
        made = self.scores(np.broadcast_to(0.0, self.size + 1))
        return {slot: array.shape for slot, array in made.items()}

    def _potentials(self, scores: dict[str, Floats]) -> Any:
        return self.structure.potentials_of(scores, self.batch)


def _term(loss: LinearLoss, name: str, table: Pointers) -> _Term | None:
    """Return what a block gives to one sequence; None where that is nothing."""
    from scipy.sparse import csr_array

    block, batch = loss.layout.block[name], loss.batch
    if block.by is None:
        return _Term(block.slot, table[0], None)
    if block.by == "dense":
        return _Term(block.slot, table, batch.dense)
    if not is_scored(loss.layout, batch, name):
        return None
    items = batch.occurrences(name)
    assert items is not None
    known = items.id < len(table)
    used, column = np.unique(items.id[known], return_inverse=True)
    values = np.ones(len(items.id)) if items.value is None else items.value
    ptr = np.append(0, np.cumsum(known))[items.ptr]
    rows = csr_array((values[known], column, ptr), shape=(len(ptr) - 1, len(used)))
    return _Term(block.slot, table[used], rows)


class SequencesOfLoss(FactoredSequences):
    """The sequences of a max-margin loss."""

    def __init__(self, loss: LinearLoss) -> None:
        self.loss = loss
        self._parts: dict[int, LossPart] = {}

    @once
    def filled(self) -> Pointers:
        """The sequences that have a position and a weight above 0."""
        lengths = np.diff(self.loss.batch.seq_ptr)
        return np.flatnonzero((lengths > 0) & (self.loss.weight > 0.0)).astype(np.int64)

    def part(self, n: int) -> LossPart:
        """Return one sequence."""
        if n not in self._parts:
            self._parts[n] = LossPart(self.loss.part(slice(n, n + 1)), self._tables)
        return self._parts[n]

    @once
    def _tables(self) -> dict[str, Pointers]:
        """The place of each row and cell of each block in the weights; F where there is no weight."""
        layout, made = self.loss.layout, {}
        for block in layout.blocks:
            if not len(block.cell):
                continue
            table = np.full((len(block.ptr) - 1, layout.slots[block.slot].cells), layout.weights)
            rows = np.repeat(np.arange(len(table)), np.diff(block.ptr))
            table[rows, block.cell] = layout.parts[block.name].start + np.arange(len(block.cell))
            made[block.name] = table
        return made

    def tilted(self, w: Floats, cost: float) -> tuple[float, Floats]:
        """Return sum_n c_n <mu_n, cost_n> and v [F] for alpha_n(y) ~ exp(w.f_n(y) + cost * cost_n(y))."""
        wrong, v = 0.0, np.zeros(self.loss.size)
        for part in self.loss.parts():
            assert isinstance(part.gold, Path)
            each = wrong_labels(part.gold, part.layout.labels)  # [P, L]
            scores = score(part.layout, w, part.batch, threads=part.threads)
            scores["node"] += cost * each
            potentials = part.structure.potentials_of(scores, part.batch)
            _, parts = inference.expected(potentials, part.weight, threads=part.threads)
            wrong += float(np.sum(parts["node"] * each))
            self._subtract(part, parts, v)
        return wrong, v

    def _subtract(self, part: LinearLoss, parts: dict[str, Floats], v: Floats) -> None:
        """Add the features of the gold minus those of expected parts, which are changed, to v [F]."""
        part.structure.add_counts(part.gold, -part.weight, parts)
        v -= scatter(part.layout, part.batch, parts, index=part.index, threads=part.threads)


class ChainsOfLoss(SequencesOfLoss, FactoredChains):
    """The sequences of a max-margin loss of chains of order 1."""

    def __init__(self, loss: LinearLoss) -> None:
        super().__init__(loss)
        assert isinstance(loss.gold, Path)
        self.seq_ptr, self.label, self.labels = loss.batch.seq_ptr, loss.gold.label, loss.layout.labels

    def mean(self, part: Any, scores: dict[str, Floats], flow: Floats) -> float:
        """Return the expected score of the labelings of a flow [T, L, L]."""
        node = flow.sum(axis=1)  # [T, L]
        parts = {"node": node, "start": node[0], "stop": node[-1]}
        edge = flow[1:].reshape(-1, self.labels**2)
        total = float(np.sum(edge * scores["edge"][1:])) if "edge" in scores else 0.0
        if "transition" in scores:
            parts["transition"] = edge.sum(axis=0)
        return total + sum(float(np.sum(parts[slot] * scores[slot])) for slot in parts if slot in scores)

    def least(self, part: Any, scores: dict[str, Floats], toll: Floats) -> Ids:
        """Return the labels [T] whose score plus the toll [T, L, L] of their steps is least."""
        T, L, _ = toll.shape
        steps = scores.get("edge", scores.get("transition", np.zeros(L * L)))
        against = {name: -scores[name] for name in scores if name in ("node", "start", "stop")}
        against["node"][0] -= toll[0, 0]
        against["edge"] = (-toll - steps.reshape(-1, L, L)).reshape(T, L * L)
        labels: Ids = part.best(against)[1]
        return labels

    def steps(self, part: Any, labels: Ids, minus: Ids) -> dict[str, Floats]:
        """Return the parts of one labeling minus those of another."""
        made: dict[str, Floats] = part.at_gold(0.0)
        for amount, each in ((1.0, labels), (-1.0, minus)):
            part.structure.add_counts(Path(part.batch.seq_ptr, each), np.full(1, amount), made)
        return made

    def of_flow(self, flow: Floats) -> tuple[float, Floats]:
        """Return sum_n c_n <mu_n, cost_n> and v [F]."""
        loss, lengths = self.loss, np.diff(self.seq_ptr)
        weight = np.repeat(loss.weight, lengths)[:, None]  # [P, 1]
        node = flow.sum(axis=1) * weight  # [P, L]
        edge = (flow * weight[:, :, None]).reshape(len(flow), -1)
        first, last = self.seq_ptr[:-1][lengths > 0], self.seq_ptr[1:][lengths > 0] - 1
        edge[first] = 0.0
        parts = {"node": node, "edge": edge, "start": node[first].sum(axis=0), "stop": node[last].sum(axis=0)}
        assert isinstance(loss.gold, Path)
        wrong, v = float(np.sum(node * wrong_labels(loss.gold, self.labels))), np.zeros(loss.size)
        self._subtract(loss, parts, v)
        return wrong, v
