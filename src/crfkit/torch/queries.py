"""One batch of chains and its values: by the operators, or where the order is above 1 by `orders`."""

from __future__ import annotations

from copy import copy
from typing import Any

import torch
from torch import Tensor

from crfkit.torch import derivatives, ops, orders
from crfkit.torch.gold import clamped, expected_score, known_labels
from crfkit.torch.inputs import Edges, Lengths, Rows, sequences, tables, widened
from crfkit.torch.rows import positions

__all__ = ["Chains"]


class Chains:
    """Checked scores of a batch."""

    def __init__(
        self,
        node: Rows,
        edge: Edges,
        start: Tensor | None,
        stop: Tensor | None,
        mask: Tensor | None,
        lengths: Lengths | None,
        offsets: Lengths | None,
    ) -> None:
        self.rows = sequences(node, mask, lengths, offsets)
        self.start, self.edge, self.stop = tables(self.rows, start, edge, stop)
        self.higher = not isinstance(self.edge, Tensor)  # order 2 and more

    @property
    def args(self) -> tuple[Any, ...]:
        """The first seven arguments of every operator."""
        return (*self.rows.chain, self.start, self.edge, self.stop)

    def labels(self, query: str, *more: Any) -> Any:
        """Ask for labels, which have no derivatives: best, kbest, sample."""
        # Detached instead of under no_grad, which an exported program would hold in a graph of its own.
        args = (_detached(x) for x in self.args)
        return getattr(orders if self.higher else ops, query)(*args, *more)

    def widened(self) -> Chains:
        """Return the chains with scores of half precision in float32, so that gradients are rounded once."""
        node = widened(self.rows.node)
        if node is self.rows.node:
            return self
        made = copy(self)
        made.rows = self.rows._replace(node=node)
        return made

    def wide(self) -> bool:
        """Tell whether values are summed up in float64."""
        edge = self.edge if isinstance(self.edge, Tensor) else self.edge[0]
        return torch.float64 in (self.rows.node.dtype, edge.dtype)

    def log_partition(self, node: Tensor | None = None) -> Tensor:
        """Return log Z [B], with other scores of labels where they are given."""
        args = self.args if node is None else (node, *self.args[1:])
        value: Tensor = orders.log_partition(*args) if self.higher else derivatives.LogPartition.apply(*args)
        return value

    def losses(self, labels: Tensor | None, allowed: Tensor | None) -> Tensor:
        """Return losses [B] that can be differentiated."""
        if allowed is None:
            by: Any = orders.loss if self.higher else derivatives.Losses.apply
            each: Tensor = by(*self.args, labels)
            return each
        chains = self.widened()  # two gradients are added up
        if allowed.dtype == torch.bool:
            gold = chains.log_partition(clamped(chains.rows.node, labels, allowed))
        else:
            gold = expected_score(chains.rows, self.start, self.edge, self.stop, allowed)
        logz = chains.log_partition()
        value = torch.where(logz.isnan() | gold.isnan(), torch.nan, logz - gold)  # without a gradient there
        return torch.where((gold == -torch.inf) | (logz == -torch.inf), torch.inf, value)

    def marginals(self, edges: bool) -> tuple[Tensor, Tensor | None]:
        """Return probabilities of labels, and of steps where they are asked for."""
        args = list(self.widened().args)
        node = args[0]
        ones = torch.ones_like(self.rows.length, dtype=torch.float64)
        scores = (node, self.start, self.stop, *([self.edge] if isinstance(self.edge, Tensor) else self.edge))
        if self.higher:
            if edges:
                raise ValueError("edges=True needs a chain of order 1")
            single: Tensor = orders.marginals(*[*args, ones])[0]
            return self.rows.marked(single, scores, self.log_partition), None
        if edges and args[5].ndim == 2:  # a table for each row, all of them the same memory
            args[5] = args[5].expand(*node.shape[:-1], *args[5].shape)
        found = derivatives.Marginals.apply(*args, ones)
        single = self.rows.marked(found[0], scores, self.log_partition)
        return single, self.rows.marked(found[2], scores, self.log_partition) if edges else None

    def entropy(self) -> Tensor:
        """Return entropies [B]."""
        if not self.higher:
            value: Tensor = derivatives.Entropy.apply(*self.widened().args)
            return value
        args = self.widened().args
        node, _, _, _, start, edge, stop = args
        expected, logz = orders.expected(args, [_finite(x) for x in (node, start, *edge, stop)])
        return logz - expected

    def divergence(self, other: Tensor, start: Tensor, edge: Edges, stop: Tensor) -> Tensor:
        """Return KL(p || q) [B], q with these scores."""
        if not self.higher and isinstance(edge, Tensor):
            args = self.widened().args
            value: Tensor = derivatives.Divergence.apply(*args, widened(other), start, edge, stop)
            return value
        if isinstance(edge, Tensor) or isinstance(self.edge, Tensor) or len(edge) != len(self.edge):
            raise ValueError("other_edge must have as many tables as edge")
        args, other = self.widened().args, widened(other)
        pairs = list(
            zip((args[0], self.start, *self.edge, self.stop), (other, start, *edge, stop), strict=True)
        )
        expected, own = orders.expected(args, [derivatives.difference(p, q) for p, q in pairs])
        forbidden = [((p > -torch.inf) & (q == -torch.inf)).double() for p, q in pairs]
        outside, _ = orders.expected([_detached(x) for x in args], forbidden)
        logz = orders.log_partition(other, *self.rows.chain[1:], start, edge, stop)
        infinite = (outside > 0) | (own == -torch.inf) | (logz == -torch.inf)
        bad = logz.isnan() | own.isnan()
        value = torch.where(bad, torch.nan, expected - own + logz)
        return torch.where(infinite & ~bad, torch.inf, value)

    def raise_for(self, each: Tensor, labels: Tensor | None, sets: Tensor | None, numbers: bool) -> None:
        """Raise where a loss is +inf, or with `numbers` NaN, and say why; this waits for the device."""
        wrong = (~each.isfinite() if numbers else each.isinf()).nonzero()
        if not wrong.numel():
            return
        b = int(wrong[0])
        if labels is not None:
            known_labels(labels.cpu(), self.rows, look=True)
        if each[b].isnan():
            raise ValueError(f"sequence {b}: the scores hold NaN or +inf")
        remedy = "check=False lets the other sequences train on"
        if self.log_partition()[b] == -torch.inf:
            raise ValueError(f"sequence {b}: the scores and constraints allow no labeling; {remedy}")
        if labels is None:
            what = "the scores and constraints forbid all labelings that `allowed` allows"
            raise ValueError(f"sequence {b}: {what}: correct it or the constraints; {remedy}")
        row = self._first_forbidden(b, labels, sets)
        what = f"label {int(labels.flatten()[row])} is forbidden there, after the gold labels before it"
        raise ValueError(f"{self.rows.place(row)}: {what}: correct it or the constraints; {remedy}")

    def _first_forbidden(self, b: int, labels: Tensor, sets: Tensor | None) -> int:
        """Return the row of the first label that cannot be after those before it, by halving."""
        rows = self.rows
        order = positions(rows.node, rows.length, rows.first, rows.kept)[b, : int(rows.length[b])]
        low, high = 0, len(order) - 1  # the first such place is one of low, ..., high
        while low < high:
            middle = (low + high) // 2
            known = labels.new_full(labels.shape, -1).flatten()
            known[order[: middle + 1]] = labels.flatten()[order[: middle + 1]]
            with torch.no_grad():
                possible = self.losses(known.view(labels.shape), sets)[b] < torch.inf
            low, high = (middle + 1, high) if possible else (low, middle)
        return int(order[low])


def _finite(x: Tensor) -> Tensor:
    return x.masked_fill(x == -torch.inf, 0.0)


def _detached(x: Any) -> Any:
    if isinstance(x, list):
        return [one.detach() for one in x]
    return x.detach() if isinstance(x, Tensor) else x
