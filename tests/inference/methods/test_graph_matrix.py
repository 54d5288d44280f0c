"""Every method of the registry x shapes of graphs x queries, against all labelings one by one.

A method has a line in `LINES`: on which shapes its answer to a query is exact, and on which it is an answer
that may be wrong. Everything else it must refuse with a `MethodError`. Whatever it answers, what it says of
its answer (`.info`: exact, bounds) must be true. A method without a line fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from crfkit import inference
from crfkit.errors import InfeasibleError, MethodError
from crfkit.inference.methods import Enumeration
from crfkit.inference.methods.registry import METHODS, method_of
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import cycle, grid, pairwise, random_graph, tree_graph

SHAPES: dict[str, Callable[[np.random.Generator], GraphPotentials]] = {
    "forest": lambda rng: tree_graph(rng, 6, 3),
    "forbidding forest": lambda rng: tree_graph(rng, 6, 3, forbidden=0.2),
    "cycle": lambda rng: cycle(rng, 5, 3),
    "grid": lambda rng: grid(rng, 3, 3, 2),
    "attractive grid": lambda rng: grid(rng, 3, 4, 2, pair=[[0.7, 0.0], [0.0, 0.4]]),
    "forbidding grid": lambda rng: grid(rng, 3, 3, 2, forbidden=0.15),
    "dense": lambda rng: pairwise(rng, 5, list(combinations(range(5), 2)), 3),
    "components": lambda rng: random_graph(rng, variables=6, arity=2, labels=(2, 3), graphs=4, forbidden=0.0),
    "arity 3": lambda rng: random_graph(rng, variables=6, arity=3, graphs=3, labels=(2, 4), forbidden=0.05),
    "arity 4": lambda rng: random_graph(rng, variables=7, arity=4, graphs=3, labels=(2, 3), cliques=6),
    "no labeling": lambda rng: cycle(rng, 3, 2, pair=[[-np.inf, 0.0], [0.0, -np.inf]]),
}
ALL = frozenset(SHAPES)
FORESTS = frozenset({"forest", "forbidding forest"})
SOME = ALL - {"no labeling"}  # where a search without a proof cannot say that there is none
PAIRS = ALL - {"arity 3", "arity 4"}
QUERIES = ("log_partition", "marginals", "entropy", "decode", "kbest", "sample", "count")
SUMS = QUERIES[:3]


@dataclass(frozen=True)
class Line:
    """What a method is expected to do: query -> shapes. Elsewhere it refuses with a `MethodError`."""

    exact: Mapping[str, frozenset[str]] = field(default_factory=dict)
    inexact: Mapping[str, frozenset[str]] = field(default_factory=dict)


def every(queries: tuple[str, ...], shapes: frozenset[str]) -> dict[str, frozenset[str]]:
    return dict.fromkeys(queries, shapes)


EXACT = Line(every(QUERIES, ALL))

#: One line for each method; a method may be listed under the name of the registry only once.
LINES: dict[str, Line] = {
    "auto": EXACT,
    "elimination": EXACT,
    "enumeration": EXACT,
    "belief-propagation": Line(every((*SUMS, "decode"), FORESTS), every((*SUMS, "decode"), ALL)),
    "tree-reweighted": Line(every(SUMS, FORESTS), every(SUMS, ALL)),
    "trws": Line({"decode": FORESTS | {"attractive grid"}}, {"decode": SOME}),
    "dual": Line({"decode": FORESTS}, {"decode": SOME}),
    "icm": Line({}, {"decode": SOME - {"forbidding grid"}}),
    "lp": Line({"decode": FORESTS | {"attractive grid"}}, {"decode": SOME}),
    "ilp": Line({"decode": ALL}),
    "combilp": Line({"decode": ALL}),
    "annealing": Line(inexact={"decode": ALL}),
    "gibbs": Line(inexact=every(("marginals", "sample"), ALL)),
    "tree-ep": Line(every(SUMS, FORESTS), every(SUMS, ALL)),
    "mean-field": Line(inexact=every(SUMS, ALL)),
    "min-cut": Line({"decode": frozenset({"attractive grid", "components"})}),
    "qpbo": Line(
        {"decode": frozenset({"attractive grid"})},
        {"decode": frozenset({"grid", "forbidding grid", "components", "no labeling"})},
    ),
    "expansion": Line(inexact={"decode": PAIRS - {"forbidding grid", "no labeling"}}),
    "swap": Line(inexact={"decode": PAIRS - {"forbidding grid", "no labeling"}}),
    "ishikawa": Line({"decode": frozenset({"attractive grid"})}),
}


@cache
def made(shape: str) -> GraphPotentials:
    return SHAPES[shape](np.random.default_rng(list(shape.encode())))


@cache
def truth(shape: str, query: str) -> Any:
    return ask(shape, query, "enumeration")


def ask(shape: str, query: str, method: str) -> Any:
    """Return the answer; None where the graph has no labeling and the query says so."""
    options: dict[str, Any] = {"kbest": {"k": 5}, "sample": {"n": 400, "seed": 3}}.get(query, {})
    given = method_of(method)
    try:
        return getattr(inference, query)(made(shape), method=given, threads=1, **options)
    except InfeasibleError:
        return None


def test_every_method_has_a_line() -> None:
    assert set(LINES) == set(METHODS)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_answers_or_refuses(method: str, shape: str, query: str) -> None:
    line = LINES[method]
    exact = shape in line.exact.get(query, ())
    if not exact and shape not in line.inexact.get(query, ()):
        never = query not in {**line.exact, **line.inexact}
        with pytest.raises(MethodError, match=f"{method} cannot" if never else None):
            ask(shape, query, method)
        return
    answer, right = ask(shape, query, method), truth(shape, query)
    if right is None or answer is None:
        assert not exact or (answer is None and right is None)
        return
    CHECKS[query](made(shape), answer, right, exact)


def close(value: Any, right: Any, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(value, right, rtol=1e-9, atol=atol)


def truthful(how: Any, value: Any, right: Any, exact: bool) -> None:
    """Where an answer says that it is exact it is, and its bounds hold."""
    got, true = np.atleast_1d(np.asarray(value)), np.atleast_1d(np.asarray(right))
    assert not np.isnan(got).any()
    claimed = how.exact | exact
    assert not exact or how.exact.all()
    close(got[claimed], true[claimed])
    assert (how.lower <= true + 1e-9).all()
    assert (true <= how.upper + 1e-9).all()


def log_partition(potentials: GraphPotentials, answer: Any, right: Any, exact: bool) -> None:
    truthful(answer.info, answer, right, exact)


def entropy(potentials: GraphPotentials, answer: Any, right: Any, exact: bool) -> None:
    assert not np.isnan(answer).any()
    if exact:
        close(answer, right)


def marginals(potentials: GraphPotentials, answer: Any, right: Any, exact: bool) -> None:
    if exact or not np.isnan(answer.log_partition).all():  # nan: a method that does not estimate log Z
        truthful(answer.info, answer.log_partition, right.log_partition, exact)
    for kind, node in answer.node.items():
        close(np.sum(node, axis=1), 1.0, 1e-6)
        if exact:
            close(node, right.node[kind])
    for name, table in answer.clique.items():
        assert not np.isnan(table).any()
        if exact:
            close(table, right.clique[name])


def decode(potentials: GraphPotentials, answer: Any, right: Any, exact: bool) -> None:
    truthful(answer.info, answer.score, right.score, exact)
    close(answer.score, inference.score(potentials, answer))
    assert (np.asarray(answer.score) <= np.asarray(right.score) + 1e-9).all()


def kbest(potentials: GraphPotentials, answer: Any, right: Any, exact: bool) -> None:
    close(answer.score, right.score)
    rows = np.column_stack([np.asarray(labels) for labels in answer.labels.values()])
    scored(potentials, answer)
    if potentials.single:
        there = rows[np.asarray(answer.score) > -np.inf]
        assert len(np.unique(there, axis=0)) == len(there)


def sample(potentials: GraphPotentials, answer: Any, right: Any, exact: bool) -> None:
    scored(potentials, answer)
    if not exact:
        return
    node = inference.marginals(potentials, method=Enumeration()).node
    for kind, p in node.items():
        drawn = np.stack([(answer[kind] == label).mean(axis=0) for label in range(p.shape[1])], axis=1)
        assert (np.abs(drawn - p) <= 5.0 * np.sqrt(p * (1.0 - p) / len(answer[kind])) + 1e-12).all()


def scored(potentials: GraphPotentials, answer: Any) -> None:
    """The scores of several labelings are theirs."""
    for i, score in enumerate(np.asarray(answer.score)):
        each = np.atleast_1d(score)
        labels = {kind: rows[i] for kind, rows in answer.labels.items()}
        if (each > -np.inf).all():
            close(each, inference.score(potentials, labels))


def count(potentials: GraphPotentials, answer: Any, right: Any, exact: bool) -> None:
    assert answer == right


CHECKS = {one.__name__: one for one in (log_partition, marginals, entropy, decode, kbest, sample, count)}


def test_the_comparison_can_fail() -> None:
    right = truth("cycle", "log_partition")
    other = Enumeration().log_partition(replace(made("cycle"), constant=np.array([1e-6])), 1)
    with pytest.raises(AssertionError):
        truthful(other[1], other[0], right, True)
