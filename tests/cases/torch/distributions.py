"""Distributions of torch-struct's names on random scores, and all of their events."""

from __future__ import annotations

from itertools import pairwise, product

import torch
from torch import Tensor

from crfkit.compat.torch_struct import LinearChainCRF, SemiMarkov, SemiMarkovCRF


def segmentations(length: int, K: int, C: int) -> Tensor:
    """All sequences of a semi-Markov model: labels at boundaries, -1 between."""
    found = []
    for marks in product([False, True], repeat=max(length - 2, 0)):
        ends = [0, *(t + 1 for t, on in enumerate(marks) if on), *([length - 1] if length > 1 else [])]
        if any(b - a >= K for a, b in pairwise(ends)):
            continue
        for labels in product(range(C), repeat=len(ends)):
            row = torch.full((length,), -1)
            row[ends] = torch.tensor(labels)
            found.append(row)
    return torch.stack(found)


def support(dist: LinearChainCRF | SemiMarkovCRF, b: int) -> Tensor:
    """All events of one batch element."""
    scores = dist.log_potentials
    length = int(dist._length[b])
    if isinstance(dist, LinearChainCRF):
        events, counts = dist.enumerate_support()
        return events[: int(counts[b]), b]
    _, N_1, K, C, _ = scores.shape
    made = SemiMarkov.to_parts(segmentations(length, K, C), (C, K)).to(scores.dtype)
    return torch.cat([made, made.new_zeros(len(made), N_1 - length + 1, K, C, C)], 1)


def make(kind: str, seed: int, forbidden: bool = False) -> LinearChainCRF | SemiMarkovCRF:
    torch.manual_seed(seed)
    shape = (3, 4, 3, 3) if kind == "chain" else (3, 4, 3, 2, 2)
    scores = torch.randn(shape, dtype=torch.float64) * 2
    if forbidden:
        scores[torch.rand(shape) < 0.1] = -torch.inf
    cls = LinearChainCRF if kind == "chain" else SemiMarkovCRF
    return cls(scores, torch.tensor([5, 2, 4]))
