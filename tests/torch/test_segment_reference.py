"""Semi-Markov chains in plain torch and on the CPU against all segmentations; derivatives by differences."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from crfkit.torch import derivatives, general, segment_cpu
from tests.cases.torch.segments import Segments, random_gold, random_segments, rows_of, segmentations

FORMS = ["padded", "time-first", "holes", "packed"]
PARTS = ["node", "segment", "both"]
CASES = [(form, parts) for form in FORMS for parts in PARTS]
MODULES = [general, segment_cpu]


def agreeing(segments: Segments, labels: torch.Tensor, begins: torch.Tensor, b: int) -> list[float]:
    rows = rows_of(segments, b)
    kept = []
    for score, y, z in segmentations(segments, b):
        known = [int(labels[row]) for row in rows]
        starts = [bool(begins[row]) or t == 0 for t, row in enumerate(rows)]
        if all(
            (k < 0 or k == y[t]) and (z[t] if starts[t] else k < 0 or not z[t]) for t, k in enumerate(known)
        ):
            kept.append(score)
    return kept


def total(scores: list[float]) -> torch.Tensor:
    return torch.tensor(scores or [-torch.inf], dtype=torch.float64).logsumexp(0)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("form", "parts"), CASES)
def test_answers_against_all_segmentations(form: str, parts: str, module: ModuleType) -> None:
    segments = random_segments(4, 4, 3, 2, form=form, parts=parts, forbidden=0.1, dtype=torch.float64)
    logz = module.log_partition(segments.args)[0]
    labels, begins, score = module.best(segments.args)
    several, bounds, scores = module.kbest(segments.args, 5)
    draws, cuts = module.sample(segments.args, 3, torch.tensor([0]))
    gold = random_gold(segments, unknown=0.3)
    losses = module.loss(segments.args, *gold, None, 1.0, False)[1]
    axis = 0 if form == "packed" else 1
    for b in range(4):
        every = segmentations(segments, b)
        rows = rows_of(segments, b)
        torch.testing.assert_close(logz[b], total([s for s, *_ in every]))
        agree = total(agreeing(segments, *gold, b))
        expected = torch.where(agree == -torch.inf, torch.inf, logz[b] - agree)
        torch.testing.assert_close(losses[b], expected)
        possible = every[0][0] > -torch.inf
        assert score[b] == pytest.approx(every[0][0])
        nothing = ((-1,) * len(rows), (False,) * len(rows))
        chances = {tuple(one[1:]): one[0] for one in every}

        def read(path: torch.Tensor, cut: torch.Tensor, rows: Any = rows) -> tuple[Any, Any]:
            return tuple(int(path[row]) for row in rows), tuple(bool(cut[row]) for row in rows)

        found = read(labels, begins)
        assert found == nothing if not possible else chances[found] == pytest.approx(every[0][0])
        seen = set()
        for i in range(5):
            exists = i < len(every) and every[i][0] > -torch.inf
            assert scores[b, i] == pytest.approx(every[i][0] if exists else -torch.inf)
            found = read(several.select(axis, i), bounds.select(axis, i))
            assert found == nothing if not exists else chances[found] == pytest.approx(every[i][0])
            seen.add(found)
        many = sum(one[0] > -torch.inf for one in every[:5])
        assert len(seen) == (many if many == 5 or not rows else many + 1)
        for i in range(3):
            drawn = read(draws.select(axis, i), cuts.select(axis, i))
            assert chances[drawn] > -torch.inf if possible else drawn == nothing


@pytest.mark.parametrize(("form", "parts"), CASES)
def test_gradients_of_the_kernels_are_those_of_the_reference(form: str, parts: str) -> None:
    segments = random_segments(4, 6, 3, 3, form=form, parts=parts, forbidden=0.1)
    weight = torch.tensor([0.5, 2.0, -1.0, 1.0], dtype=torch.float64)
    gold = random_gold(segments, unknown=0.2)
    whole = random_gold(segments)
    calls = [
        ("marginals", (weight,)),
        ("loss", (*gold, weight, 0.5, True)),
        ("loss", (*whole, None, 0.5, True)),
    ]
    for name, more in calls:
        found = getattr(segment_cpu, name)(segments.args, *more)
        expected = getattr(general, name)(segments.args, *more)
        for a, b in zip(found[:-1], expected[:-1], strict=True):
            torch.testing.assert_close(a, b, equal_nan=True)


@pytest.mark.parametrize(("form", "parts"), [("padded", "both"), ("holes", "node"), ("packed", "segment")])
def test_derivatives_against_differences(form: str, parts: str) -> None:
    segments = random_segments(2, 3, 2, 2, form=form, parts=parts, dtype=torch.float64)
    gold = random_gold(segments, unknown=0.3)
    given = [x is not None for x in segments.scores]
    leaves = tuple(x.detach().clone().requires_grad_() for x in segments.scores if x is not None)

    def run(function: Any, *more: Any) -> Any:
        def call(*scores: Any) -> Any:
            rest = iter(scores)
            node, segment, *shared = (next(rest) if there else None for there in given)
            return function("segment", *more, node, segment, *segments.args[2:5], *shared)

        return call

    check = torch.autograd.gradcheck
    assert check(run(derivatives.LogPartition.apply), leaves)
    assert torch.autograd.gradgradcheck(run(derivatives.LogPartition.apply), leaves, fast_mode=True)
    assert check(run(derivatives.Losses.apply, *gold), leaves)
    assert check(lambda *x: run(derivatives.Loss.apply, *gold, None, 0.5)(*x)[0], leaves)
    assert check(run(derivatives.Entropy.apply), leaves, fast_mode=True)


@pytest.mark.parametrize("form", FORMS)
def test_ties_go_to_the_lowest_label_and_the_shorter_segment(form: str) -> None:
    segments = random_segments(5, 7, 3, 3, form=form, scale=0.0)
    labels, begins, _ = general.best(segments.args)
    assert set(labels.unique().tolist()) <= {-1, 0}
    assert torch.equal(begins, labels == 0)
    for a, b in zip(segment_cpu.best(segments.args), (labels, begins), strict=False):
        assert torch.equal(a, b)
