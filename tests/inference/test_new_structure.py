"""A structure that crfkit does not know answers every query: a chain that is read from right to left."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, _native, inference
from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.inference import Labeling, Marginals, Potentials
from crfkit.inference.reference import Enumeration, Textbook
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.gold import Path, span_mask
from crfkit.structures.potentials import one_or_all, score_of_gold, wrong_labels
from tests.cases.answers import assert_close


@dataclass(frozen=True)
class Shares:
    """Soft gold: how much of each label a position has, [P, L]."""

    share: Floats


@dataclass(frozen=True)
class Backwards:
    """Labels that follow each other from right to left: score = sum_t node[t, y_t] + edge[y_{t+1}, y_t]."""

    labels: tuple[str, ...]

    def add_counts(self, gold: Shares, weight: Floats, counts: dict[str, Floats]) -> None:
        counts["node"] += weight[0] * gold.share
        counts["transition"] += weight[0] * np.einsum("pi,pj->ij", gold.share[1:], gold.share[:-1]).ravel()


@dataclass(frozen=True, eq=False)
class BackwardsPotentials:
    structure: Backwards
    node: Floats  # [P, L]
    edge: Floats  # [L, L]
    seq_ptr: Pointers  # [N + 1]
    single: bool
    constrained: bool = False

    @cached_property
    def turn(self) -> Pointers:
        """The positions of each sequence from its end, [P]."""
        pairs = zip(self.seq_ptr[:-1], self.seq_ptr[1:], strict=True)
        turned: Pointers = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in pairs])
        return turned

    @cached_property
    def problem(self) -> _native.Problem:
        return _native.Problem.chain(self.node[self.turn], [self.edge], None, None, self.seq_ptr)

    def sequence(self, n: int) -> BackwardsPotentials:
        first, end = self.seq_ptr[n : n + 2].tolist()
        return replace(self, node=self.node[first:end], seq_ptr=np.array([0, end - first]), single=True)

    def clamped(self, mask: Bools) -> BackwardsPotentials:
        return replace(self, node=np.where(mask, self.node, -np.inf))

    def with_cost(self, gold: Path) -> BackwardsPotentials:
        return replace(self, node=self.node + wrong_labels(gold, self.node.shape[1]))

    def flat_path(self, labels: Any) -> tuple[Ids, None]:
        return np.asarray(labels.labels if isinstance(labels, Labeling) else labels, dtype=np.int32), None

    def path_score(self, labels: Ids, begin: Any = None) -> Floats:
        total = np.zeros(len(self.seq_ptr) - 1)
        for n, (a, b) in enumerate(zip(self.seq_ptr[:-1], self.seq_ptr[1:], strict=True)):
            total[n] = self.node[np.arange(a, b), labels[a:b]].sum()
            total[n] += self.edge[labels[a + 1 : b], labels[a : max(b - 1, a)]].sum()
        return total

    def as_labels(self, paths: Ids) -> Ids:
        return paths[:, self.turn]

    def posterior(self, node: Floats) -> tuple[Ids, None]:
        return node.argmax(axis=1).astype(np.int32), None

    def span_mask(self, start: int, end: int, labels: Any) -> Bools:
        return span_mask(self.structure.labels, len(self.node), start, end, labels)

    def most(self) -> int:
        return int(len(self.structure.labels) ** np.diff(self.seq_ptr).max())

    def shaped(self, raw: dict[str, Any]) -> Marginals:
        edge = raw["tables"][0] if "tables" in raw else None
        return Marginals(one_or_all(self, raw["value"]), raw["node"][self.turn], edge)

    def scores(self) -> dict[str, Floats]:
        return {"node": self.node, "transition": self.edge.ravel()}

    def zeros(self) -> dict[str, Floats]:
        return {slot: np.zeros_like(array) for slot, array in self.scores().items()}

    def in_slots(self, marginals: Marginals) -> dict[str, Floats]:
        return {"node": marginals.node, "transition": marginals.edge.ravel()}

    def gold_score(self, gold: Any, weight: Floats) -> float:
        return score_of_gold(self, gold, weight)

    def add_counts(self, gold: Any, weight: Floats, counts: dict[str, Floats]) -> None:
        self.structure.add_counts(gold, weight, counts)


def both(*lengths: int) -> tuple[BackwardsPotentials, ChainPotentials]:
    """Make the new structure, and the chain that scores each labeling as it does."""
    rng, L = np.random.default_rng(0), 3
    node, edge = rng.normal(size=(sum(lengths), L)), rng.normal(size=(L, L))
    seq_ptr = np.cumsum([0, *lengths])
    new = BackwardsPotentials(Backwards(("a", "b", "c")), node, edge, seq_ptr, single=False)
    return new, Chain(["a", "b", "c"]).potentials(node, edge.T, seq_ptr=seq_ptr)


def labels_and_scores(found: list[list[Labeling]]) -> list[Any]:
    return [[(y.labels.tolist(), round(y.score, 9)) for y in labelings] for labelings in found]


def drawn(p: Potentials) -> Any:
    draws = inference.sample(p, 4000, seed=2)
    for n, labelings in enumerate(draws):
        one = p.sequence(n)
        assert [y.score for y in labelings[:9]] == pytest.approx(
            [one.path_score(y.labels)[0] for y in labelings[:9]]
        )
    return np.round([y.labels.mean() for y in draws[0]], 9).mean().round(1)


def upright(slots: dict[str, Floats], p: Potentials) -> list[Any]:
    """Lay transitions out as from left to right."""
    table = slots["transition"].reshape(3, 3)
    return [slots["node"], table.T if isinstance(p, BackwardsPotentials) else table]


def parts(found: Marginals, p: Potentials) -> list[Any]:
    return [found.log_partition, *upright({"node": found.node, "transition": found.edge}, p)]


def trained(p: Potentials) -> list[Any]:
    answers: list[Any] = []
    for weight in ([2.0, 2.0, 2.0], [1.0, 0.0, -3.0]):
        values, slots = inference.expected(p, weight)
        answers += [values, *upright(slots, p)]
    return answers


GIVEN = [0, 1, 1, 2, 0]
QUERIES: dict[str, Callable[[Potentials], Any]] = {
    "log_partition": inference.log_partition,
    "entropy": inference.entropy,
    "marginals": lambda p: parts(inference.marginals(p), p),
    "reachable": lambda p: parts(inference.reachable(p), p),
    "decode": lambda p: labels_and_scores([inference.decode(p), inference.decode(p, "posterior")]),
    "kbest": lambda p: labels_and_scores(inference.kbest(p, 4)),
    "sample": drawn,
    "count": inference.count,
    "score": lambda p: inference.score(p, GIVEN),
    "log_prob": lambda p: inference.log_prob(p, GIVEN),
    "span_probability": lambda p: inference.span_probability(p, 0, 2, ["b", "a"], sequence=2),
    "expected": trained,
    "best": lambda p: [inference.best(p)[0], inference.best(p)[1].label],
}


def test_every_query_is_here() -> None:
    found = {name for name in inference.__all__ if inspect.isfunction(getattr(inference, name))}
    # Rules need to know the order of labels; marginal MAP is for graphs.
    assert found - {"constrained", "marginal_map"} == {*QUERIES}


def test_constraints_on_whole_labelings_are_refused() -> None:
    with pytest.raises(TypeError, match="are for chains and segments"):
        inference.constrained(both(3)[0], [])  # type: ignore[arg-type]


@pytest.mark.parametrize("query", QUERIES)
def test_a_new_structure_answers(query: str) -> None:
    new, known = both(3, 0, 2)
    assert_close(QUERIES[query](new), QUERIES[query](known), what=query)


def test_a_new_structure_can_be_trained() -> None:
    new, known = both(4)
    gold = Path(new.seq_ptr, np.array([0, 2, 1, 1], dtype=np.int32))
    assert inference.log_partition(new.with_cost(gold)) == pytest.approx(
        inference.log_partition(known.with_cost(gold))
    )
    weight = np.array([2.0])
    assert new.gold_score(gold, weight) == pytest.approx(2.0 * known.path_score(gold.label)[0])
    certain = Shares(np.eye(3)[gold.label])  # a distribution that is sure scores as the path does
    assert new.gold_score(certain, weight) == pytest.approx(new.gold_score(gold, weight))
    even = Shares(np.full((4, 3), 1 / 3))
    assert new.gold_score(even, weight) == pytest.approx(2.0 * (new.node.sum() / 3 + new.edge.sum() / 3))


@pytest.mark.parametrize("reference", [Enumeration, Textbook])
def test_references_say_which_structures_they_know(reference: Callable[[Potentials], Any]) -> None:
    with pytest.raises(TypeError, match="BackwardsPotentials has no"):
        reference(both(3)[0].sequence(0))
