"""NaN or +inf in one sequence: its values are NaN, its gradients 0, and the others keep every bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import functional as chains
from crfkit.torch import segment_functional as segments

B, T, L = 3, 4, 3
LENGTHS = [4, 2, 3]
LABELS = torch.tensor([[0, 1, 2, 0]] * B)
SETS = torch.ones(B, T, L, dtype=torch.bool)
BEGINS = torch.ones(B, T, dtype=torch.bool)
HIGHER = torch.full((L, L, L), 0.1)
DURATION = torch.zeros(2, L)


def squares(x: Tensor) -> Tensor:
    return x.pow(2).sum((1, 2))


# Values [B] of (node, edge, the rest)
QUERIES: dict[str, Callable[..., Tensor]] = {
    "loss": lambda n, e, **k: chains.chain_loss(n, e, LABELS, reduction="none", **k),
    "sets": lambda n, e, **k: chains.chain_loss(n, e, allowed=SETS, reduction="none", **k),
    "shares": lambda n, e, **k: chains.chain_loss(n, e, allowed=SETS / L, reduction="none", **k),
    "entropy": lambda n, e, **k: chains.chain_entropy(n, e, **k),
    "kl": lambda n, e, **k: chains.chain_kl(n, e, torch.zeros(B, T, L), torch.zeros(L, L), **k),
    "marginals": lambda n, e, **k: squares(chains.chain_marginals(n, e, **k)),
    "loss, order 2": lambda n, e, **k: chains.chain_loss(n, [e, HIGHER], LABELS, reduction="none", **k),
    "entropy, order 2": lambda n, e, **k: chains.chain_entropy(n, [e, HIGHER], **k),
    "kl, order 2": lambda n, e, **k: chains.chain_kl(n, [e, HIGHER], n.detach(), [e, -HIGHER], **k),
    "marginals, order 2": lambda n, e, **k: squares(chains.chain_marginals(n, [e, HIGHER], **k)),
    "loss of segments": lambda n, e, **k: segments.segment_loss(
        n, e, LABELS, BEGINS, length=DURATION, reduction="none", **k
    ),
    "entropy of segments": lambda n, e, **k: segments.segment_entropy(n, e, length=DURATION, **k),
    "marginals of segments": lambda n, e, **k: squares(
        segments.segment_marginals(n, e, length=DURATION, **k)
    ),
}


def scores() -> list[Tensor]:
    random = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, generator=random) for shape in ((B, T, L), (L, L), (L,), (L,))]


def run(query: Callable[..., Tensor], given: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    node, edge, start, stop = leaves = [x.clone().requires_grad_() for x in given]
    value = query(node, edge, start=start, stop=stop, lengths=LENGTHS)
    return value.detach(), list(torch.autograd.grad(value.sum(), leaves))


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_in_one_sequence(name: str, bad: float) -> None:
    query, given = QUERIES[name], scores()
    value, (by_node, *_) = run(query, given)
    for b in range(B):
        for t in range(T):
            node = given[0].clone()
            node[b, t, 1] = bad
            found, (grad, *shared) = run(query, [node, *given[1:]])
            others = [i for i in range(B) if i != b or t >= LENGTHS[b]]
            assert torch.equal(found[others], value[others])
            assert torch.equal(grad[others], by_node[others])
            assert all(x.isfinite().all() for x in shared)
            if t < LENGTHS[b]:
                assert found[b].isnan()
                assert (grad[b] == 0).all()


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_in_tables(name: str, place: int) -> None:
    for bad in (torch.nan, torch.inf):
        given = scores()
        given[place].view(-1)[1] = bad
        value, _ = run(QUERIES[name], given)
        assert value.isnan().all()


def test_marginals_of_steps_and_segments() -> None:
    node, edge, *_ = scores()
    node[1, 0, 0] = torch.nan
    packed = torch.cat([node[b, :n] for b, n in enumerate(LENGTHS)])
    for table in (edge, edge.expand(B, T - 1, L, L)):
        _, steps = chains.chain_marginals(node, table, lengths=LENGTHS, edges=True)
        assert steps.flatten(1).isnan().any(1).tolist() == [False, True, False]
    both: tuple[Any, Any] = segments.segment_marginals(
        packed, edge, length=DURATION, lengths=LENGTHS, segments=True
    )
    for found in both:
        assert found.flatten(1).isnan().all(1).tolist() == [False] * 4 + [True] * 2 + [False] * 3


@pytest.mark.parametrize("name", QUERIES)
def test_inference_mode(name: str) -> None:
    given = scores()
    expected, _ = run(QUERIES[name], given)
    with torch.inference_mode():
        node, edge, start, stop = (x.clone() for x in given)
        found = QUERIES[name](node, edge, start=start, stop=stop, lengths=LENGTHS)
    assert torch.equal(found, expected)
    node, edge, start, stop = given
    assert not QUERIES[name](node, edge, start=start, stop=stop, lengths=LENGTHS).requires_grad
