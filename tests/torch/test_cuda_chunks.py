"""The scan over chunks against the reference in float64; under the interpreter chunks are short."""

from __future__ import annotations

from ctypes import c_float
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import general, reference
from tests.cases.torch.chains import Chains, random_chains, random_labels, rows_of
from tests.cases.torch.devices import DEVICE

pytest.importorskip("triton")

from crfkit.torch.cuda import by_position, chunks, small
from crfkit.torch.cuda.kernels import chunk_logs, chunk_sweep
from crfkit.torch.cuda.kernels import logs as log_kernels
from crfkit.torch.cuda.kernels import small as small_kernels

# NumPy, under the interpreter, warns of the inf and NaN that are meant.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

FORMS = ["padded", "time-first", "holes", "packed"]
LONG = 10_000 if DEVICE == "cuda" else 5


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    if DEVICE == "cpu":
        monkeypatch.setattr(chunks, "chunk_length", lambda B, T: 2)


def assert_close(made: Any, expected: Any, tolerance: float = 2e-6) -> None:
    for ours, theirs in zip(made, expected, strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(
            ours.double(), theirs.double(), rtol=tolerance, atol=tolerance, equal_nan=True
        )


def losses(chains: Chains, labels: Tensor, weight: Tensor | None = None) -> tuple[Any, Any, Tensor]:
    """Answers of the kernels, those of the reference in float64, and the flags of the kernels."""
    *made, in_logs = chunks.loss(chains.args, labels, weight, 0.5, True)
    return made, general.loss(chains.double().args, labels, weight, 0.5, True)[:-1], in_logs


@pytest.mark.parametrize("form", FORMS)
def test_losses_of_every_form(form: str) -> None:
    chains = random_chains(3, 5, 3, form=form, forbidden=0.02, seed=1, device=DEVICE)
    labels = random_labels(chains)
    labels[rows_of(chains, 1)[-1]] = -1  # one of the sequences has an unknown label
    weight = torch.tensor([0.5, 2.0, 1.0], device=DEVICE)
    made, expected, _ = losses(chains, labels, weight)
    assert_close(made, expected)
    assert made[1].isfinite().any()


@pytest.mark.parametrize("form", FORMS)
def test_log_partition_and_marginals_of_every_form(form: str) -> None:
    chains = random_chains(3, 3, 4, form=form, forbidden=0.05, dtype=torch.float64, device=DEVICE)
    weight = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64, device=DEVICE)
    made = chunks.marginals(chains.args, weight)
    assert_close(made[:-1], reference.marginals(chains.args, weight), 1e-11)
    if form == "holes":  # the same sweeps without a gradient
        logz, _ = chunks.log_partition(chains.args)
        assert torch.equal(logz, made[-2])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_scores_have_gradients_rounded_once(dtype: torch.dtype) -> None:
    chains = random_chains(1, 3, 17, dtype=dtype, device=DEVICE)
    made, expected, _ = losses(chains, random_labels(chains, 0.2))
    assert made[2].dtype == dtype
    torch.testing.assert_close(made[2], expected[2].to(dtype), rtol=torch.finfo(dtype).eps, atol=1e-7)
    assert_close([*made[:2], *made[3:]], [*expected[:2], *expected[3:]])


def test_large_scores_are_swept_in_log_space() -> None:
    chains = random_chains(2, LONG, 4, scale=1e4, form="packed", device=DEVICE)
    labels = random_labels(chains)
    labels[-1] = -1
    made, expected, in_logs = losses(chains, labels)
    assert_close(made, expected, 1e-5)
    assert in_logs.all()


def test_confident_scores_and_constraints_stay_in_probability_space() -> None:
    chains = random_chains(2, LONG, 5, scale=1.0, device=DEVICE)
    labels = torch.randint(5, chains.node.shape[:-1], device=DEVICE)
    edge = chains.edge.clone()
    edge[0, 1] = edge[2, 3] = edge[4, 3] = -torch.inf
    node = chains.node + 40.0 * torch.nn.functional.one_hot(labels, 5)
    chains = replace(chains, node=node, edge=edge)
    best = general.best(chains.args)[0]
    made, expected, in_logs = losses(chains, best)
    assert_close(made, expected, 1e-5)
    assert not in_logs.any()


def test_what_is_wrong_with_one_sequence_stays_there() -> None:
    chains = random_chains(4, 3, 3, form="time-first", seed=2, device=DEVICE)
    chains = replace(chains, length=torch.tensor([3, 2, 2, 2], dtype=torch.int32, device=DEVICE))
    labels = random_labels(chains)
    node = chains.node.clone()
    node[0, 2, 1] = torch.nan
    node[1, 1, 2] = torch.inf
    node[2, 1] = -torch.inf
    bad = replace(chains, node=node)
    made = chunks.loss(bad.args, labels, None, 1.0, True)
    value = made[1]
    assert value[:2].isnan().all()
    assert value[2] == torch.inf
    good = chunks.loss(chains.args, labels, None, 1.0, True)
    assert torch.equal(value[3], good[1][3])
    assert torch.equal(made[2][3], good[2][3])
    assert not made[2][2].any()


def test_the_same_bits_twice_and_without_a_gradient() -> None:
    chains = random_chains(2, 50 if DEVICE == "cuda" else 3, 9, device=DEVICE)
    labels = random_labels(chains)
    once, again = (chunks.loss(chains.args, labels, None, 1.0, True) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
    alone = chunks.loss(chains.args, labels, None, 1.0, False)
    assert torch.equal(alone[1], once[1])
    assert all(x.numel() == 0 for x in alone[2:6])


class Narrow:
    """A kernel that gets numbers in float32, as compiled ones do; the interpreter passes them as they are."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any, **how: Any) -> Any:
            return self.kernel[grid](*(c_float(x).value if isinstance(x, float) else x for x in args), **how)

        return launch


@pytest.mark.skipif(DEVICE != "cpu", reason="compiled kernels get float32 without help")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernels", ["chunks", "small", "by_position"])
def test_gradients_in_float64_are_scaled_in_float64(
    kernels: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (
        (chunk_sweep, "sweep"),
        (chunk_sweep, "finish"),
        (chunk_logs, "logs"),
        (small_kernels, "gradients"),
        (log_kernels, "sums"),
        (by_position, "sums"),
    ):
        monkeypatch.setattr(module, name, Narrow(getattr(module, name)))
    edges = "each" if kernels == "by_position" else "shared"
    chains = random_chains(3, 5, 3, edges=edges, dtype=torch.float64)
    labels = random_labels(chains)
    weight = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64) if weighted else None
    run = {"chunks": chunks, "small": small, "by_position": by_position}[kernels]
    for grad in (True, False):
        made = run.loss(chains.args, labels, weight, 1 / 3, grad)[:-1]
        assert_close(made, general.loss(chains.args, labels, weight, 1 / 3, grad)[:-1], 1e-13)
