"""Linear and integer programs and CombiLP: the optimum, bounds, constraints, and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import InfeasibleError, MethodError
from crfkit.inference.methods import TRWS, CombiLP, Enumeration, IntegerProgram, Linear, LinearProgram
from crfkit.inference.methods.ascent import ascend, visits_of
from crfkit.inference.methods.losses import losses_of
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.shrink import shrunk
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import cycle, grid, pairwise, random_graph

METHODS: list[Any] = [LinearProgram(), IntegerProgram(), CombiLP(shrink=0), CombiLP()]


def triangle(labels: int = 2, strength: float = 1.0) -> GraphPotentials:
    """Three variables that all want to differ: the relaxation says that they can."""
    differ = strength * (1.0 - np.eye(labels))
    return Graph.from_factors([labels] * 3, [([0, 1], differ), ([1, 2], differ), ([0, 2], differ)])


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_optimum_is_found_and_proved(method: Method) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        potentials = random_graph(rng, arity=4, factors=3, forbidden=0.15 * (seed % 2), labels=(2, 4))
        best = Enumeration().best(potentials, 1).score[0]
        found = method.best(potentials, 1)
        score, how = found.score[0], found.info
        assert (score <= best + 1e-9).all()
        assert (how.upper >= best - 1e-7).all()
        assert how.exact.all() or method == LinearProgram()
        np.testing.assert_allclose(score[how.exact], best[how.exact], rtol=1e-9)
        some = score > -np.inf
        label = np.where(found.label[0] < 0, 0, found.label[0])
        np.testing.assert_allclose(potentials.labeling_score(label)[some], score[some], rtol=1e-12)


def test_the_linear_program_is_at_least_as_tight_as_trws() -> None:
    for seed in range(10):
        potentials = cycle(np.random.default_rng(seed), 5, 3, strength=2.0)
        best = Enumeration().best(potentials, 1).score[0, 0]
        upper = LinearProgram().best(potentials, 1).info.upper[0]
        assert best - 1e-9 <= upper <= TRWS().best(potentials, 1).info.upper[0] + 1e-9


def test_losses_make_up_the_bound() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        potentials = random_graph(rng, arity=4, factors=4, forbidden=0.1)
        batch = potentials.batch
        visits = visits_of(potentials, both=True)
        ascend(visits, potentials, 5, 0.0, 1)
        losses = losses_of(visits, potentials)
        label = rng.integers(0, batch.width).astype(np.int32)
        lost = np.bincount(batch.graph_of, losses.node[batch.label_ptr[:-1] + label], minlength=batch.graphs)
        for name in losses.given:
            scope = batch.scopes[name]
            lost += np.bincount(batch.graph_of[scope[:, 0]], losses.of(name, label), minlength=batch.graphs)
        score = potentials.labeling_score(label)
        assert (np.isinf(lost) >= np.isinf(score)).all()
        some = np.isfinite(lost)
        np.testing.assert_allclose((losses.bound - lost)[some], score[some], rtol=1e-9, atol=1e-9)


def test_combilp_proves_a_frustrated_grid() -> None:
    potentials = grid(np.random.default_rng(3), 5, 5, 3, strength=1.0)
    trws = TRWS().best(potentials, 1)
    found = CombiLP(shrink=0).best(potentials, 1)
    assert CombiLP(shrink=30).best(potentials, 1).score[0, 0] == pytest.approx(found.score[0, 0])
    assert found.info.exact.all()
    assert trws.score[0, 0] <= found.score[0, 0] <= trws.info.upper[0]
    assert found.score[0, 0] == pytest.approx(IntegerProgram().best(potentials, 1).score[0, 0])


@pytest.mark.parametrize("most", [1, 8, 30, 10**6])
def test_what_is_shrunk_has_the_same_optimum(most: int) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        potentials = random_graph(rng, arity=4, factors=4, forbidden=0.1 * (seed % 2), single=True)
        small = shrunk(potentials, most)
        assert len(small.variables) <= potentials.batch.variables
        assert most < 10**6 or len(small.variables) == 0
        found, best = Enumeration().best(small.potentials, 1), Enumeration().best(potentials, 1)
        assert found.score[0, 0] == pytest.approx(best.score[0, 0], rel=1e-12)
        if best.score[0, 0] > -np.inf:
            whole = small.label(found.label[0])
            assert potentials.labeling_score(whole)[0] == pytest.approx(best.score[0, 0], rel=1e-12)


def test_a_hub_is_shrunk_in_time() -> None:
    star = pairwise(np.random.default_rng(0), 3000, [[0, leaf] for leaf in range(1, 3000)], 3)
    assert len(shrunk(star, 128).variables) == 0


def brute(potentials: GraphPotentials, constraints: list[Linear]) -> float:
    """Return the best score of the labelings of one graph that keep all constraints."""
    best, batch = -np.inf, potentials.batch
    for label in product(*(range(n) for n in batch.width)):
        sums = [
            sum(w for (kind, v, x), w in c.terms.items() if label[batch.kind_ptr[kind][0] + v] == x)
            for c in constraints
        ]
        if all(c.low <= s <= c.high for c, s in zip(constraints, sums, strict=True)):
            best = max(best, float(potentials.labeling_score(np.array(label))[0]))
    return best


def random_constraints(rng: np.random.Generator, potentials: GraphPotentials) -> list[Linear]:
    made = []
    for _ in range(2):
        terms = {}
        for kind, (first, last) in potentials.batch.kind_ptr.items():
            for v in range(last - first):
                if rng.random() < 0.7:
                    x = int(rng.integers(potentials.batch.width[first + v]))
                    terms[kind, v, x] = float(rng.integers(-2, 3))
        low = float(rng.integers(-2, 2))
        if terms:
            made.append(Linear(terms, low, low + float(rng.integers(0, 2))))
    return made


def test_constraints_are_kept_and_the_best_that_keeps_them_is_found() -> None:
    infeasible = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        potentials = random_graph(rng, variables=5, labels=(2, 3), single=True, forbidden=0.05)
        constraints = random_constraints(rng, potentials)
        wanted = brute(potentials, constraints)
        method = IntegerProgram(constraints=constraints)
        if wanted == -np.inf:
            infeasible += 1
            with pytest.raises(InfeasibleError):
                inference.decode(potentials, method=method)
            continue
        found = inference.decode(potentials, method=method)
        assert found.score == pytest.approx(wanted, rel=1e-9)
        assert found.info.exact.all()
    assert 2 < infeasible < 30


def test_constraints_name_variables_of_the_whole_graph() -> None:
    scores = pairwise(np.random.default_rng(0), 4, [[0, 1], [1, 2], [2, 3]], 2, pair=np.eye(2))
    given = scores.given({"node": [-1, 1, -1, -1]})
    two = Linear({("node", v, 1): 1.0 for v in range(4)}, 2.0, 2.0)
    found = inference.decode(given, method=IntegerProgram(constraints=[two]))
    assert found["node"][1] == 1
    assert found["node"].sum() == 2
    broken = Linear({("node", 1, 0): 1.0}, 1.0)
    with pytest.raises(MethodError, match="the observed labels break the constraint"):
        inference.decode(given, method=IntegerProgram(constraints=[broken]))


def test_constraints_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match=r"expected objects of crfkit\.inference\.methods\.Linear"):
        IntegerProgram(constraints=cast("Any", [{("a", 0, 0): 1.0}]))
    assert hash(IntegerProgram(constraints=[Linear({("a", 0, 0): 1.0})])) is not None


def test_constraints_of_one_graph_of_a_batch() -> None:
    graph = Graph({"a": 2}, look=["a"])
    scores = graph.batch(graph_ptr=[0, 2, 4]).potentials(look=[[0.0, 1.0]] * 4)
    one = Linear({("a", 2, 1): 1.0, ("a", 3, 1): 1.0}, high=1.0)
    found = inference.decode(scores, method=IntegerProgram(constraints=[one]))
    assert found.score.tolist() == [2.0, 1.0]
    across = Linear({("a", 1, 1): 1.0, ("a", 2, 1): 1.0}, high=1.0)
    with pytest.raises(MethodError, match="a constraint joins graphs 0 and 1"):
        inference.decode(scores, method=IntegerProgram(constraints=[across]))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_nothing_allowed_is_no_labeling(method: Method) -> None:
    never = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
    scores = Graph.from_factors([2] * 3, [([0, 1], never), ([1, 2], never), ([0, 2], never)])
    if method == LinearProgram():  # a fraction of every label is allowed
        with pytest.raises(MethodError, match="lp found no allowed labeling of graph 0"):
            method.best(scores, 1)
        return
    with pytest.raises(InfeasibleError):
        inference.decode(scores, method=method)


@pytest.mark.parametrize("method", [LinearProgram(columns=10), IntegerProgram(columns=10)], ids=str)
def test_too_many_columns_are_refused_with_their_number(method: Method) -> None:
    with pytest.raises(MethodError, match=r"a program of 32 columns would be needed, more than columns=10"):
        method.best(frustrated(), 1)


def test_combilp_says_why_it_has_no_proof() -> None:
    found = CombiLP(columns=10, shrink=2).best(frustrated(), 1)
    assert not found.info.converged.any()
    assert not found.info.exact.any()
    assert "graph 0 is not proved: a program of 32 columns would be needed" in str(found.info)


def frustrated() -> GraphPotentials:
    """Return four variables of which only two pairs can be different."""
    return Graph.from_factors([2] * 4, [([i, j], 1.0 - np.eye(2)) for i in range(4) for j in range(i)])


@pytest.mark.parametrize("method", [IntegerProgram(seconds=0.0), CombiLP(seconds=0.0)], ids=str)
def test_time_that_is_over_is_said(method: Method) -> None:
    potentials = grid(np.random.default_rng(0), 9, 9, 5, strength=3.0)
    found = method.best(potentials, 1)
    assert not found.info.converged.any()
    assert not found.info.exact.any()
    assert found.score[0, 0] <= found.info.upper[0]


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (("kind", 0, 0), "a constraint names kind 'kind'; the kinds are variable"),
        (("variable", 3, 0), "a constraint names variable 3 of kind 'variable', expected 0 to 2"),
        (("variable", 1, 2), "names label 2 of variable 1 of kind 'variable', expected 0 to 1"),
    ],
)
def test_constraints_on_what_is_not_there_are_refused(term: tuple[str, int, int], message: str) -> None:
    with pytest.raises(MethodError, match=message):
        IntegerProgram(constraints=[Linear({term: 1.0}, high=0.0)]).best(triangle(), 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear({}), "needs terms"),
        (lambda: Linear({("a", 0, 0): np.nan}), "finite"),
        (lambda: Linear({("a", 0, 0): 1.0}, 2.0, 1.0), "low is 2.0, above high"),
        (lambda: IntegerProgram(columns=0), "columns is 0"),
        (lambda: LinearProgram(sweeps=0), "sweeps is 0"),
        (lambda: CombiLP(tol=-1.0), "tol is -1.0"),
        (lambda: CombiLP(seconds=-1.0), "seconds is -1.0"),
    ],
)
def test_bad_options_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
