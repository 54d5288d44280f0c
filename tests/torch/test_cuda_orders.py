"""Chains of order k as chains over histories, against the reference."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from crfkit.torch import general, ops, reference
from crfkit.torch.batches import Chain
from crfkit.torch.cuda import orders
from crfkit.torch.cuda.choose import _of_chains
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
    close: Any = torch.testing.assert_close
    close(orders.log_partition(args)[0], general.log_partition(args)[0])
    close(orders.best(args), reference.best(args))
    close(orders.kbest(args, 4), reference.kbest(args, 4))
    draws = orders.sample(args, 2, torch.tensor([1], device=DEVICE))
    logz = reference.log_partition(args)
    for b in range(4):
        path = draws[0] if form == "packed" else draws[:, 0]
        drawn = [int(path[row]) for row in rows_of(chains, b)]
        assert (set(drawn) <= {0, 1, 2}) == (float(logz[b]) > -torch.inf)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", [2, 3])
def test_gradients(form: str, order: int) -> None:
    chains, args = case(form, order)
    labels = random_labels(chains, unknown=0.3)
    weight = torch.tensor([1.0, -0.5, 2.0, 1.0], dtype=torch.float64, device=DEVICE)
    random = torch.Generator().manual_seed(6)
    along = [torch.randn(x.shape, generator=random, dtype=x.dtype).to(DEVICE) for x in args.scores]
    for name, more in (
        ("marginals", (weight,)),
        ("loss", (labels, None, 0.5, True)),
        ("loss", (labels, weight, 1.0, True)),
        ("loss", (labels, weight, 1.0, False)),
        ("hvp", (weight, *along)),
    ):
        found, wanted = getattr(orders, name)(args, *more), getattr(general, name)(args, *more)
        for a, b in zip(found, wanted, strict=True):
            if a.dtype != torch.uint8:  # which sums were made in logs
                torch.testing.assert_close(a, b)


def test_ties_go_to_the_lowest_label() -> None:
    _, args = case("padded", 2)
    labels, score = orders.best(args.with_scores(torch.zeros_like(x) for x in args.scores))
    assert set(labels.flatten().tolist()) <= {0, -1}
    assert not score.any()


def test_the_choice_by_device_and_size() -> None:
    _, args = case("padded", 2)

    def sized(L: int) -> Chain:
        meta = torch.empty(1, 1, L, device="meta")
        return args._replace(node=meta, edge=[meta.new_empty(L, L), meta.new_empty(L, L, L)])

    chosen = {L: [_of_chains(name, sized(L)) for name in ("log_partition", "hvp")] for L in (7, 32, 64)}
    assert chosen == {7: ["cuda.orders"] * 2, 32: ["cuda.orders", "general"], 64: ["general"] * 2}
    with pytest.raises(ValueError, match=r"edges\[1\] has shape"):
        ops.order.best(*args._replace(edge=[args.edge[0]] * 2))
