"""The operators of `crfkit.torch.order_ops` on the CPU, by the native kernels."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from crfkit import _native
from crfkit.torch import cpu
from crfkit.torch.tensors import Chains, chains_of

__all__ = ["best", "check_tables", "kbest", "log_partition", "loss", "marginals", "sample"]


def check_tables(edges: Sequence[Tensor], L: int) -> None:
    """Raise unless table h has h + 1 axes of L labels."""
    if not edges:
        raise ValueError("edges is empty, expected a table for each order")
    for h, table in enumerate(edges, 1):
        if tuple(table.shape) != (L,) * (h + 1):
            raise ValueError(f"edges[{h - 1}] has shape {tuple(table.shape)}, expected {(L,) * (h + 1)}")


def _chains(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
) -> Chains:
    """Return chains whose table h is the sum of tables 1 to h, which is what a step of the sweep reads."""
    check_tables(edges, node.shape[-1])
    totals: list[Tensor] = []
    for table in edges:
        wide = table.detach().double()
        totals.append(totals[-1] + wide if totals else wide)
    return chains_of(node, length, first, index, start, totals, stop)


def _by_table(made: Sequence[Tensor], edges: Sequence[Tensor]) -> list[Tensor]:
    """Return gradients by the tables from those by their sums: a sum of h tables counts for all of them."""
    node, start, *of_sums, stop = made
    grads: list[Tensor] = []
    for of_sum in reversed(of_sums):
        grads.append(of_sum + grads[-1].sum(0) if grads else of_sum)
    tables = [g.to(table.dtype) for g, table in zip(reversed(grads), edges, strict=True)]
    return [node, start, *tables, stop]


def log_partition(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
) -> Tensor:
    """Return log Z."""
    return cpu.sums(_chains(node, length, first, index, start, edges, stop), grad=False)[0]


def marginals(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    weight: Tensor,
) -> list[Tensor]:
    """Return gradients."""
    chains = _chains(node, length, first, index, start, edges, stop)
    return _by_table(cpu.sums(chains, weight=weight)[1], edges)


def loss(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    labels: Tensor,
    weight: Tensor | None,
    grad: bool,
) -> tuple[Tensor, list[Tensor]]:
    """Return losses and gradients."""
    chains = _chains(node, length, first, index, start, edges, stop)
    each, made, _ = cpu.sums(chains, labels, weight, grad=grad)
    return each, _by_table(made, edges) if grad else []


def best(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the best labels and their scores."""
    chains = _chains(node, length, first, index, start, edges, stop)
    labels, score = cpu.labelings(chains, _native.best_of_tensors)
    return labels.view(node.shape[:-1]), score[:, 0]


def kbest(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    k: int,
) -> tuple[Tensor, Tensor]:
    """Return the k best labelings and their scores."""
    cpu.check_count("k", k)
    chains = _chains(node, length, first, index, start, edges, stop)
    return cpu.labelings(chains, _native.kbest_of_tensors, k)


def sample(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edges: Sequence[Tensor],
    stop: Tensor,
    n: int,
    seed: Tensor,
) -> Tensor:
    """Return n draws."""
    cpu.check_count("n", n)
    chains = _chains(node, length, first, index, start, edges, stop)
    return cpu.labelings(chains, _native.sample_tensors, n, int(seed))[0]
