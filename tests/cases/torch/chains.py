"""Random chains as the operators of crfkit.torch take them, and all of their labelings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.rows import kept


@dataclass(frozen=True)
class Chains:
    node: Tensor
    length: Tensor
    first: Tensor | None
    index: Tensor | None
    start: Tensor
    edge: Tensor
    stop: Tensor

    @property
    def args(self) -> Chain:
        return Chain(self.node, self.length, self.first, self.index, self.start, self.edge, self.stop)

    @property
    def scores(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.node, self.start, self.edge, self.stop

    def double(self) -> Chains:
        """The same chains in float64: what an answer in less is compared with."""
        return replace(
            self, **{name: getattr(self, name).double() for name in ("node", "start", "edge", "stop")}
        )


def random_chains(
    B: int,
    T: int,
    L: int,
    *,
    form: str = "padded",  # padded, time-first, holes, packed
    edges: str = "shared",  # shared [L, L]; each [B, T, L, L] or packed [P, L, L]; between [B, T - 1, L, L]
    dtype: torch.dtype = torch.float32,
    scale: float = 1.0,
    forbidden: float = 0.0,
    seed: int = 0,
    device: str = "cpu",
) -> Chains:
    """Chains of 0 to T positions; the first has T, the last has none if there are three or more."""
    random = torch.Generator().manual_seed(seed)

    def scores(*shape: int) -> Tensor:
        drawn = torch.randn(*shape, generator=random, dtype=torch.float64) * scale
        banned = torch.rand(*shape, generator=random) < forbidden
        return drawn.masked_fill(banned, -torch.inf)

    length = torch.randint(1, T + 1, (B,), generator=random, dtype=torch.int32)
    length[0] = T
    if B > 2:
        length[-1] = 0
    first = index = None
    if form == "packed":
        first = length.cumsum(0) - length
        node = scores(int(length.sum()), L)
    elif form == "time-first":
        node = scores(T, B, L).transpose(0, 1)
    else:
        node = scores(B, T, L)
    if form == "holes":
        mask = torch.rand(B, T, generator=random) < 0.6
        mask[-1] = False
        length, index = kept(mask)
    shape = {"shared": (L, L), "each": (*node.shape[:-1], L, L), "between": (B, T - 1, L, L)}[edges]
    wide = dtype if dtype in (torch.float32, torch.float64) else torch.float32
    made = Chains(
        node.to(dtype), length, first, index, scores(L).to(wide), scores(*shape).to(wide), scores(L).to(wide)
    )
    moved = {k: v.to(device) for k, v in vars(made).items() if v is not None}
    return replace(made, **moved)


def random_labels(chains: Chains, unknown: float = 0.0, seed: int = 1) -> Tensor:
    """Labels of every row; some are -1 (unknown)."""
    random = torch.Generator().manual_seed(seed)
    shape, L = chains.node.shape[:-1], chains.node.shape[-1]
    labels = torch.randint(L, shape, generator=random)
    labels[torch.rand(shape, generator=random) < unknown] = -1
    return labels.to(chains.node.device)


def rows_of(chains: Chains, b: int) -> list[tuple[int, ...]]:
    """Where the positions of one chain lie in `node`."""
    n = int(chains.length[b])
    if chains.first is not None:
        return [(int(chains.first[b]) + t,) for t in range(n)]
    return [(b, int(chains.index[b, t]) if chains.index is not None else t) for t in range(n)]


def labelings(chains: Chains, b: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every labeling of one chain with its score in float64, best first; small chains only."""
    rows = rows_of(chains, b)
    node, start, edge, stop = (x.double().cpu() for x in chains.scores)
    found = []
    for labels in product(range(node.shape[-1]), repeat=len(rows)):
        score = float(start[labels[0]] + stop[labels[-1]]) if rows else 0.0
        for t, row in enumerate(rows):
            score += float(node[(*row, labels[t])])
            if t:
                table = edge
                if edge.ndim > 2:
                    between = edge.ndim == 4 and edge.shape[1] < node.shape[1]
                    table = edge[(row[0], row[1] - 1)] if between else edge[row]
                score += float(table[labels[t - 1], labels[t]])
        found.append((score, labels))
    return sorted(found, key=lambda pair: -pair[0])
