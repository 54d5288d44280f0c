"""The Triton kernels of semi-Markov chains against the reference: on a GPU, else under the interpreter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

pytest.importorskip("triton")

from crfkit.torch import general
from crfkit.torch.cuda import segments as kernels
from tests.cases.torch.devices import DEVICE
from tests.cases.torch.segments import Segments, random_gold, random_segments

# the interpreter is NumPy, which warns of log 0 and of inf - inf; a GPU does not
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FORMS = ["padded", "time-first", "holes", "packed"]
CASES = list(zip(FORMS, ["node", "both", "both", "segment"], [0.0, 0.3, 0.0, 0.3], strict=True))


def check(segments: Segments, gold: tuple[Any, Any], rtol: float = 1e-5, atol: float = 1e-6) -> Any:
    """Compare the loss and its gradient with those of the reference in float64; return the answer."""
    on = segments.to(DEVICE)
    labels, begins = (x.to(DEVICE) for x in gold)
    wide = segments.double()
    weight = torch.linspace(0.5, 2.0, len(segments.length), dtype=torch.float64)
    found = kernels.loss(on.args, labels, begins, weight.to(DEVICE), 0.5, True)
    expected = general.loss(wide.args, *gold, weight, 0.5, True)
    for a, b in zip(found[:-1], expected[:-1], strict=True):
        close(a, b, rtol, atol)
    return found


def close(found: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> None:
    torch.testing.assert_close(found.cpu().double(), expected.double(), rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize(("form", "parts", "unknown"), CASES)
def test_sums_and_gradients(form: str, parts: str, unknown: float) -> None:
    segments = random_segments(3, 4, 2, 3, form=form, parts=parts, forbidden=0.05)
    found = check(segments, random_gold(segments, unknown))
    assert found[-1][0] == 0  # not in log space


def test_log_partition_and_marginals() -> None:
    segments = random_segments(3, 4, 3, 2, form="holes", parts="both", dtype=torch.float64)
    weight = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64)
    expected = general.marginals(segments.args, weight)
    close(kernels.log_partition(segments.to(DEVICE).args)[0], expected[6], 1e-9, 1e-9)
    found = kernels.marginals(segments.to(DEVICE).args, weight.to(DEVICE))
    for a, b in zip(found[:-1], expected[:-1], strict=True):
        close(a, b, 1e-9, 1e-9)


@pytest.mark.parametrize(("form", "parts", "unknown"), CASES)
def test_best(form: str, parts: str, unknown: float) -> None:
    scale = 1.0 if unknown else 0.0  # 0: all is tied
    segments = random_segments(3, 5, 3, 3, form=form, parts=parts, forbidden=0.15, scale=scale)
    labels, begins, score = kernels.best(segments.to(DEVICE).args)
    for a, b in zip((labels, begins, score), general.best(segments.double().args), strict=True):
        torch.testing.assert_close(a.cpu(), b)


def test_long_segments_and_extreme_scores() -> None:
    long = random_segments(1, 6, 8, 2, parts="node", dtype=torch.float64)
    assert check(long, random_gold(long), rtol=1e-9, atol=1e-9)[-1][0] == 0
    wild = random_segments(1, 5, 3, 2, parts="both", scale=1e4, forbidden=0.05, dtype=torch.float64)
    found = check(wild, random_gold(wild, 0.5), rtol=1e-9, atol=1e-9)
    assert found[-1][0] == 1  # products would vanish: summed in log space


def test_unlikely_gold_is_not_summed_in_log_space() -> None:
    segments = random_segments(1, 32, 4, 2, parts="node", scale=0.0, dtype=torch.float64)
    assert segments.node is not None
    segments.node[..., 1] = 60.0  # the gold is e^-1920 as likely as the rest
    labels, begins = torch.zeros(1, 32, dtype=torch.int64), (torch.arange(32) % 4 == 0)[None]
    made = kernels.Batch(segments.to(DEVICE).args).swept(labels.to(DEVICE), begins.to(DEVICE))
    assert made.in_logs.tolist() == [[0, 0]]
    expected = general.loss(segments.args, labels, begins, None, 1.0, False)[1]
    close(made.logz[:, 0] - made.logz[:, 1], expected, 1e-12, 0.0)


@pytest.mark.parametrize("form", ["padded", "packed"])
def test_more_places_than_a_program_takes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_CHUNK", 4)
    segments = random_segments(3, 9, 3, 2, form=form, parts="node", dtype=torch.float64, seed=3)
    gold = random_gold(segments, 0.2)
    labels, begins = (x.to(DEVICE) for x in gold)
    found = kernels.loss(segments.to(DEVICE).args, labels, begins, None, 1.0, True)
    expected = general.loss(segments.args, *gold, None, 1.0, True)
    for a, b in zip(found[:-1], expected[:-1], strict=True):
        close(a, b, rtol=1e-9, atol=1e-9)


def test_half_types_and_shared_bits() -> None:
    half = random_segments(3, 5, 2, 3, parts="both", dtype=torch.bfloat16)
    gold = random_gold(half)
    expected = general.loss(half.double().args, *gold, None, 0.5, True)
    found, again = (
        kernels.loss(half.to(DEVICE).args, gold[0].to(DEVICE), gold[1].to(DEVICE), None, 0.5, True)
        for _ in range(2)
    )
    for a, b in zip(found[:-1], expected[:-1], strict=True):
        close(a, b, rtol=1e-2, atol=5e-3)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))


def test_nan_and_nothing_allowed() -> None:
    segments = random_segments(4, 5, 2, 3, parts="both", dtype=torch.float64)
    assert segments.node is not None
    node = segments.node.clone()
    node[1, 0] = torch.nan
    node[2] = -torch.inf
    length = torch.tensor([5, 4, 3, 0], dtype=torch.int32)
    odd = replace(segments, node=node, length=length)
    gold = random_gold(odd)
    labels, begins = (x.to(DEVICE) for x in gold)
    found = kernels.loss(odd.to(DEVICE).args, labels, begins, None, 1.0, True)
    assert found[1].isnan().tolist() == [False, True, False, False]
    assert found[1][2] == torch.inf
    expected = general.loss(replace(segments, length=length).args, *gold, None, 1.0, True)
    for a, b in zip(found[1:4], expected[1:4], strict=True):
        close(a[0], b[0], 1e-9, 1e-9)
        close(a[3], b[3], 1e-9, 1e-9)
    assert not found[2][1:3].any()
    assert all(x.isfinite().all() for x in found[2:8])
    best = kernels.best(odd.to(DEVICE).args)
    assert best[0][1:3].eq(-1).all()
    assert best[2].isnan().tolist() == [False, True, False, False]


@pytest.mark.parametrize(("form", "scale"), [("packed", 1.0), ("holes", 300.0)])
def test_draws(form: str, scale: float) -> None:
    segments = random_segments(3, 4, 3, 2, form=form, parts="both", scale=scale, forbidden=0.1)
    n = 3 if DEVICE == "cpu" else 500
    seed = torch.tensor([7], device=DEVICE)
    labels, begins = (x.cpu() for x in kernels.sample(segments.to(DEVICE).args, n, seed))
    again = kernels.sample(segments.to(DEVICE).args, n, seed)
    assert torch.equal(labels, again[0].cpu())
    axis = 0 if form == "packed" else 1
    for i in range(n):  # each is allowed: the loss of it as gold is finite
        gold = labels.select(axis, i), begins.select(axis, i)
        each = general.loss(segments.double().args, *gold, None, 1.0, False)[1]
        nothing = general.log_partition(segments.double().args)[0] == -torch.inf
        assert (each.isfinite() | nothing).all()


def test_draws_follow_the_distribution() -> None:
    segments = random_segments(1, 3, 2, 2, parts="node", dtype=torch.float64)
    n = 40 if DEVICE == "cpu" else 20000
    labels, _ = kernels.sample(segments.to(DEVICE).args, n, torch.tensor([3], device=DEVICE))
    share = torch.nn.functional.one_hot(labels[0].cpu(), 2).double().mean(0)
    ones = torch.ones(1, dtype=torch.float64)
    expected = general.marginals(segments.args, ones)[0][0]
    torch.testing.assert_close(share, expected, atol=2.0 / n**0.5, rtol=0)
