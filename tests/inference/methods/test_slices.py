"""Sequences of slices in lanes give the counts of marginals of factors, or leave components to these."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from crfkit import Graph
from crfkit.graphs import scopes
from crfkit.inference.methods import Auto, Elimination, Enumeration
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.slices import slices_of
from crfkit.structures.graphs.potentials import GraphPotentials, Table

WIDTHS = {"a": 2, "b": 3, "c": 4}


def lengths(rng: np.random.Generator, graphs: int) -> Any:
    """Return pointers of graphs of 1 to 9 slices."""
    return np.concatenate([[0], np.cumsum(rng.integers(1, 10, graphs))])


def case(
    kinds: str = "ab",
    *,
    graphs: int = 30,
    spread: float = 1.0,
    seed: int = 0,
    ends: bool = False,
    skips: int = 0,
) -> GraphPotentials:
    """Return factorial chains over some kinds, each joined to the next one; some have skip edges."""
    rng = np.random.default_rng(seed)
    ptr = lengths(rng, graphs)
    P, step = int(ptr[-1]), scopes.chain(ptr)
    cliques: dict[str, Any] = {}
    where: dict[str, Any] = {}
    for kind in kinds:
        cliques |= {f"word {kind}": [kind], f"step {kind}": [kind, kind]}
        where[f"step {kind}"] = step
    for one, other in itertools.pairwise(kinds):
        cliques[f"{one}{other}"] = [other, one]
    if ends:
        cliques["begin"] = [kinds[0]]
        where["begin"] = ptr[:-1, None]
    if skips:
        cliques["skip"] = [kinds[0], kinds[0]]
        long = np.flatnonzero(np.diff(ptr) > 2)[:skips]
        where["skip"] = np.stack([ptr[long], ptr[long] + 2], axis=1)
    graph = Graph({kind: WIDTHS[kind] for kind in kinds}, **cliques)
    batch = graph.batch(graph_ptr=ptr, scopes=where)
    tables: dict[str, Any] = {}
    for name in cliques:
        rows = P if name.startswith("word") else 1
        tables[name] = spread * rng.normal(size=(rows, *graph.shape(name)))
    return batch.potentials(**tables)


def check(potentials: GraphPotentials, *, components: int, method: Method | None = None) -> None:
    """Compare with marginals of each factor, for weights of both signs and 0."""
    method = method or Elimination()
    found = slices_of(potentials, 2**20)
    assert (0 if found is None else found.plan.components) == components
    weight = np.random.default_rng(1).normal(size=potentials.batch.graphs)
    weight[::7] = 0.0
    answer = method.expected(potentials, weight, 2)
    wanted = Method.expected(Elimination(lanes=False), potentials, weight, 2)
    np.testing.assert_allclose(answer.value, wanted.value, rtol=1e-12, atol=1e-12)
    for name, table in wanted.by_score.items():
        assert answer.by_score[name].shape == potentials.tables[name].scores.shape
        np.testing.assert_allclose(answer.by_score[name], table, rtol=1e-10, atol=1e-11, err_msg=name)
    assert answer.info.exact.all()
    assert (answer.info.cells > 0).all()


@pytest.mark.parametrize("kinds", ["a", "c", "ab", "cb", "abc", "cab"])
@pytest.mark.parametrize("method", [Elimination(), Auto()])
def test_factorial_chains(kinds: str, method: Method) -> None:
    """Any number of chains, in any order of widths; single slices go with the others."""
    check(case(kinds), components=30, method=method)


def test_against_enumeration() -> None:
    """All labelings of short graphs, added up."""
    potentials = case("ab", seed=3)
    short = np.flatnonzero(np.bincount(potentials.batch.graph_of) <= 8)
    from crfkit.structures.graphs.parts import part_of

    some = part_of(potentials.batch, short).potentials(potentials)
    weight = np.arange(1.0, 1.0 + len(short))
    answer, wanted = (m.expected(some, weight, 2) for m in (Elimination(), Enumeration()))
    assert slices_of(some, 2**20) is not None
    np.testing.assert_allclose(answer.value, wanted.value, rtol=1e-12)
    for name in wanted.by_score:
        np.testing.assert_allclose(answer.by_score[name], wanted.by_score[name], rtol=1e-10, atol=1e-12)


def test_factors_of_some_slices() -> None:
    """A clique that only the first slices have."""
    check(case("ab", ends=True), components=30)


def test_other_components_are_left_to_elimination() -> None:
    """Graphs with skip edges are not sequences of slices; the others are."""
    potentials = case("ab", skips=5)
    check(potentials, components=25)
    assert Elimination().pools(potentials).sum() == 25


def test_too_few_alike() -> None:
    """Lanes would be empty."""
    check(case("ab", graphs=7), components=0)


def test_tables_of_factors() -> None:
    """Tables that some factors share, scales, and one table for all words."""
    rng = np.random.default_rng(5)
    plain = case("ab", ends=True)
    tables = dict(plain.tables)
    rungs = len(plain.batch.scopes["ab"])
    tables["ab"] = Table(rng.normal(size=(4, 3, 2)), rng.integers(0, 4, rungs).astype(np.int32))
    tables["word a"] = Table(rng.normal(size=(1, 2)), None, rng.random(rungs))
    tables["word b"] = Table(rng.normal(size=(1, 3)))
    check(GraphPotentials(plain.batch, tables), components=30)
    tables["step a"] = Table(rng.normal(size=(1, 2, 2)), None, rng.random(len(plain.batch.scopes["step a"])))
    check(GraphPotentials(plain.batch, tables), components=0)


@pytest.mark.parametrize("spread", [20.0, 200.0, 1e4])
def test_wide_ranges_are_exact(spread: float) -> None:
    """Graphs whose numbers would underflow are summed elsewhere."""
    check(case("ab", spread=spread), components=30)


@pytest.mark.parametrize("spread", [1.0, 60.0])
def test_forbidden_parts(spread: float) -> None:
    """Steps, pairs and labels that cannot be."""
    potentials = case("cb", spread=spread)
    tables = dict(potentials.tables)
    for name, cell in (("step c", (0, 1, 2)), ("cb", (0, 0, 0)), ("word b", (5, 1)), ("step b", (0, 2, 2))):
        scores = tables[name].scores.copy()
        scores[cell] = -np.inf
        tables[name] = Table(scores)
    check(GraphPotentials(potentials.batch, tables), components=30)


def test_graph_without_a_labeling() -> None:
    """Its log Z is -inf; the others have their counts."""
    potentials = case("ab")
    scores = potentials.tables["word a"].scores.copy()
    scores[0] = -np.inf
    tables = {**potentials.tables, "word a": Table(scores)}
    answer = Elimination().expected(GraphPotentials(potentials.batch, tables), np.ones(30), 1)
    assert np.isneginf(answer.value).tolist() == [True, *[False] * 29]


def test_same_bits_on_any_number_of_threads() -> None:
    """Blocks depend on the data only."""
    potentials, weight = case("abc", graphs=120), np.linspace(-1.0, 2.0, 120)
    one, three = (Elimination().expected(potentials, weight, threads) for threads in (1, 3))
    assert np.array_equal(one.value, three.value)
    for name in one.by_score:
        assert np.array_equal(one.by_score[name], three.by_score[name])


def test_constants_of_graphs() -> None:
    """What every labeling scores."""
    plain = case("a")
    constant = np.arange(30.0)
    moved = GraphPotentials(plain.batch, plain.tables, constant)
    weight = np.ones(30)
    one, other = (Elimination().expected(p, weight, 1) for p in (plain, moved))
    np.testing.assert_allclose(other.value - one.value, constant, atol=1e-12)
