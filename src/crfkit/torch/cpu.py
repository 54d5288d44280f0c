"""The operators of `crfkit.torch.ops` on the CPU, by the native kernels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from crfkit import _native
from crfkit.native import kernels
from crfkit.torch.tensors import Chains, chains_of, scores, threads_for, to_dlpack

__all__ = ["best", "hvp", "kbest", "labelings", "log_partition", "loss", "marginals", "sample", "sums"]


def sums(
    chains: Chains,
    labels: Tensor | None = None,
    weight: Tensor | None = None,
    scale: float = 1.0,
    grad: bool = True,
) -> tuple[Tensor, tuple[Tensor, ...], Tensor]:
    """Return log Z or losses [B], the gradient of sum_b scale * weight[b] * value[b], and flags [B]."""
    value = torch.empty(chains.length.shape, dtype=torch.float64)
    in_logs = torch.empty(chains.length.shape, dtype=torch.uint8)
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
        threads_for(chains.node, len(chains.tables)),
    )
    return value, () if made is None else chains.as_given(made), in_logs


def checked_weight(weight: Tensor, length: Tensor) -> Tensor:
    """Return weights [B] in float64."""
    if weight.shape != length.shape:
        raise ValueError(f"weight has shape {tuple(weight.shape)}, expected {tuple(length.shape)}")
    return weight.detach().double().contiguous()


def labelings(chains: Chains, query: Callable[..., None], k: int = 1, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return k labelings at the rows of `node`, [B, k, T] or packed [k, P], and their scores [B, k]."""
    B, shape = chains.length.shape[0], chains.node.shape
    labels = torch.full((k, shape[0]) if chains.packed else (B, k, shape[1]), -1, dtype=torch.int64)
    score = torch.empty((B, k), dtype=torch.float64)
    threads = threads_for(chains.node, len(chains.tables), k)
    query(kernels, chains.native, seed % 2**64, to_dlpack(labels), to_dlpack(score), threads)
    return labels, score


def check_count(name: str, count: int) -> None:
    """Refuse a number of labelings below 1."""
    if count < 1:
        raise ValueError(f"{name} is {count}, expected 1 or more")


def log_partition(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    value, _, in_logs = sums(chains_of(node, length, first, index, start, [edge], stop), grad=False)
    return value, in_logs


def marginals(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    weight: Tensor,
) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    chains = chains_of(node, length, first, index, start, [edge], stop)
    value, made, in_logs = sums(chains, weight=weight)
    return (*made, value, in_logs)


def loss(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    labels: Tensor,
    weight: Tensor | None,
    scale: float,
    grad: bool,
) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    chains = chains_of(node, length, first, index, start, [edge], stop)
    each, made, in_logs = sums(chains, labels, weight, scale, grad)
    total = (each if weight is None else each * weight).sum() * scale
    if torch.float64 not in (node.dtype, edge.dtype):
        total = total.float()
    return (total, each, *(made if grad else (node.new_empty(0) for _ in range(4))), in_logs)


def hvp(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    weight: Tensor,
    along_node: Tensor,
    along_start: Tensor,
    along_edge: Tensor,
    along_stop: Tensor,
) -> tuple[Tensor, ...]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, <marginals, direction>, and log Z."""
    chains = chains_of(node, length, first, index, start, [edge], stop)
    for name, x, of in [("node", along_node, node), ("edge", along_edge, edge)]:
        if x.shape != of.shape:
            raise ValueError(f"along_{name} has shape {tuple(x.shape)}, expected {tuple(of.shape)}")
    along = chains_of(along_node, length, first, index, along_start, [along_edge], along_stop)
    made = chains.gradient()
    dot = torch.empty(length.shape, dtype=torch.float64)
    value = torch.empty(length.shape, dtype=torch.float64)
    _native.hessian_of_tensors(
        kernels,
        chains.native,
        along.native,
        scores(weight),
        [to_dlpack(x) for x in made],
        to_dlpack(dot),
        to_dlpack(value),
        threads_for(node, times=8),
    )
    return (*chains.as_given(made), dot, value)


def best(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the best labels and their scores."""
    chains = chains_of(node, length, first, index, start, [edge], stop)
    labels, score = labelings(chains, _native.best_of_tensors)
    return labels.view(node.shape[:-1]), score[:, 0]


def kbest(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    k: int,
) -> tuple[Tensor, Tensor]:
    """Return the k best labelings, -1 where there are fewer, and their scores."""
    check_count("k", k)
    chains = chains_of(node, length, first, index, start, [edge], stop)
    return labelings(chains, _native.kbest_of_tensors, k)


def sample(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    n: int,
    seed: Tensor,
) -> Tensor:
    """Return n draws; each sequence has a stream of its own, by the seed and its number."""
    check_count("n", n)
    chains = chains_of(node, length, first, index, start, [edge], stop)
    return labelings(chains, _native.sample_tensors, n, int(seed))[0]
