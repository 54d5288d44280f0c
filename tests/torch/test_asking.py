"""Operators are asked past the dispatcher, unless somebody watches; the gradient of a loss is made once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from crfkit.compat import torchcrf
from crfkit.torch import CRF, SegmentCRF, registry

NODE, LABELS = torch.tensor([[[0.5, -1.0, 0.0], [1.0, 0.0, 2.0]]]), torch.tensor([[2, 0]])


class Names(TorchDispatchMode):
    """What is called while the mode is on."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(function.name())
        return function(*args, **(kwargs or {}))


def layer() -> CRF:
    crf = CRF(3)
    with torch.no_grad():
        crf.edge.copy_(torch.arange(9.0).view(3, 3) / 10)
    return crf


def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What operators on the CPU are given from now on, asked directly."""
    found: list[tuple[Any, ...]] = []

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            found.append(args)
            return function(*args)

        return call

    for operator, (by_cpu, by_cuda) in list(registry._direct.items()):
        monkeypatch.setitem(registry._direct, operator, (counted(by_cpu), by_cuda))
    return found


def gradients(loss: Callable[[Tensor], Tensor]) -> list[Tensor]:
    node = NODE.clone().requires_grad_()
    return [*torch.autograd.grad(loss(node), node)]


def test_modes_see_operators_and_nobody_else_pays_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    crf, direct = layer(), calls(monkeypatch)
    plain = gradients(lambda node: crf.loss(node, LABELS)), crf.decode(NODE).labels
    assert len(direct) == 2
    with Names() as mode:
        watched = gradients(lambda node: crf.loss(node, LABELS)), crf.decode(NODE).labels
    assert len(direct) == 2
    assert {"crfkit::chain_loss", "crfkit::chain_best"} <= set(mode.seen)
    torch.testing.assert_close(plain, watched, rtol=0, atol=0)


def test_tensors_without_values_have_shapes() -> None:
    with FakeTensorMode():
        crf, segments = CRF(3), SegmentCRF(3, 2)
        node = torch.randn(2, 4, 3, requires_grad=True)
        loss = crf.loss(node, torch.zeros(2, 4, dtype=torch.long), torch.ones(2, 4, dtype=torch.bool))
        (grad,) = torch.autograd.grad(loss, node)
        assert (loss.shape, grad.shape, crf.decode(node).labels.shape) == ((), (2, 4, 3), (2, 4))
        assert segments.decode(node).labels.shape == (2, 4)


def test_another_default_device_changes_nothing() -> None:
    crf = layer()
    expected = gradients(lambda node: crf.loss(node, LABELS)), crf.decode(NODE), crf.entropy(NODE)
    torch.set_default_device("meta")
    try:
        found = gradients(lambda node: crf.loss(node, LABELS)), crf.decode(NODE), crf.entropy(NODE)
    finally:
        torch.set_default_device(None)
    torch.testing.assert_close(found[0], expected[0])
    assert found[1].lists() == expected[1].lists()
    torch.testing.assert_close(found[2], expected[2])


@pytest.mark.parametrize("drop_in", [False, True])
def test_without_gradients_none_is_made(drop_in: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    crf: Any = torchcrf.CRF(3, batch_first=True) if drop_in else layer()
    expected = crf(NODE, LABELS).detach()
    seen = calls(monkeypatch)
    with torch.no_grad():
        found = crf(NODE, LABELS)
    torch.testing.assert_close(found, expected)
    assert [args[-1] for args in seen] == [False]


@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_gradient_that_was_given_away_is_made_again(
    factor: float, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever got the first one may write to it."""
    crf, seen = layer(), calls(monkeypatch)
    leaves = [NODE.to(dtype).requires_grad_(), *crf.parameters()]
    loss = crf.loss(leaves[0], LABELS)
    assert len(seen) == 1
    first = torch.autograd.grad(loss * factor, leaves, retain_graph=True)
    assert len(seen) == 1
    kept = [x.clone() for x in first]
    for x in first:
        x.fill_(7.0)
    second = torch.autograd.grad(loss * factor, leaves, retain_graph=True)
    assert len(seen) == 2
    torch.testing.assert_close(list(second), kept, rtol=0, atol=0)


def test_threads_share_a_graph() -> None:
    crf, node = layer(), NODE.clone().requires_grad_()
    loss = crf.loss(node, LABELS) * 3.0
    (expected,) = torch.autograd.grad(loss, node, retain_graph=True)
    for _ in range(50):
        fresh = crf.loss(node, LABELS) * 3.0

        def gradient(_: int, of: Tensor = fresh) -> Tensor:
            return torch.autograd.grad(of, node, retain_graph=True)[0]

        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(gradient, range(4)):
                assert torch.equal(found, expected)


def test_weights_and_segments_are_made_again_too() -> None:
    segments, begins = SegmentCRF(3, 2), torch.ones(1, 2, dtype=torch.bool)
    crf, weight = layer(), torch.tensor([2.0])
    losses: list[Callable[[Tensor], Tensor]] = [
        lambda node: segments.loss(node, LABELS, begins),
        lambda node: crf.loss(node, LABELS, weight=weight),
        lambda node: crf.loss(node, LABELS, label_smoothing=0.1),
    ]
    for loss in losses:
        node = NODE.clone().requires_grad_()
        value = loss(node)
        first, second = (torch.autograd.grad(value * 2.0, node, retain_graph=True)[0] for _ in range(2))
        torch.testing.assert_close(first, second)


def test_checkpoints_and_tensors_that_are_saved_elsewhere() -> None:
    crf, network = layer(), torch.nn.Linear(3, 3)

    def loss(node: Tensor) -> Tensor:
        return crf.loss(network(node), LABELS)

    expected = gradients(loss)
    with torch.autograd.graph.save_on_cpu():
        torch.testing.assert_close(gradients(loss), expected)
    again = gradients(lambda node: checkpoint(loss, node, use_reentrant=False))
    torch.testing.assert_close(again, expected)
