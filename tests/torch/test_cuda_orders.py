"""Chains of order k as chains over histories, against the reference."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from crfkit.torch import ops, reference
from crfkit.torch import orders as public
from crfkit.torch.batches import Chain
from crfkit.torch.cuda import orders
from tests.cases.torch.chains import random_chains, random_labels, rows_of
from tests.cases.torch.devices import DEVICE

FORMS = ["padded", "time-first", "holes", "packed"]


def case(form: str, order: int, forbidden: float = 0.07) -> tuple[Any, Chain]:
    chains = random_chains(
        4, 5, 3, form=form, forbidden=forbidden, dtype=torch.float64, seed=4, device=DEVICE
    )
    random = torch.Generator().manual_seed(5)
    edges = []
    for h in range(1, order + 1):
        table = torch.randn((3,) * (h + 1), generator=random, dtype=torch.float64)
        banned = torch.rand(table.shape, generator=random) < forbidden
        edges.append(table.masked_fill(banned, -torch.inf).to(DEVICE))
    return chains, chains.args._replace(edge=edges)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", [2, 3])
def test_every_query(form: str, order: int) -> None:
    chains, args = case(form, order)
    labels = random_labels(chains, unknown=0.3)
    close: Any = torch.testing.assert_close
    close(orders.log_partition(args), reference.log_partition(args))
    close(orders.loss(args, labels), reference.loss(args, labels))
    close(orders.best(args), reference.best(args))
    close(orders.kbest(args, 4), reference.kbest(args, 4))
    draws = orders.sample(args, 2, torch.tensor([1], device=DEVICE))
    logz = reference.log_partition(args)
    for b in range(4):
        path = draws[0] if form == "packed" else draws[:, 0]
        drawn = [int(path[row]) for row in rows_of(chains, b)]
        assert (set(drawn) <= {0, 1, 2}) == (float(logz[b]) > -torch.inf)


def gradients(function: Any, args: Any, *more: Any) -> Any:
    leaves = [x.detach().requires_grad_() for x in args.scores]
    values = function(args.with_scores(leaves), *more)
    weight = torch.linspace(-1.0, 2.0, len(values), dtype=values.dtype, device=DEVICE)
    total = (torch.where(values.isinf(), 0.0, values) * weight).sum()
    return torch.autograd.grad(total, leaves)


@pytest.mark.parametrize("form", ["padded", "packed"])
def test_gradients(form: str) -> None:
    chains, args = case(form, 2)
    labels = random_labels(chains, unknown=0.3)
    for name, more in (("log_partition", ()), ("loss", (labels,))):
        found = gradients(getattr(orders, name), args, *more)
        wanted = gradients(getattr(reference, name), args, *more)
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(a, b)


def test_ties_go_to_the_lowest_label() -> None:
    _, args = case("padded", 2)
    labels, score = orders.best(args.with_scores(torch.zeros_like(x) for x in args.scores))
    assert set(labels.flatten().tolist()) <= {0, -1}
    assert not score.any()


def test_the_public_functions_and_their_errors() -> None:
    chains, args = case("padded", 2)
    weight = torch.tensor([1.0, -0.5, 2.0, 1.0], dtype=torch.float64, device=DEVICE)
    found = public.marginals(args, weight)
    for a, b in zip(found, reference.marginals(args, weight)[:-1], strict=True):
        torch.testing.assert_close(a, b)
    labels = random_labels(chains, unknown=0.3)
    torch.testing.assert_close(public.loss(args, labels), reference.loss(args, labels))
    with pytest.raises(ValueError, match=r"edges\[1\] has shape"):
        ops.order.best(*args._replace(edge=[args.edge[0]] * 2))


def test_the_choice_by_device_and_size() -> None:
    meta = torch.empty(1, 1, 9, device="meta")
    tables = [meta.new_empty(9, 9), meta.new_empty(9, 9, 9)]
    _, args = case("padded", 2)
    assert ops.elsewhere(args._replace(node=meta, edge=tables)) is reference
    assert orders.states(32, 2) <= orders.MOST < orders.states(64, 2)
