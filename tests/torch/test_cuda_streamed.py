"""Kernels for many labels (`streamed`, `wide`) against the reference in float64, at small sizes."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import general
from tests.cases.torch.chains import Chains, random_chains, random_labels
from tests.cases.torch.devices import DEVICE

pytest.importorskip("triton")
from crfkit.torch.cuda import streamed, wide

# NumPy, which the interpreter computes with, warns of -inf - -inf; kernels select what they mean afterwards.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 2e-2}


def same(got: tuple[Tensor, ...], want: tuple[Tensor, ...], dtype: torch.dtype) -> None:
    """Compare values and gradients; in_logs comes last."""
    near = TOLERANCE[dtype]
    for a, b in zip(got[:-1], want[:-1], strict=True):
        assert a.shape == b.shape
        scale = max(1.0, float(b[b.isfinite()].abs().amax())) if b.isfinite().any() else 1.0
        exact = a.dtype == torch.float64 and dtype == torch.bfloat16  # values, of scores that were rounded
        within = (1e-5 if exact else near) * scale
        torch.testing.assert_close(a.double(), b.double(), rtol=0.0, atol=within, equal_nan=True)


def compare(kernels: Any, chains: Chains, labels: Tensor) -> Tensor:
    """Compare the loss and its gradients; return the flags."""
    weight = torch.linspace(0.5, 1.5, chains.length.shape[0], device=DEVICE)
    got = kernels.loss(chains.args, labels, weight, 0.5, True)
    same(got, general.loss(chains.double().args, labels, weight, 0.5, True), chains.node.dtype)
    in_logs: Tensor = got[-1]
    return in_logs


@pytest.mark.parametrize(
    ("kernels", "form", "dtype"),
    [
        (streamed, "padded", torch.float32),
        (streamed, "time-first", torch.float32),
        (streamed, "holes", torch.bfloat16),
        (streamed, "packed", torch.float64),
        (wide, "time-first", torch.float32),
        (wide, "holes", torch.bfloat16),
        (wide, "packed", torch.float32),
    ],
)
def test_losses_of_every_form(kernels: ModuleType, form: str, dtype: torch.dtype) -> None:
    chains = random_chains(3, 3, 18, form=form, dtype=dtype, forbidden=0.1, seed=3, device=DEVICE)
    assert not compare(kernels, chains, random_labels(chains, unknown=0.2)).any()


@pytest.mark.parametrize(("scale", "in_logs"), [(1.0, 0), (1e4, 1)])
def test_log_partition_and_marginals(scale: float, in_logs: int) -> None:
    chains = random_chains(2, 3, 7, scale=scale, seed=8, device=DEVICE)
    weight = torch.tensor([2.0, -1.0], device=DEVICE)[:1].expand(2)
    got = streamed.marginals(chains.args, weight)
    same(got, general.marginals(chains.double().args, weight), torch.float32)
    logz, flags = streamed.log_partition(chains.args)
    torch.testing.assert_close(logz, got[-2])
    assert flags.tolist() == got[-1].tolist() == [in_logs] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tables_of_several_blocks_and_tables_that_are_read_at_every_step(dtype: torch.dtype) -> None:
    chains = random_chains(2, 3, 70, dtype=dtype, device=DEVICE)
    labels = random_labels(chains, unknown=0.2)
    exact = general.loss(chains.double().args, labels, None, 0.5, True)
    same(streamed.loss(chains.args, labels, None, 0.5, True), exact, dtype)
    same(streamed.loss(chains.args, labels, None, 0.5, True, sweep=streamed.stream), exact, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_beyond_the_range_are_summed_in_log_space(dtype: torch.dtype) -> None:
    chains = random_chains(3, 3, 5, scale=1e4, forbidden=0.2, dtype=dtype, seed=1, device=DEVICE)
    chains.node[1] *= 1e-4  # this one needs the range of the edges only
    labels = random_labels(chains, unknown=0.4)
    in_logs = compare(streamed, chains, labels)
    assert in_logs[0] == 1
    assert in_logs[-1] == 0  # an empty sequence


def test_confident_scores_stay_in_range() -> None:
    chains = random_chains(1, 4, 6, scale=12.0, forbidden=0.2, seed=5, device=DEVICE)
    assert not compare(streamed, chains, random_labels(chains)).any()


@pytest.mark.parametrize("kernels", [streamed, wide])
def test_nothing_allowed(kernels: ModuleType) -> None:
    chains = random_chains(4, 3, 5, seed=2, device=DEVICE)
    chains.edge.fill_(-torch.inf)
    chains.length.copy_(torch.tensor([3, 2, 1, 0]))
    total, each, node, start, edge, stop, _ = kernels.loss(
        chains.args, random_labels(chains), None, 1.0, True
    )
    assert total == torch.inf
    assert each[:2].isinf().all()
    assert each[2:].isfinite().all()
    assert not node[:2].any()
    assert not edge.any()
    assert start.isfinite().all()
    assert stop.isfinite().all()


@pytest.mark.parametrize(("kernels", "bad"), [(streamed, torch.nan), (wide, torch.inf)])
def test_what_is_not_a_number_stays_in_its_sequence(kernels: ModuleType, bad: float) -> None:
    chains = random_chains(3, 2, 5, seed=4, device=DEVICE)
    chains.length.fill_(2)
    labels = random_labels(chains, unknown=0.3)
    sound = kernels.loss(chains.args, labels, None, 1.0, True)
    node = chains.node.clone()
    node[1, 1, 2] = bad
    got = kernels.loss(replace(chains, node=node).args, labels, None, 1.0, True)
    assert got[1][1].isnan()
    assert not got[2][1].any()
    for b in (0, 2):  # to the bit
        assert got[1][b] == sound[1][b]
        assert torch.equal(got[2][b], sound[2][b])
    assert all(x.isfinite().all() for x in got[3:6])


@pytest.mark.parametrize("kernels", [streamed, wide])
def test_bits_do_not_depend_on_the_batch(kernels: ModuleType) -> None:
    chains = random_chains(2, 3, 9, seed=6, device=DEVICE)
    labels = random_labels(chains)
    got = kernels.loss(chains.args, labels, None, 1.0, True)
    again = kernels.loss(chains.args, labels, None, 1.0, True)
    assert all(torch.equal(a, b) for a, b in zip(got, again, strict=True))
    one = replace(chains, node=chains.node[1:2], length=chains.length[1:2])
    alone = kernels.loss(one.args, labels[1:2], None, 1.0, True)
    assert torch.equal(alone[1], got[1][1:2])
    assert torch.equal(alone[2], got[2][1:2])
    without = kernels.loss(chains.args, labels, None, 1.0, False)
    assert torch.equal(without[1], got[1])


def test_no_sequences() -> None:
    chains = random_chains(2, 3, 5, device=DEVICE)
    none = replace(chains, node=chains.node[:0], length=chains.length[:0])
    total, each, *made, _ = streamed.loss(none.args, random_labels(none), None, 1.0, True)
    assert total == 0
    assert each.shape == (0,)
    assert [x.shape for x in made] == [x.shape for x in none.scores]
    assert streamed.log_partition(none.args)[0].shape == (0,)
    assert not streamed.marginals(none.args, each)[2].any()
