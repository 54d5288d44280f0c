"""The reference in plain torch against all labelings, and its gradients against differences."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from crfkit.torch import derivatives, reference
from tests.cases.torch.chains import labelings, random_chains, random_labels, rows_of

FORMS = ["padded", "time-first", "holes", "packed"]
EDGES = ["shared", "each", "between"]
CASES = [(form, edges) for form in FORMS for edges in EDGES if (form, edges) != ("packed", "between")]


@pytest.mark.parametrize(("form", "edges"), CASES)
def test_sums_and_best_labelings_against_all_labelings(form: str, edges: str) -> None:
    chains = random_chains(4, 4, 3, form=form, edges=edges, forbidden=0.15, dtype=torch.float64)
    logz = reference.log_partition(chains.args)
    labels, score = reference.best(chains.args)
    several, scores = reference.kbest(chains.args, 5)
    draws = reference.sample(chains.args, 3, torch.tensor([0]))
    for b in range(4):
        every = labelings(chains, b)
        rows = rows_of(chains, b)
        total = torch.tensor([s for s, _ in every], dtype=torch.float64).logsumexp(0)
        torch.testing.assert_close(logz[b], total)
        possible = every[0][0] > -torch.inf
        assert score[b] == pytest.approx(every[0][0])
        assert tuple(int(labels[row]) for row in rows) == (every[0][1] if possible else (-1,) * len(rows))
        for i in range(5):
            exists = i < len(every) and every[i][0] > -torch.inf
            assert scores[b, i] == pytest.approx(every[i][0] if exists else -torch.inf)
            path = several[i] if form == "packed" else several[:, i]
            assert tuple(int(path[row]) for row in rows) == (every[i][1] if exists else (-1,) * len(rows))
        for i in range(3):
            path = draws[i] if form == "packed" else draws[:, i]
            drawn = tuple(int(path[row]) for row in rows)
            assert {y: s for s, y in every}[drawn] > -torch.inf if possible else set(drawn) <= {-1}


@pytest.mark.parametrize(("form", "edges"), CASES)
def test_derivatives_against_differences(form: str, edges: str) -> None:
    chains = random_chains(2, 3, 2, form=form, edges=edges, dtype=torch.float64)
    labels = random_labels(chains, unknown=0.3)
    _, length, first, index, *_ = chains.args
    scores = tuple(x.detach().clone().requires_grad_() for x in chains.scores)
    others = tuple(x.detach().flip(0).clone().requires_grad_() for x in chains.scores)

    def run(function: Any, *more: Any) -> Any:
        return lambda n, s, e, p, *q: function("chain", *more, n, length, first, index, s, e, p, *q)

    assert torch.autograd.gradcheck(run(derivatives.LogPartition.apply), scores)
    assert torch.autograd.gradcheck(run(derivatives.Losses.apply, labels, None), scores)
    assert torch.autograd.gradgradcheck(run(derivatives.Losses.apply, labels, None), scores, fast_mode=True)
    assert torch.autograd.gradcheck(
        lambda *x: run(derivatives.Loss.apply, labels, None, None, 0.5)(*x)[0], scores
    )
    assert torch.autograd.gradcheck(run(derivatives.Entropy.apply), scores)
    assert torch.autograd.gradcheck(run(derivatives.Divergence.apply), scores + others, fast_mode=True)
