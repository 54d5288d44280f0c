"""The operators of chains on the CPU, by the native kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from crfkit import _native
from crfkit.native import kernels
from crfkit.torch.batches import Chain
from crfkit.torch.tensors import Chains, chains_of, scores, threads_for, to_dlpack

__all__ = ["best", "by_table", "check_tables", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]


def check_tables(edges: Sequence[Tensor], L: int) -> None:
    """Raise unless table h has h + 1 axes of L labels."""
    if not edges:
        raise ValueError("edges is empty, expected a table for each order")
    for h, table in enumerate(edges, 1):
        if tuple(table.shape) != (L,) * (h + 1):
            raise ValueError(f"edges[{h - 1}] has shape {tuple(table.shape)}, expected {(L,) * (h + 1)}")


def _chains(chain: Chain) -> Chains:
    """Return chains whose table h is the sum of tables 1 to h, which is what a step of the sweep reads."""
    if not isinstance(chain.edge, list):
        return chains_of(chain)
    check_tables(chain.edge, chain.node.shape[-1])
    totals: list[Tensor] = []
    for table in chain.edge:
        wide = table.detach().double()
        totals.append(totals[-1] + wide if totals else wide)
    return chains_of(chain._replace(edge=totals))


def by_table(made: Sequence[Tensor], chain: Chain) -> Sequence[Tensor]:
    """Return gradients by the tables from those by their sums: a sum of h tables counts for all of them."""
    if not isinstance(chain.edge, list):
        return made
    node, start, *of_sums, stop = made
    grads: list[Tensor] = []
    for of_sum in reversed(of_sums):
        grads.append(of_sum + grads[-1].sum(0) if grads else of_sum)
    tables = [g.to(table.dtype) for g, table in zip(reversed(grads), chain.edge, strict=True)]
    return [node, start, *tables, stop]


def _sums(
    chain: Chain,
    labels: Tensor | None = None,
    weight: Tensor | None = None,
    scale: float = 1.0,
    grad: bool = True,
    total: Tensor | None = None,
) -> tuple[Tensor, Sequence[Tensor], Tensor]:
    """Return log Z or losses [B], the gradient of sum_b scale * weight[b] * value[b], and flags [B].

    `total`, one number, becomes this sum; a weight of 0 leaves a value out that is not finite.
    """
    chains = _chains(chain)
    value = torch.empty_like(chain.length, dtype=torch.float64)
    in_logs = torch.empty_like(chain.length, dtype=torch.uint8)
    made = chains.gradient() if grad else None
    _native.sum_tensors(
        kernels,
        chains.native,
        None if labels is None else to_dlpack(labels),
        None if weight is None else scores(weight),
        scale,
        None if made is None else [to_dlpack(x) for x in made],
        to_dlpack(value),
        to_dlpack(in_logs),
        None if total is None else to_dlpack(total),
        threads_for(chain.node, len(chain.tables)),
    )
    if made is None:
        return value, chain.nothing(), in_logs
    return value, by_table(chains.as_given(made), chain), in_logs


def checked_weight(weight: Tensor, length: Tensor) -> Tensor:
    """Return weights [B] in float64."""
    if weight.shape != length.shape:
        raise ValueError(f"weight has shape {tuple(weight.shape)}, expected {tuple(length.shape)}")
    return weight.detach().double().contiguous()


def check_count(name: str, count: int) -> None:
    """Refuse a number of labelings below 1."""
    if count < 1:
        raise ValueError(f"{name} is {count}, expected 1 or more")


def _labelings(chain: Chain, query: Callable[..., None], k: int = 1, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return k labelings at the rows of `node`, [B, k, T] or packed [k, P], and their scores [B, k]."""
    B, shape = chain.length.shape[0], chain.node.shape
    places = (B, k, shape[1]) if chain.first is None else (k, shape[0])
    labels = chain.length.new_full(places, -1, dtype=torch.int64)
    score = chain.length.new_empty((B, k), dtype=torch.float64)
    native, threads = _chains(chain).native, threads_for(chain.node, len(chain.tables), k)
    query(kernels, native, seed % 2**64, to_dlpack(labels), to_dlpack(score), threads)
    return labels, score


def log_partition(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    value, _, in_logs = _sums(chain, grad=False)
    return value, in_logs


def marginals(chain: Chain, weight: Tensor) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    value, made, in_logs = _sums(chain, weight=weight)
    return (*made, value, in_logs)


def loss(chain: Chain, labels: Tensor, weight: Tensor | None, scale: float, grad: bool) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    total = chain.length.new_empty((), dtype=chain.total_dtype)
    each, made, in_logs = _sums(chain, labels, weight, scale, grad, total)
    return (total, each, *made, in_logs)


def hvp(chain: Chain, weight: Tensor, *along: Tensor) -> tuple[Tensor, ...]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, <marginals, direction>, and log Z."""
    chains, direction = chains_of(chain), chain.with_scores(along)
    for name in ("node", "edge"):
        x, of = getattr(direction, name), getattr(chain, name)
        if x.shape != of.shape:
            raise ValueError(f"along_{name} has shape {tuple(x.shape)}, expected {tuple(of.shape)}")
    made = chains.gradient()
    dot = torch.empty_like(chain.length, dtype=torch.float64)
    value = torch.empty_like(chain.length, dtype=torch.float64)
    _native.hessian_of_tensors(
        kernels,
        chains.native,
        chains_of(direction).native,
        scores(weight),
        [to_dlpack(x) for x in made],
        to_dlpack(dot),
        to_dlpack(value),
        threads_for(chain.node, times=8),
    )
    return (*chains.as_given(made), dot, value)


def best(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return the best labels and their scores."""
    labels, score = _labelings(chain, _native.best_of_tensors)
    return labels.view(chain.node.shape[:-1]), score[:, 0]


def kbest(chain: Chain, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best labelings, -1 where there are fewer, and their scores."""
    check_count("k", k)
    return _labelings(chain, _native.kbest_of_tensors, k)


def sample(chain: Chain, n: int, seed: Tensor) -> Any:
    """Return n draws; each sequence has a stream of its own, by the seed and its number."""
    check_count("n", n)
    return _labelings(chain, _native.sample_tensors, n, int(seed))[0]
