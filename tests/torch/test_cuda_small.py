"""Kernels of chains with up to 64 labels against the reference in float64, on every form of input."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from crfkit.torch import general, rows
from tests.cases.torch.chains import Chains, random_chains, random_labels
from tests.cases.torch.devices import DEVICE

small = pytest.importorskip("crfkit.torch.cuda.small", reason="the kernels need Triton")
# NumPy, which the interpreter computes with, warns where a GPU makes NaN of 0 / 0.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
needs_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")

SIZES = [5] if DEVICE == "cpu" else [2, 9, 16, 23, 45, 64]  # the interpreter is slow
KINDS = [
    ("padded", torch.float32, 0.15, 0.3),  # form, type, part forbidden, part of labels unknown
    ("time-first", torch.float64, 0.15, 0.0),
    ("holes", torch.bfloat16, 0.0, 0.3),
    ("packed", torch.float32, 0.0, 0.0),
]


def _near(got: torch.Tensor, want: torch.Tensor, dtype: torch.dtype) -> None:
    within = {torch.float64: 1e-11, torch.float32: 2e-6, torch.bfloat16: 4e-3}[dtype]
    torch.testing.assert_close(got.double(), want.double(), rtol=within, atol=within, equal_nan=True)


@pytest.mark.parametrize("L", SIZES)
@pytest.mark.parametrize(("form", "dtype", "forbidden", "unknown"), KINDS)
def test_loss_and_gradient(form: str, dtype: torch.dtype, forbidden: float, unknown: float, L: int) -> None:
    chains = random_chains(4, 5, L, form=form, dtype=dtype, forbidden=forbidden, device=DEVICE)
    labels = random_labels(chains, unknown)
    weight = torch.tensor([0.5, 2.0, 1.0, 3.0], device=DEVICE)
    total, each, *grads, _ = small.loss(chains.args, labels, weight, 0.3, True)
    want, losses, *wanted, _ = general.loss(chains.double().args, labels, weight, 0.3, True)
    sums = torch.float64 if dtype == torch.float64 else torch.float32
    _near(total, want, sums)
    _near(each, losses, sums)
    assert total.dtype == sums
    assert each.dtype == torch.float64
    for got, exact, like in zip(grads, wanted, chains.scores, strict=True):
        assert (got.dtype, got.shape) == (like.dtype, like.shape)
        _near(got, exact, like.dtype)


@pytest.mark.parametrize("form", ["padded", "packed"])
def test_values_without_gradients_and_marginals(form: str) -> None:
    chains = random_chains(3, 4, 3, form=form, forbidden=0.1, device=DEVICE)
    labels = random_labels(chains, unknown=0.2)
    exact = chains.double()
    total, each, *empty, _ = small.loss(chains.args, labels, None, 0.5, False)
    want, losses, *_ = general.loss(exact.args, labels, None, 0.5, False)
    _near(total, want, torch.float32)
    _near(each, losses, torch.float64)
    assert all(x.numel() == 0 for x in empty)
    logz, _ = small.log_partition(chains.args)
    _near(logz, general.log_partition(exact.args)[0], torch.float64)
    weight = torch.tensor([1.0, -2.0, 0.5], device=DEVICE)
    for got, right in zip(
        small.marginals(chains.args, weight), general.marginals(exact.args, weight), strict=True
    ):
        if got.is_floating_point():
            _near(got, right, torch.float32)


def _hard(L: int = 3) -> Chains:
    """Sequences: usual; with a NaN; without any labeling; with scores of 1e4; empty."""
    chains = random_chains(5, 6, L, device=DEVICE, seed=3)
    node = chains.node.clone()
    node[1, 2, 1] = torch.nan
    node[2, 3] = -torch.inf
    node[3] *= 1e4
    return replace(chains, node=node, length=torch.tensor([6, 5, 6, 6, 0], dtype=torch.int32, device=DEVICE))


def test_hard_sequences_do_not_touch_the_others() -> None:
    chains = _hard()
    labels = random_labels(chains)
    total, each, *grads, in_logs = small.loss(chains.args, labels, None, 1.0, True)
    assert total.isnan()
    assert each[1].isnan()
    assert each[2] == torch.inf
    assert each[4] == 0
    assert (grads[0][2] == 0).all()
    assert (grads[0][4] == 0).all()
    assert in_logs[[0, 2, 3]].tolist() == [
        0,
        1,
        0,
    ]  # the rule looks at what was lost, not at how large scores are
    good = torch.tensor([0, 3], device=DEVICE)
    kept = replace(chains, node=chains.node[good], length=chains.length[good])
    _, losses, *wanted, _ = general.loss(kept.double().args, labels[good], None, 1.0, True)
    torch.testing.assert_close(each[good], losses, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(grads[0][good].double(), wanted[0], rtol=1e-5, atol=1e-6)
    logz, _ = small.log_partition(chains.args)
    exact = general.log_partition(chains.double().args)[0]
    torch.testing.assert_close(logz, exact, rtol=1e-9, atol=1e-9, equal_nan=True)
    alone = small.loss(kept.args, labels[good], None, 1.0, True)  # the same bits, whatever the batch
    assert torch.equal(alone[1], each[good])
    assert torch.equal(alone[2], grads[0][good])


def test_conflicts_of_confident_scores_stay_in_probabilities() -> None:
    chains = random_chains(2, 5, 4, device=DEVICE)
    node = torch.zeros_like(chains.node)
    node[:, :, 0] = 40.0
    node[:, 2, 0], node[:, 2, 1] = 0.0, 40.0
    edge = chains.edge.clone()
    edge[0, 1] = -torch.inf  # what the scores ask for is forbidden
    chains = replace(chains, node=node, edge=edge)
    labels = torch.zeros(2, 5, dtype=torch.int64, device=DEVICE)
    _, each, *grads, in_logs = small.loss(chains.args, labels, None, 1.0, True)
    _, losses, *wanted, _ = general.loss(chains.double().args, labels, None, 1.0, True)
    assert not in_logs.any()
    torch.testing.assert_close(each, losses, rtol=1e-6, atol=1e-6)
    for got, want in zip(grads, wanted, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-6)


def test_conflicts_beyond_the_range_of_float32_are_summed_in_logs() -> None:
    chains = random_chains(2, 5, 3, device=DEVICE, scale=200.0, seed=5)
    labels = random_labels(chains)
    _, each, *grads, in_logs = small.loss(chains.args, labels, None, 1.0, True)
    _, losses, *wanted, _ = general.loss(chains.double().args, labels, None, 1.0, True)
    assert in_logs.all()
    logz, _ = small.log_partition(chains.args)
    _near(logz, general.log_partition(chains.double().args)[0], torch.float64)
    torch.testing.assert_close(each, losses, rtol=1e-6, atol=1e-6)
    for got, want in zip(grads, wanted, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-6)


def test_edges_that_vanish_even_in_float64() -> None:
    chains = random_chains(2, 4, 2, device=DEVICE)
    edge = torch.tensor([[-800.0, -torch.inf], [0.0, -900.0]], device=DEVICE)
    chains = replace(chains, edge=edge)
    logz, in_logs = small.log_partition(chains.args)
    assert in_logs[0] == 1
    _near(logz, general.log_partition(chains.double().args)[0], torch.float64)


def test_a_label_out_of_range_gives_nan() -> None:
    chains = random_chains(2, 3, 3, device=DEVICE)
    labels = random_labels(chains)
    labels[0, 1] = 3
    each = small.loss(chains.args, labels, None, 1.0, False)[1]
    assert each[0].isnan()
    assert each[1].isfinite()


@needs_gpu
def test_long_chains() -> None:
    chains = random_chains(2, 10_000, 9, device=DEVICE, scale=3.0, forbidden=0.02)
    labels = torch.zeros(2, 10_000, dtype=torch.int64, device=DEVICE)
    _, each, *grads, _ = small.loss(chains.args, labels, None, 1.0, True)
    wide = small.loss(chains.double().args, labels, None, 1.0, True)
    torch.testing.assert_close(each, wide[1], rtol=1e-6, atol=0)
    for got, want in zip(grads, wide[2:6], strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-4)


@needs_gpu
def test_graph_capture_and_no_recompilation_over_sizes() -> None:
    from crfkit.torch.cuda.kernels import small as kernels

    def call(B: int, T: int, L: int) -> None:
        chains = random_chains(B, T, L, device=DEVICE)
        labels = random_labels(chains)
        small.loss(chains.args, labels, None, 1.0, True)

    call(3, 20, 23)
    compiled = kernels.gradients.device_caches[torch.cuda.current_device()][0]
    before = len(compiled)
    for T in (1, 2, 16, 17, 64):
        call(4, T, 23)
        call(16, T, 32)
    assert len(compiled) == before

    chains = random_chains(3, 20, 23, device=DEVICE)
    labels = random_labels(chains)
    want = small.loss(chains.args, labels, None, 1.0, True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = small.loss(chains.args, labels, None, 1.0, True)
    graph.replay()
    for a, b in zip(got, want, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (3, 5), (2, 1100)])
def test_kept_places_of_masks(shape: tuple[int, int]) -> None:
    compact = pytest.importorskip("crfkit.torch.cuda.compact")
    mask = torch.rand(shape[1], shape[0], generator=torch.Generator().manual_seed(0)).t() < 0.6
    for got, want in zip(compact.kept(mask.to(DEVICE)), rows.kept(mask), strict=True):
        assert torch.equal(got.cpu(), want)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_tensors_of_another_device() -> None:
    chains = random_chains(2, 3, 4, device="cuda:1")
    logz = torch.ops.crfkit.chain_log_partition(*chains.args)[0]
    assert logz.device == chains.node.device
    _near(logz, general.log_partition(chains.double().args)[0], torch.float64)


def test_a_loss_with_its_gradient_is_three_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of sequences, those that need logarithms, totals; whatever the number of positions."""
    launched, launch = [], small.launch

    def counted(kernel: object, *args: object) -> None:
        launched.append(kernel)
        launch(kernel, *args)

    monkeypatch.setattr(small, "launch", counted)
    for T in (2, 7):
        chains = random_chains(3, T, 3, device=DEVICE)
        small.loss(chains.args, random_labels(chains), None, 1.0, True)
    assert len(launched) == 6
