"""Chains of order 2 and 3 by the native kernels against the reference in plain torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import ops, reference
from crfkit.torch.batches import Chain
from crfkit.torch.derivatives import LogPartition, Losses, Marginals
from crfkit.torch.structures import flat
from tests.cases.torch.chains import random_chains, random_labels, rows_of

FORMS = ["padded", "time-first", "holes", "packed"]


def tables(L: int, order: int, forbidden: float = 0.0) -> list[Tensor]:
    random = torch.Generator().manual_seed(5)
    made = [torch.randn((L,) * (h + 1), generator=random, dtype=torch.float64) for h in range(1, order + 1)]
    return [x.masked_fill(torch.rand(x.shape, generator=random) < forbidden, -torch.inf) for x in made]


def case(form: str, order: int, forbidden: float = 0.0) -> tuple[Any, Chain]:
    chains = random_chains(4, 5, 3, form=form, forbidden=forbidden, dtype=torch.float64)
    return chains, chains.args._replace(edge=tables(3, order, forbidden))


def log_partition(chain: Chain) -> Any:
    return LogPartition.apply("order", *flat(chain))


def losses(chain: Chain, labels: Tensor) -> Any:
    return Losses.apply("order", labels, None, *flat(chain))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("forbidden", [0.0, 0.07])
def test_every_query(form: str, order: int, forbidden: float) -> None:
    chains, args = case(form, order, forbidden)
    labels = random_labels(chains, unknown=0.3)
    weight = torch.tensor([1.0, -0.5, 2.0, 1.0], dtype=torch.float64)
    close: Any = torch.testing.assert_close
    close(log_partition(args), reference.log_partition(args))
    close(Marginals.apply("order", weight, *flat(args)), reference.marginals(args, weight)[:-1])
    close(losses(args, labels), reference.loss(args, labels))
    close(ops.order.best(*args), reference.best(args))
    close(ops.order.kbest(*args, 4), reference.kbest(args, 4))
    draws = ops.order.sample(*args, 2, torch.tensor([1]))
    logz = reference.log_partition(args)
    for b in range(4):
        path = draws[0] if form == "packed" else draws[:, 0]
        drawn = [int(path[row]) for row in rows_of(chains, b)]
        assert (set(drawn) <= {0, 1, 2}) == (float(logz[b]) > -torch.inf)


@pytest.mark.parametrize("form", ["padded", "packed"])
def test_derivatives_against_differences(form: str) -> None:
    chains, args = case(form, 2)
    labels = random_labels(chains, unknown=0.3)
    leaves = tuple(x.detach().clone().requires_grad_() for x in args.scores)

    def run(function: Any, *more: Any) -> Any:
        return lambda *scores: function(args.with_scores(scores), *more)

    assert torch.autograd.gradcheck(run(log_partition), leaves)
    assert torch.autograd.gradgradcheck(run(log_partition), leaves, fast_mode=True)
    assert torch.autograd.gradcheck(run(losses, labels), leaves)
    assert torch.autograd.gradgradcheck(run(losses, labels), leaves, fast_mode=True)


def test_bad_tables_are_refused() -> None:
    _, args = case("padded", 2)
    with pytest.raises(ValueError, match="edges is empty"):
        ops.order.best(*args._replace(edge=[]))
    with pytest.raises(ValueError, match=r"edges\[1\] has shape \(3, 3\), expected \(3, 3, 3\)"):
        ops.order.best(*args._replace(edge=[args.edge[0]] * 2))
