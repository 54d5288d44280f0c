"""One round of gradient tree boosting: differences of marginals, trees grown to them, steps of leaves.

See `crfkit.training.learners.boosting` for the formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers, dot
from crfkit.data.batch import Batch
from crfkit.models.forest import Forest, Rows
from crfkit.structures import Chain
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from crfkit.training.learners.boosting import Boosting


class Tree(NamedTuple):
    """A tree of a slot, the cells that it has values for, and the values [leaves, cells]."""

    slot: str
    nodes: dict[str, NDArray[Any]]
    cells: Ids
    values: Floats


class Round(NamedTuple):
    """What a round adds: trees, and numbers to the tables."""

    trees: list[Tree]
    tables: dict[str, Floats]

    def times(self, factor: float) -> Round:
        """Return a round of smaller or larger values."""
        return Round(
            [one._replace(values=factor * one.values) for one in self.trees],
            {name: factor * table for name, table in self.tables.items()},
        )


@dataclass(frozen=True, eq=False)
class Learning:
    """Rows, gold and the scores so far of some sequences."""

    chain: Chain
    rows: Rows  #: [P, K]
    batch: Batch
    gold: Path
    weight: Floats  #: [N]
    places: dict[str, Pointers]  #: by slot: the positions that have scores
    scores: dict[str, Floats]  #: by slot; those of "edge" without the transitions
    tables: dict[str, Floats]
    threads: int | None

    @classmethod
    def of(cls, chain: Chain, rows: Rows, batch: Batch, steps: bool, threads: int | None) -> Learning:
        """Return data without scores, checked."""
        gold = chain.gold(batch)
        if not isinstance(gold, Path):
            raise ValueError(
                "boosting takes one gold label at each position; label all positions, or leave out sequences"
            )
        L, P = len(chain.labels), batch.positions
        places = {"node": np.arange(P, dtype=np.int64)}
        if steps:
            first = batch.seq_ptr[:-1][np.diff(batch.seq_ptr) > 0]
            places["edge"] = np.setdiff1d(places["node"], first)
        scores = {slot: np.zeros((P, L if slot == "node" else L * L)) for slot in places}
        tables = {"transition": np.zeros(L * L), "start": np.zeros(L), "stop": np.zeros(L)}
        weight = np.ones(batch.sequences) if batch.weight is None else batch.weight
        return cls(chain, rows, batch, gold, weight, places, scores, tables, threads)

    def compared(self) -> tuple[float, dict[str, Floats], dict[str, Floats]]:
        """Return the loss, the expected parts by slot, and how far those of the gold are above them."""
        scores = {**self.tables, **self.scores}
        if "edge" in scores:
            scores["edge"] = scores["edge"] + self.tables["transition"]
        potentials = self.chain.potentials_of(scores, self.batch)
        log_z, expected = inference.expected(potentials, self.weight, threads=self.threads)
        delta = {name: -array for name, array in expected.items()}
        self.chain.add_counts(self.gold, self.weight, delta)
        if "edge" in expected:
            for slots in (expected, delta):
                slots["transition"] = slots["edge"].sum(axis=0)
        return dot(self.weight, log_z - potentials.path_score(self.gold.label, None)), expected, delta

    def after(self, added: Round) -> Learning:
        """Return the data with the scores after a round."""
        scores = {slot: array.copy() for slot, array in self.scores.items()}
        for one in added.trees:
            at = self.places[one.slot]
            leaf = Forest.of([one.nodes]).leaves(self.rows[at])[:, 0]
            scores[one.slot][np.ix_(at, one.cells)] += one.values[leaf]
        tables = {name: table + added.tables[name] for name, table in self.tables.items()}
        return replace(self, scores=scores, tables=tables)


class Leaves(NamedTuple):
    """Trees, and the values of their leaves as a block of weights has them."""

    forest: Forest
    ptr: Pointers  #: [leaves + 1]: where the values of each leaf begin
    cell: Ids  #: what each value is for
    value: Floats

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Leaves:
        """Return trees of one slot, one after the other."""
        cells = [one.cells for one in trees for _ in one.values]
        return cls(
            Forest.of([one.nodes for one in trees]),
            np.append(0, np.cumsum([len(cell) for cell in cells])).astype(np.int64),
            np.concatenate([np.zeros(0, np.int32), *cells]),
            np.concatenate([np.zeros(0), *(one.values.ravel() for one in trees)]),
        )


def grow_round(
    data: Learning,
    expected: Mapping[str, Floats],
    delta: Mapping[str, Floats],
    options: Boosting,
    rng: np.random.Generator,
) -> Round:
    """Return the trees of one round and steps of the tables, whose expected counts bound their curvature."""
    N, L = data.batch.sequences, len(data.chain.labels)
    drawn = np.zeros(N, dtype=np.bool_)
    drawn[rng.permutation(N)[: max(1, round(options.subsample * N))]] = True
    lengths = np.diff(data.batch.seq_ptr)
    used, weight = np.repeat(drawn & (data.weight > 0.0), lengths), np.repeat(data.weight, lengths)  # [P]
    trees = [
        _tree(data, slot, at[used[at]], cells, expected[slot], delta[slot], weight, options, rng)
        for slot, at in data.places.items()
        for cells in _groups(L, expected[slot].shape[1], options.shared)
        if used[at].any()
    ]
    tables = {
        name: options.shrinkage * _newton(delta[name], expected[name], options.l2) for name in data.tables
    }
    return Round(trees, tables)


def _groups(L: int, cells: int, shared: bool) -> list[Ids]:
    """Return the cells that each tree of a round has values for: all, or those into one label."""
    every = np.arange(cells, dtype=np.int32)
    return [every] if shared else [every[every % L == y] for y in range(L)]


def _tree(
    data: Learning,
    slot: str,
    at: Pointers,
    cells: Ids,
    expected: Floats,
    delta: Floats,
    weight: Floats,
    options: Boosting,
    rng: np.random.Generator,
) -> Tree:
    """Return a tree that was grown at some positions."""
    wanted, share = delta[np.ix_(at, cells)], expected[np.ix_(at, cells)]  # [rows, cells]
    rows, chosen = data.rows[at], _influential(wanted, options.trim)
    nodes = grown(
        rows[chosen],
        wanted[chosen],
        leaves=options.leaves,
        min_samples=options.min_samples,
        features=options.features,
        seed=int(rng.integers(1 << 31)),
    )
    leaf = Forest.of([nodes]).leaves(rows)[:, 0]
    count = int((nodes["feature"] < 0).sum())
    curvature = share * (1.0 - share / weight[at, None])
    values = _newton(_summed(leaf, wanted, count), _summed(leaf, curvature, count), options.l2)
    return Tree(slot, nodes, cells, options.shrinkage * values)


def _influential(delta: Floats, trim: float) -> Ids:
    """Return the rows without those of the smallest differences, up to a share of the sum of all.

    Examples
    --------
    >>> _influential(np.array([[3.0], [-1.0], [6.0]]), 0.1).tolist()
    [0, 2]
    """
    size = np.abs(delta).sum(axis=1)
    order = np.argsort(size, kind="stable")
    out = int(np.searchsorted(np.cumsum(size[order]), trim * size.sum(), side="right")) if trim else 0
    return np.sort(order[min(out, len(order) - 1) :]).astype(np.int32)


def _summed(leaf: Ids, array: Floats, leaves: int) -> Floats:
    """Return sums by leaf, [leaves, cells]."""
    return np.stack([np.bincount(leaf, column, leaves) for column in array.T], axis=1)


def _newton(delta: Floats, curvature: Floats, l2: float) -> Floats:
    below = curvature + l2
    return np.divide(delta, below, where=below > 0.0, out=np.zeros_like(delta))


def grown(
    rows: Rows, target: Floats, *, leaves: int, min_samples: int, features: float, seed: int
) -> dict[str, NDArray[Any]]:
    """Return a tree that minimizes the squared error to targets [P, outputs]: CART, the best leaf first.

    Parameters
    ----------
    rows : array [P, K]
    target : array [P, outputs]
        All outputs share the tree.
    leaves : int
        At most.
    min_samples : int
        Rows of a leaf, at least.
    features : float
        The share of the columns that each split looks at.
    seed : int
    """
    from sklearn.tree import DecisionTreeRegressor

    made = DecisionTreeRegressor(
        max_leaf_nodes=leaves, min_samples_leaf=min_samples, max_features=features, random_state=seed
    )
    tree = made.fit(rows, target).tree_
    names = {
        "feature": "feature",
        "threshold": "threshold",
        "left": "children_left",
        "right": "children_right",
    }
    found = {name: getattr(tree, called) for name, called in names.items()}
    return {**found, "feature": np.where(found["left"] < 0, -1, found["feature"])}
