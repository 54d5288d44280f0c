"""Gradients of gradients: every function has them, or says that it has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import functional, segment_functional
from tests.cases.torch.devices import DEVICE

B, T, L, D = 2, 3, 2, 2
MASK = torch.tensor([[True, False, True], [True, True, True]])
LABELS = torch.tensor([[0, 0, 1], [1, -1, 0]])
SETS = torch.ones(B, T, L, dtype=torch.bool)
SETS[0, 2, 0] = SETS[1, 0, 1] = False
SHARES = torch.rand(B, T, L, generator=torch.Generator().manual_seed(3)).double().softmax(-1)


def random(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(DEVICE).requires_grad_()


# Each takes node, start, stop and tables of edges.
def asked(name: str, order: int) -> Callable[..., Tensor]:
    def ask(node: Tensor, start: Tensor, stop: Tensor, *tables: Tensor) -> Tensor:
        how: dict[str, Any] = {"start": start, "stop": stop, "mask": MASK.to(DEVICE)}
        edge: Any = tables[0] if order == 1 else list(tables)
        labels = LABELS.to(DEVICE)
        if name in ("log_partition", "entropy", "marginals"):
            value: Tensor = getattr(functional, f"chain_{name}")(node, edge, **how)
        elif name == "edge_marginals":
            value = functional.chain_marginals(node, edge, edges=True, **how)[1]
        elif name == "kl":
            other: Any = [x * 0.5 for x in tables]
            value = functional.chain_kl(
                node, edge, node.flip(-1), other[0] if order == 1 else other, other_start=stop, **how
            )
        elif name == "sets":
            value = functional.chain_loss(node, edge, allowed=SETS.to(DEVICE), reduction="none", **how)
        elif name == "shares":
            value = functional.chain_loss(node, edge, allowed=SHARES.to(DEVICE), **how)
        elif name == "log_prob":
            value = functional.chain_log_prob(node, edge, labels, **how)
        else:
            value = functional.chain_loss(node, edge, labels, reduction=name, **how)  # type: ignore[arg-type]
        return value

    return ask


NAMES = ["log_partition", "entropy", "marginals", "kl", "sets", "shares", "log_prob", "mean", "token", "none"]


@pytest.mark.parametrize(("name", "order"), [(n, k) for n in NAMES for k in (1, 2)] + [("edge_marginals", 1)])
def test_second_derivatives_against_differences(name: str, order: int) -> None:
    leaves = (random(B, T, L), random(L, seed=1), random(L, seed=2))
    tables = [random(*(L,) * (h + 1), seed=2 + h) for h in range(1, order + 1)]
    assert torch.autograd.gradgradcheck(asked(name, order), (*leaves, *tables), fast_mode=True)


@pytest.mark.parametrize("edges", ["each", "between"])
def test_second_derivatives_by_edges_of_each_position(edges: str) -> None:
    table = random(B, T if edges == "each" else T - 1, L, L)
    for name in ("entropy", "marginals"):
        assert torch.autograd.gradgradcheck(
            asked(name, 1), (random(B, T, L), random(L, seed=1), random(L, seed=2), table), fast_mode=True
        )


@pytest.mark.parametrize("name", ["log_partition", "marginals", "entropy", "loss", "log_prob"])
@pytest.mark.parametrize("given", ["node", "segment"])
def test_second_derivatives_of_segments_against_differences(name: str, given: str) -> None:
    leaves = [random(B, T, L) if given == "node" else random(B, T, D, L), random(L, L, seed=1)]
    leaves.append(random(D, L, seed=2))
    labels = LABELS.abs().to(DEVICE)
    begins = torch.ones_like(labels, dtype=torch.bool)

    def ask(x: Tensor, edge: Tensor, length: Tensor) -> Tensor:
        how: dict[str, Any] = {"length": length, "mask": MASK.to(DEVICE)}
        node = x if given == "node" else None
        if given == "segment":
            how["segment"] = x
        gold = (labels, begins) if name in ("loss", "log_prob") else ()
        value: Tensor = getattr(segment_functional, f"segment_{name}")(node, edge, *gold, **how)
        return value

    if name in ("loss", "log_prob"):
        with pytest.raises(RuntimeError, match="the loss of segments has one derivative, and create_graph"):
            torch.autograd.grad(ask(*leaves).sum(), leaves, create_graph=True)
    else:
        assert torch.autograd.gradgradcheck(ask, leaves, fast_mode=True)


@pytest.mark.parametrize("order", [1, 2])
def test_third_derivatives_of_log_z_are_the_second_ones_of_marginals(order: int) -> None:
    tables = [random(*(L,) * (h + 1), seed=2 + h) for h in range(1, order + 1)]
    ask = asked("log_partition", order)

    def gradient(*leaves: Tensor) -> Any:
        return torch.autograd.grad(ask(*leaves).sum(), leaves, create_graph=True)

    leaves = (random(B, T, L), random(L, seed=1), random(L, seed=2), *tables)
    assert torch.autograd.gradgradcheck(gradient, leaves, fast_mode=True)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["entropy", "kl", "marginals", "mean"])
def test_a_penalty_on_the_gradient_is_not_lost(name: str, order: int) -> None:
    """Beside a term that can be differentiated at once, which hid that it was."""
    tables = [random(*(L,) * (h + 1), seed=2 + h) for h in range(1, order + 1)]
    start, stop = random(L, seed=1), random(L, seed=2)

    def penalty(node: Tensor) -> Tensor:
        value = asked(name, order)(node, start, stop, *tables)
        (g,) = torch.autograd.grad(value.square().sum(), node, create_graph=True)
        return functional.chain_log_partition(node, tables[0]).sum() + g.square().sum()

    assert torch.autograd.gradcheck(penalty, random(B, T, L))


@pytest.mark.parametrize("order", [1, 2])
def test_a_tensor_that_is_given_twice_is_counted_twice_and_not_more(order: int) -> None:
    node = random(B, T, L)
    tables = [random(*(L,) * (h + 1), seed=2 + h) for h in range(1, order + 1)]
    for name in ("mean", "entropy", "log_partition", "kl"):

        def twice(end: Tensor, name: str = name) -> Tensor:
            return asked(name, order)(node.detach(), end, end, *(x.detach() for x in tables))

        end = random(L, seed=1)
        plain, graph = (torch.autograd.grad(twice(end).sum(), end, create_graph=x) for x in (False, True))
        torch.testing.assert_close(graph, plain)
        assert torch.autograd.gradcheck(twice, random(L, seed=1))
        assert torch.autograd.gradgradcheck(twice, random(L, seed=1))


@pytest.mark.parametrize("order", [1, 2])
def test_second_derivatives_stay_finite_where_scores_forbid_or_are_not_numbers(order: int) -> None:
    node = random(3, T, L).detach()
    node[0, 0, 1] = -torch.inf
    number = DEVICE == "cpu"  # on CUDA devices gradients of a sequence with NaN may be NaN
    if number:
        node[1, 2, 0] = torch.nan
    node.requires_grad_()
    tables = [random(*(L,) * (h + 1), seed=2 + h) for h in range(1, order + 1)]
    edge: Any = tables[0] if order == 1 else tables
    labels = torch.zeros(3, T, dtype=torch.int64, device=DEVICE)
    for value in (
        functional.chain_entropy(node, edge),
        functional.chain_loss(node, edge, labels, reduction="none"),
        functional.chain_log_partition(node, edge),
    ):
        (g,) = torch.autograd.grad(value.nansum(), node, create_graph=True)
        again = torch.autograd.grad(g.square().sum(), (node, *tables))
        assert all(x.isfinite().all() for x in again)
        assert not number or (again[0][1] == 0).all()
        assert again[0][2].abs().sum() > 0
