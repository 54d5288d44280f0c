"""Scores of half precision: sums are made of them as they are, and answers are rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import functional, segment_functional
from tests.cases.torch.devices import DEVICE

B, T, L, D = 3, 6, 3, 2
LABELS = torch.arange(B * T).view(B, T) % L
BEGINS = torch.arange(B * T).view(B, T) % 2 == 0
SETS = torch.rand(B, T, L, generator=torch.Generator().manual_seed(4)) < 0.5
SETS[..., 0] = True


def tables(order: int) -> Any:
    random = torch.Generator().manual_seed(1)
    made = [torch.randn((L,) * (h + 1), generator=random).to(DEVICE) for h in range(1, order + 1)]
    return made[0] if order == 1 else made


def second(value: Tensor, x: Tensor) -> Tensor:
    (g,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    return (g.double() * (SETS.double().to(DEVICE) - 0.5)).sum()  # a direction that is not rounded


CHAINS: dict[str, Callable[[Tensor, Tensor, Any], Tensor]] = {
    "log_partition": lambda x, y, e: functional.chain_log_partition(x, e),
    "loss": lambda x, y, e: functional.chain_loss(x, e, LABELS.to(DEVICE), reduction="none"),
    "sets": lambda x, y, e: functional.chain_loss(x, e, allowed=SETS.to(DEVICE), reduction="none"),
    "shares": lambda x, y, e: functional.chain_loss(
        x, e, allowed=(SETS / SETS.sum(-1, keepdim=True)).to(DEVICE), reduction="none"
    ),
    "marginals": lambda x, y, e: functional.chain_marginals(x, e)[..., 0].double().square().sum((1,)),
    "entropy": lambda x, y, e: functional.chain_entropy(x, e),
    "kl": lambda x, y, e: functional.chain_kl(x, e, y, e),
    "gradient of loss": lambda x, y, e: second(functional.chain_loss(x, e, LABELS.to(DEVICE)), x),
}
SEGMENTS: dict[str, Callable[[Tensor, Tensor, Any], Tensor]] = {
    "log_partition": lambda x, y, e: segment_functional.segment_log_partition(x, e, **lengths(y)),
    "loss": lambda x, y, e: segment_functional.segment_loss(
        x, e, LABELS.to(DEVICE).fill_(1), BEGINS.to(DEVICE), reduction="none", **lengths(y)
    ),
    "marginals": lambda x, y, e: segment_functional.segment_marginals(x, e, **lengths(y)).double().square(),
    "entropy": lambda x, y, e: segment_functional.segment_entropy(x, e, **lengths(y)),
}


def lengths(like: Tensor) -> dict[str, Tensor]:
    """Scores of whole segments in the type of others, and those of lengths."""
    random = torch.Generator().manual_seed(2)
    segment = (torch.randn(B, T, D, L, generator=random) * 4).bfloat16()  # fits float16 too
    return {"segment": segment.to(DEVICE, like.dtype), "length": torch.zeros(D, L, device=DEVICE)}


def close(ask: Callable[[Tensor, Tensor, Any], Tensor], dtype: torch.dtype, edge: Any, scale: float) -> None:
    """Compare a value and its gradients with those in float64 of the same scores."""
    random = torch.Generator().manual_seed(0)
    given = [(torch.randn(B, T, L, generator=random) * scale).to(DEVICE, dtype) for _ in range(2)]
    answers = []
    for kind in (dtype, torch.float64):
        leaves = [x.detach().to(kind).requires_grad_() for x in given]
        value = ask(leaves[0], leaves[1], edge)
        grads = torch.autograd.grad(value.sum(), leaves, materialize_grads=True)
        answers.append((value.detach().double(), [g.double() for g in grads]))
    (value, grads), (exact, expected) = answers
    ulp = torch.finfo(dtype).eps
    near = 1e-5 * scale if value.ndim else 4 * ulp  # of gradients, which are rounded, or of what is not
    torch.testing.assert_close(value, exact, rtol=near, atol=near)
    for found, right in zip(grads, expected, strict=True):
        torch.testing.assert_close(found, right, rtol=2 * ulp, atol=torch.finfo(dtype).tiny + 1e-6 * scale)


@pytest.mark.parametrize("scale", [1.0, 20.0])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CHAINS)
def test_answers_are_those_of_the_same_scores_in_float64(
    name: str, dtype: torch.dtype, order: int, scale: float
) -> None:
    close(CHAINS[name], dtype, tables(order), scale)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", SEGMENTS)
def test_answers_of_segments_are_those_of_the_same_scores_in_float64(name: str, dtype: torch.dtype) -> None:
    close(SEGMENTS[name], dtype, tables(1), 4.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("order", [1, 2])
def test_entropy_and_divergence_are_not_negative(dtype: torch.dtype, order: int) -> None:
    """Where both are 0: one label, or one labeling that has nearly all of the probability."""
    one = [torch.zeros((1,) * (h + 1), device=DEVICE) for h in range(1, order + 1)]
    edge: Any = one[0] if order == 1 else one
    p, q = (torch.full((1, 5, 1), x, device=DEVICE).to(dtype) for x in (0.1, 3.0))
    assert float(functional.chain_kl(p, edge, q, edge)) == pytest.approx(0.0, abs=1e-12)
    assert float(functional.chain_entropy(q, edge)) == pytest.approx(0.0, abs=1e-12)
    sure = torch.nn.functional.one_hot(LABELS, L).to(DEVICE, dtype) * 100
    near = sure * 0.99
    e = tables(order)
    bound = -1e-11
    assert (functional.chain_entropy(sure, e) >= bound).all()
    assert (functional.chain_kl(sure, e, near.to(dtype), e) >= bound).all()
