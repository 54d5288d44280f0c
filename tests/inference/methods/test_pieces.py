"""Components that are answered apart give the answers of whole graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crfkit.inference.methods import Enumeration
from crfkit.inference.methods.how import How
from crfkit.inference.methods.pieces import labeled_together, summed_together
from crfkit.structures.graphs.parts import components, part_of
from tests.cases.graphs import random_graph

EXACT = Enumeration()


@pytest.mark.parametrize("seed", range(20))
def test_together_as_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = random_graph(rng, graphs=4, variables=5, forbidden=0.4 * (seed % 2))
    split = components(whole.batch)
    apart = split.potentials(whole)
    chosen = rng.random(split.batch.graphs) < 0.5
    parts = [part_of(split.batch, chosen), part_of(split.batch, ~chosen)]
    summed = summed_together(
        whole, split, [(part, EXACT.marginals(part.potentials(apart), True, 1)) for part in parts]
    )
    right = EXACT.marginals(whole, True, 1)
    np.testing.assert_allclose(summed.value, right.value, atol=1e-12)
    some = ~np.isneginf(right.value)  # a possible component of an impossible graph has marginals
    kept = np.repeat(some[whole.batch.graph_of], whole.batch.width)
    np.testing.assert_allclose(summed.node[kept], right.node[kept], atol=1e-12)
    for name, p in right.clique.items():
        at = some[whole.batch.graph_of[whole.batch.scopes[name][:, 0]]]
        np.testing.assert_allclose(summed.clique[name][at], p[at], atol=1e-12)
    found = labeled_together(whole, split, [(part, EXACT.best(part.potentials(apart), 1)) for part in parts])
    best = EXACT.best(whole, 1)
    np.testing.assert_allclose(found.score, best.score, atol=1e-12)
    assert found.info.exact.all()
    np.testing.assert_array_equal(found.label == -1, best.label == -1)
    scored = whole.labeling_score(np.maximum(found.label[0], 0))
    np.testing.assert_allclose(scored[some], best.score[0][some], atol=1e-12)


def test_what_is_said_of_components_is_said_of_graphs() -> None:
    whole = random_graph(np.random.default_rng(1), graphs=3, variables=6, factors=1, forbidden=0.0)
    split = components(whole.batch)
    C = split.batch.graphs
    assert C > 4
    first = np.arange(C) == 0
    parts = [part_of(split.batch, first), part_of(split.batch, ~first)]
    answers = [EXACT.marginals(part.potentials(split.potentials(whole)), False, 1) for part in parts]
    vague = How.of(
        "guess", 1, exact=False, converged=False, sweeps=7, lower=-3.0, upper=5.0, notes=("a note",)
    )
    sure = How.of("sure", C - 1, exact=True, lower=answers[1].value, upper=answers[1].value)
    summed = summed_together(
        whole,
        split,
        [(parts[0], replace(answers[0], info=vague)), (parts[1], replace(answers[1], info=sure))],
    )
    how, n = summed.info, int(split.graph[0])
    others = np.arange(3) != n
    assert how.exact.tolist() == how.converged.tolist() == others.tolist()
    assert how.sweeps[n] == 7
    assert how.method[n] == "guess + sure"
    assert how.notes == ("a note",)
    np.testing.assert_allclose(how.lower[n] + 3.0, summed.value[n] - answers[0].value[0])
    np.testing.assert_allclose(how.upper[others], summed.value[others])
    impossible = replace(sure, upper=np.where(np.arange(C - 1) == 0, -np.inf, np.inf))
    how = summed_together(
        whole, split, [(parts[0], answers[0]), (parts[1], replace(answers[1], info=impossible))]
    ).info
    assert not np.isnan(how.upper).any()
