"""Every structure x every query x {auto, log} x {one sequence, batch} against independent answers.

Driven by registries: the cases of `tests.cases.potentials` and the checks of `tests.cases.answers`. A new
public query or structure without a member there fails here.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache

import numpy as np
import pytest
from hypothesis import given

from crfkit import inference, structures
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.tree import TreePotentials
from tests.cases.answers import CHECKS, Answers, Space, assert_parts, expected
from tests.cases.potential_cases import ENUMERABLE, SWEPT
from tests.cases.potentials import Case, Potentials, chain, problems

SPACES: tuple[Space, ...] = ("auto", "log")
#: Queries that sum probabilities; the others know only one space.
SUMS = {"log_partition", "entropy", "marginals", "sample", "log_prob"}
#: Names of graphs, whose matrix is methods x shapes x queries: tests/inference/methods/test_graph_matrix.py.
GRAPHS = {"Clique", "Graph", "GraphBatch", "Table"}


def query_of(check: str) -> str:
    """`marginals_by_position` checks `marginals`."""
    return max((q for q in inference.__all__ if check.startswith(q)), key=len, default="")


def spaced_checks() -> list[tuple[str, Space]]:
    return [
        (check, space) for check in CHECKS for space in SPACES if space == "auto" or query_of(check) in SUMS
    ]


@cache
def prepared(case: Case) -> tuple[Potentials, list[Answers]]:
    batch = case.make()
    return batch, expected(batch, "enumeration" if case in ENUMERABLE else "textbook")


def of_case(case: Case) -> str:
    return f"{case.structure}-{case.name}"


def test_every_query_and_every_structure_has_a_check() -> None:
    queries = {name for name in inference.__all__ if inspect.isfunction(getattr(inference, name))}
    elsewhere = {"constrained", "marginal_map"}  # test_constrained.py, test_marginal_map.py
    assert {query_of(check) for check in CHECKS} == queries - elsewhere
    other = ("Potentials", "Structure", "STRUCTURES")
    classes = {name for name in structures.__all__ if not name.endswith(other)} - GRAPHS
    for cases in (ENUMERABLE, SWEPT):
        assert {case.structure for case in cases} == classes
        assert len({of_case(case) for case in cases}) == len(cases)
    for query in queries:
        parameters = inspect.signature(getattr(inference, query)).parameters
        assert ("space" in parameters) == (query in SUMS)


@pytest.mark.parametrize(("check", "space"), spaced_checks())
@pytest.mark.parametrize("case", [*ENUMERABLE, *SWEPT], ids=of_case)
def test_batch(case: Case, check: str, space: Space) -> None:
    batch, answers = prepared(case)
    CHECKS[check](batch, answers, space)


@pytest.mark.parametrize(("check", "space"), spaced_checks())
@pytest.mark.parametrize("case", [*ENUMERABLE, *SWEPT], ids=of_case)
def test_single(case: Case, check: str, space: Space) -> None:
    _, answers = prepared(case)
    for answer in answers[:5]:
        CHECKS[check](answer.potentials, [answer], space)


@pytest.mark.parametrize("case", ENUMERABLE, ids=of_case)
def test_textbook_agrees_with_enumeration(case: Case) -> None:
    batch, answers = prepared(case)
    for answer, other in zip(answers, expected(batch, "textbook"), strict=True):
        assert other.log_partition == pytest.approx(answer.log_partition, rel=1e-12, abs=1e-12)
        assert other.count == answer.count
        assert other.best_score == pytest.approx(answer.best_score, rel=1e-12, abs=1e-12)
        assert other.kbest_scores(7) == pytest.approx(answer.kbest_scores(7), rel=1e-9)
        margin = 1e-11 + 1e-12 * answer.magnitude
        assert other.entropy == pytest.approx(answer.entropy, rel=1e-9, abs=margin)
        for by_position in (False, True):
            if by_position and isinstance(answer.parts("marginals", False).edge, tuple):
                continue
            for query in ("marginals", "reachable"):
                assert_parts(other.parts(query, by_position), answer.parts(query, by_position))


@given(problems())
def test_drawn_problems(batch: Potentials) -> None:
    answers = expected(batch)
    for check, space in spaced_checks():
        CHECKS[check](batch, answers, space)


@given(problems())
def test_drawn_single_problems(batch: Potentials) -> None:
    for answer in expected(batch):
        for check, space in spaced_checks():
            CHECKS[check](answer.potentials, [answer], space)


def perturbed(batch: Potentials, label: int) -> Potentials:
    """Add 1e-6 to one score: that of a label at the first position."""
    if isinstance(batch, TreePotentials):
        first = batch.node[0] + 0.0
        first[label] += 1e-6
        return dataclasses.replace(batch, node=(first, *batch.node[1:]))
    if isinstance(batch, ChainPotentials):
        node = batch.node + 0.0
        node[0, label] += 1e-6
        return dataclasses.replace(batch, node=node)
    segment = batch.segment + 0.0
    segment[0, :, label] += 1e-6
    return dataclasses.replace(batch, segment=segment)


SIZE_MATTERS = [c for c in CHECKS if query_of(c) not in ("count", "reachable", "sample")]


@pytest.mark.parametrize("check", SIZE_MATTERS)
@pytest.mark.parametrize("name", ["order 1", "D = 3", "random"])
def test_the_comparison_can_fail(name: str, check: str) -> None:
    """Answers for scores that differ by 1e-6 in one place are not the answers."""
    batch = next(case for case in ENUMERABLE if case.name == name).make()
    answers = expected(batch)
    CHECKS[check](batch, answers, "auto")
    other = perturbed(batch, int(inference.decode(batch)[0].labels[0]))
    with pytest.raises(AssertionError):
        CHECKS[check](other, answers, "auto")


@pytest.mark.parametrize("check", ["count", "reachable", "reachable_by_position", "sample"])
def test_the_comparison_of_supports_can_fail(check: str) -> None:
    batch = chain(np.random.default_rng(0), 3, (3, 2))
    smaller = dataclasses.replace(batch, node=batch.node.copy())
    smaller.node[0, inference.sample(batch, 3, seed=5)[0][0].labels[0]] = -np.inf
    CHECKS[check](smaller, expected(smaller), "auto")
    with pytest.raises(AssertionError):
        CHECKS[check](batch, expected(smaller), "auto")
