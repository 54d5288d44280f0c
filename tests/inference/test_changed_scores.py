"""Scores that somebody changes after they were checked: an answer or a ValueError, and labels that exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Graph, inference
from crfkit.arrays import Floats
from crfkit.inference.methods.registry import METHODS
from crfkit.native import kernels
from tests.cases.potential_cases import ENUMERABLE, SWEPT
from tests.cases.potentials import Case
from tests.cases.queries import QUERIES, flat

ODD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0)


def arrays_of(given: Any) -> Iterator[Floats]:
    """Yield the arrays of scores that potentials refer to."""
    for field in fields(given):
        part = getattr(given, field.name)
        for array in part if isinstance(part, list | tuple) else [part]:
            if isinstance(array, np.ndarray) and array.dtype == np.float64 and array.size:
                yield array


def spoil(given: Any, rng: np.random.Generator) -> None:
    """Write odd numbers into some cells, a row or a whole array of scores."""
    arrays = list(arrays_of(given))
    array = arrays[rng.integers(len(arrays))]
    how, odd = rng.integers(3), rng.choice(ODD)
    if how == 0:
        array[...] = odd
    elif how == 1:
        array[rng.integers(len(array))] = odd
    else:
        array.reshape(-1)[rng.integers(0, array.size, 3)] = rng.choice(ODD, 3)


@pytest.mark.parametrize("case", [*ENUMERABLE, *SWEPT], ids=lambda case: case.name)
def test_every_query(case: Case) -> None:
    for seed in range(3):
        given: Any = case.make(seed)
        _ = given.problem
        if any(True for _ in arrays_of(given)):
            spoil(given, np.random.default_rng(seed))
        labels = len(given.structure.labels) if hasattr(given.structure, "labels") else 1 << 20
        for query in QUERIES.values():
            try:
                answer = flat(query(given))
            except ValueError:
                continue
            for part in answer:
                if isinstance(part, np.ndarray) and part.dtype == np.int32:
                    assert (part < labels).all()


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("L", [13, 14, 17, 33, 61])
def test_padding_is_not_a_label(L: int, listed: bool) -> None:
    """Vectors are longer than rows of labels: what lies beyond is never chosen, not even before nan."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        node, edge = rng.normal(size=(9, L)), rng.normal(size=(L, L))
        if listed:
            edge[:, 1:] = 0.5
        given = Chain(L).potentials(node, edge)
        problem = given.problem
        [node[rng.integers(9)], edge, edge[rng.integers(L)]][seed % 3][...] = np.nan
        for threads in (1, 2):
            path = kernels.best(problem, threads)[1]
            assert ((path >= -1) & (path < L)).all()


def test_scores_of_nan_are_refused() -> None:
    node = np.zeros((3, 2))
    given = Chain(2).potentials(node)
    _ = given.problem
    node[1] = np.nan
    for query in ("entropy", "decode", "posterior", "sample"):
        with pytest.raises(ValueError, match="sequence 0"):
            QUERIES[query](given)
    for ask in (inference.score, inference.log_prob):
        with pytest.raises(ValueError, match="sequence 0: its scores overflow"):
            ask(given, [0, 0, 0])


@pytest.mark.parametrize("method", METHODS)
def test_graphs(method: str) -> None:
    """Also where bounds become nan, which no search may wait for."""
    graph = Graph({"t": 2}, word=["t"], step=["t", "t"])
    batch = graph.batch(sizes={"t": 3}, scopes={"step": [[0, 1], [1, 2], [0, 2]]})
    for i, odd in enumerate(ODD):
        node, step = np.random.default_rng(i).normal(size=(3, 2)), np.ones((2, 2))
        given = batch.potentials(word=node, step=step)
        inference.decode(given)  # checks the scores
        node[...] = odd
        if i != 2:
            step[...] = odd
        for query in (inference.decode, inference.log_partition, inference.marginals):
            try:
                with np.errstate(all="ignore"):  # numbers may be odd, labels may not
                    answer = query(given, method=method)
            except ValueError:
                continue
            labels = getattr(answer, "labels", {"t": np.zeros(1)})["t"]
            assert ((labels >= -1) & (labels < 2)).all()
