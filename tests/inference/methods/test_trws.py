"""TRW-S, dual decomposition and ICM: bounds that hold and never rise, labels that are what they score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.arrays import Floats
from crfkit.errors import InfeasibleError, MethodError
from crfkit.inference.methods import ICM, TRWS, DualDecomposition
from crfkit.inference.methods.ascent import visits_of
from crfkit.inference.methods.enumeration import Enumeration
from crfkit.inference.methods.method import Labeled, Method
from crfkit.structures import Table
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import chain_graph, grid, labeling, pairwise, random_graph, tree_graph

RELAXED: list[Any] = [TRWS(), DualDecomposition()]


def graphs(seeds: range) -> list[GraphPotentials]:
    return [
        random_graph(np.random.default_rng(seed), arity=4, factors=5, forbidden=0.1 * (seed % 2))
        for seed in seeds
    ]


def check(found: Labeled, potentials: GraphPotentials, best: Any) -> None:
    """Labels have the score that is said; score <= optimum <= bound; exact ones are."""
    score, upper = found.score[0], found.info.upper
    some = score > -np.inf
    label = np.where(found.label[0] < 0, 0, found.label[0])
    np.testing.assert_allclose(potentials.labeling_score(label)[some], score[some], rtol=1e-12)
    assert (score <= best + 1e-9).all()
    assert (upper >= best - 1e-9).all()
    np.testing.assert_allclose(score[found.info.exact], best[found.info.exact], rtol=1e-9)


@pytest.mark.parametrize("method", RELAXED, ids=str)
def test_labels_and_bound_bracket_the_optimum(method: Method) -> None:
    exact = total = 0
    for potentials in graphs(range(100)):
        best = Enumeration().best(potentials, 1).score[0]
        try:
            found = method.best(potentials, 1)
        except MethodError as error:
            if "found no allowed labeling" not in str(error):
                raise
            continue
        check(found, potentials, best)
        exact, total = exact + int(found.info.exact.sum()), total + len(best)
    assert exact > 0.6 * total
    assert total > 190


@pytest.mark.parametrize("forests", [False, True])
def test_the_bound_holds_and_never_rises(forests: bool) -> None:
    for potentials in graphs(range(200, 280)):
        best = Enumeration().best(potentials, 1).score[0]
        visits, last = visits_of(potentials, forests=forests), np.full(len(best), np.inf)
        everywhere = np.ones(len(best), dtype=np.uint8)
        for _ in range(8):
            visits.sweep(everywhere, False, 1)
            bound = visits.bound()
            assert (bound <= last + 1e-9).all()
            assert (bound >= best - 1e-9).all()
            last = bound


@pytest.mark.parametrize("method", RELAXED, ids=str)
def test_forests_are_solved_exactly(method: Method) -> None:
    for seed in range(40):
        potentials = tree_graph(np.random.default_rng(seed), 8, 3, forbidden=0.1 * (seed % 2))
        best = Enumeration().best(potentials, 1).score[0]
        found = method.best(potentials, 1)
        assert found.info.exact.all()
        check(found, potentials, best)


def potts(rng: np.random.Generator, labels: int) -> Floats:
    return np.where(np.eye(labels, dtype=bool), rng.uniform(0.1, 1.0, size=(3, 1, labels)), 0.0)


def truncated(rng: np.random.Generator, labels: int) -> Floats:
    far = np.abs(np.arange(labels)[:, None] - np.arange(labels))
    slope, cap = rng.uniform(0.05, 0.3, size=(2, 3, 1, 1))
    return np.asarray(-np.minimum(slope * far, 5.0 * cap))


@pytest.mark.parametrize("labels", [2, 3, 5, 21, 70])
@pytest.mark.parametrize("form", [potts, truncated])
@pytest.mark.parametrize("scaled", [False, True])
def test_tables_with_a_form_have_the_bound_of_general_ones(labels: int, form: Any, scaled: bool) -> None:
    rng = np.random.default_rng(labels)
    scope = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]
    graph = Graph({"p": labels}, look=["p"], pair=["p", "p"])
    batch = graph.batch(sizes={"p": 4}, scopes={"pair": scope})
    look, scale = rng.normal(size=(4, labels)), rng.uniform(size=5) if scaled else None
    tables = form(rng, labels)
    almost = tables + np.where(np.arange(labels)[:, None] > np.arange(labels), 1e-13, 0.0)
    values = []
    for table in (tables, almost):
        visits = visits_of(batch.potentials(look=look, pair=Table(table, [0, 1, 2, 1, 0], scale)))
        for _ in range(5):
            visits.sweep(np.ones(1, dtype=np.uint8), True, 1)
        values.append(visits.bound()[0])
    assert values[0] == pytest.approx(values[1], rel=1e-10)


def test_an_attractive_grid_is_solved_exactly() -> None:
    rng = np.random.default_rng(0)
    potentials = grid(rng, 12, 15, 2, pair=np.eye(2))
    found = TRWS().best(potentials, 1)
    assert found.info.exact.all()
    assert DualDecomposition(tol=0.0, sweeps=500).best(potentials, 1).score[0] == pytest.approx(
        found.score[0]
    )


@pytest.mark.parametrize("method", [TRWS(sweeps=12), DualDecomposition(sweeps=5), ICM(restarts=2)], ids=str)
def test_same_bits_for_any_number_of_threads(method: Method) -> None:
    potentials = grid(np.random.default_rng(1), 70, 80, 6, strength=0.7)
    one, three = method.best(potentials, 1), method.best(potentials, 3)
    np.testing.assert_array_equal(one.label, three.label)
    np.testing.assert_array_equal(one.score, three.score)
    np.testing.assert_array_equal(one.info.upper, three.info.upper)


def test_a_graph_that_forbids_everything_has_no_labeling() -> None:
    never = np.full((2, 2), -np.inf)
    potentials = Graph.from_factors([2, 2, 3], [([0, 1], never), ([1, 2], np.zeros((2, 3)))])
    for method in RELAXED:
        found = method.best(potentials, 1)
        assert found.score[0, 0] == -np.inf
        assert found.info.exact.all()
        assert (found.label == -1).all()
        with pytest.raises(InfeasibleError):
            inference.decode(potentials, method=method)
    with pytest.raises(MethodError, match="icm found no allowed labeling of graph 0"):
        ICM().best(potentials, 1)


def test_sweeps_that_are_over_are_said() -> None:
    potentials = grid(np.random.default_rng(2), 10, 10, 3, strength=2.0)
    short = TRWS(sweeps=1).best(potentials, 1)
    assert not short.info.converged.any()
    assert short.info.sweeps.tolist() == [1]
    long = TRWS(tol=1e-4).best(potentials, 1)
    assert long.info.converged.all()
    assert long.info.upper[0] <= short.info.upper[0]


def test_icm_is_never_below_its_start() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        potentials = random_graph(rng, arity=4, factors=4, forbidden=0.0)
        start = labeling(rng, potentials)
        begun = np.asarray(inference.score(potentials, start))
        found = ICM(start=start).best(potentials, 1)
        assert (found.score[0] >= begun - 1e-12).all()
        assert (ICM(start=start, restarts=3).best(potentials, 1).score[0] >= found.score[0]).all()
        one = found.label[0].copy()
        for v in range(potentials.batch.variables):  # no single change is better
            for x in range(potentials.batch.width[v]):
                one[v] = x
                assert (potentials.labeling_score(one) <= found.score[0] + 1e-9).all()
            one[v] = found.label[0, v]


def test_icm_finds_its_way_out_of_what_is_forbidden() -> None:
    differ = np.where(np.eye(3, dtype=bool), -np.inf, 0.0)
    potentials = pairwise(np.random.default_rng(0), 12, [[i, i + 1] for i in range(11)], 3, pair=differ)
    found = ICM(start={"node": np.zeros(12, dtype=np.int64)}).best(potentials, 1)
    assert found.score[0, 0] > -np.inf


def test_icm_starts_from_labels_of_what_is_not_observed() -> None:
    same = 10.0 * np.eye(2)
    potentials = chain_graph(np.random.default_rng(0), 4, 2, pair=same, strength=0.01)
    given = potentials.given({"node": [-1, 1, -1, -1]})
    found = inference.decode(given, method=ICM(start={"node": [0, 0, 1, 1]}))
    assert found["node"].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TRWS(sweeps=0), "sweeps is 0, expected 1 or more"),
        (lambda: TRWS(tol=-1.0), "tol is -1.0, expected 0 or more"),
        (lambda: DualDecomposition(sweeps=0), "sweeps is 0, expected 1 or more"),
        (lambda: ICM(restarts=-1), "restarts is -1, expected 0 or more"),
    ],
)
def test_bad_options_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_starts_are_refused() -> None:
    potentials = chain_graph(np.random.default_rng(0), 3, 2)
    with pytest.raises(MethodError, match=r"icm: start: labels\['node'\] must be 3 label ids"):
        ICM(start={"node": [0, 1]}).best(potentials, 1)
    with pytest.raises(MethodError, match="icm: start: 'nod' is not a kind"):
        ICM(start={"nod": [0, 1, 0]}).best(potentials, 1)


def test_too_many_forests_are_refused() -> None:
    star = pairwise(np.random.default_rng(0), 400, [[0, leaf] for leaf in range(1, 400)], 2)
    with pytest.raises(MethodError, match=r"needs more than 256 forests.*use method=TRWS\(\)"):
        DualDecomposition().best(star, 1)
    assert TRWS().best(star, 1).info.exact.all()


def test_graphs_without_variables_or_factors() -> None:
    empty = Graph({"a": 2}).batch(sizes={"a": 0}).potentials()
    lonely = Graph({"a": 2}).batch(sizes={"a": 3}).potentials()
    for method in (*RELAXED, ICM()):
        assert method.best(empty, 1).score.tolist() == [[0.0]]
        assert method.best(lonely, 2).label.tolist() == [[0, 0, 0]]
