"""One batch and its values, by the operators of its structure."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from crfkit.torch import derivatives, ops
from crfkit.torch.batches import Batch, Chain, Edges
from crfkit.torch.gold import clamped, expected_score, has_infinity, known_labels, left_in, weighted, within
from crfkit.torch.inputs import Lengths, Rows, Sequences, has_shape, sequences, tables, visible, widened
from crfkit.torch.registry import ask
from crfkit.torch.rows import positions, traced
from crfkit.torch.structures import flat

__all__ = ["Chains", "Queries", "Reduction"]

Reduction: TypeAlias = Literal["mean", "sum", "token", "none"]
REMEDY = "check=False lets the other sequences train on"


class Queries:
    """Checked scores of a batch, and what chains and segments have in common."""

    structure: str  # of `crfkit.torch.derivatives`
    rows: Sequences
    batch: Batch

    def log_partition(self) -> Tensor:
        """Return log Z [B]."""
        value: Tensor = derivatives.LogPartition.apply(self.structure, *flat(self.batch))
        return value

    def losses(self, labels: Tensor, more: Tensor | None) -> Tensor:
        """Return losses [B] that can be differentiated."""
        each: Tensor = derivatives.Losses.apply(self.structure, labels, more, *flat(self.batch))
        return each

    def entropy(self) -> Tensor:
        """Return entropies [B]."""
        value: Tensor = derivatives.Entropy.apply(self.structure, *flat(self.widened()))
        return value

    def widened(self) -> Any:
        """Return the batch with rows of half precision in float32, so that gradients are rounded once."""
        batch = self.batch
        node = None if batch.node is None else widened(batch.node)
        if isinstance(batch, Chain) or batch.segment is None:
            return batch._replace(node=node)
        return batch._replace(node=node, segment=widened(batch.segment))

    def plain(self) -> Any:
        """Return the batch without derivatives, for queries that have none.

        Detached instead of under no_grad, which an exported program would hold in a graph of its own.
        """
        return self.batch.with_scores(None if x is None else x.detach() for x in self.batch.scores)

    def loss(
        self,
        gold: tuple[Any, Any],
        weight: Any,
        reduction: Reduction,
        check: bool | None,
        fused: bool = True,
        made: Tensor | None = None,
        share: Tensor | None = None,
    ) -> Tensor:
        """Return losses of labels and what belongs to them, weighted and added up as `chain_loss` says.

        `fused`: one call of an operator makes value and gradient. `made`: the losses [B], where they are not
        those of labels alone, and `share` [B], what they count as where tokens do.
        """
        length, look = self.batch.length, visible(self.rows.node)
        factor = self._weights(weight)
        divisor = length.shape[0] if reduction == "mean" else 1
        # A compiled graph would hold 1 / B as a constant: there B divides the answer.
        graph = not look and traced()
        scale = 1.0 if graph else 1.0 / max(divisor, 1)
        learned = factor is not None and factor.requires_grad  # the operator has no derivative by weights
        if fused and made is None and reduction != "none" and not learned:
            total, each = derivatives.loss(self.structure, *gold, factor, scale, *flat(self.batch))
        else:
            each = self.losses(*gold) if made is None else made
            if factor is not None:
                each = weighted(each, factor)
            if reduction != "none":
                total = (each.sum() * scale).to(self.batch.total_dtype)
        if check or (check is None and look and has_infinity(each if reduction == "none" else total)):
            self._raise_for(left_in(each, factor), gold, bool(check))
        if reduction == "none":
            return each
        if reduction == "token":
            return total / (length.sum().clamp(min=1) if share is None else share.sum())
        return total / divisor if graph and reduction == "mean" else total

    def _weights(self, weight: Any) -> Tensor | None:
        length = self.batch.length
        if weight is None:
            return None
        if not isinstance(weight, Tensor) or not has_shape(weight, length.shape):
            found = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
            raise ValueError(f"weight has shape {found}, expected ({length.shape[0]},)")
        if not weight.dtype.is_floating_point:
            raise ValueError(f"weight has type {weight.dtype}, expected a floating type")
        self.rows.check_device(weight, "weight")
        return weight

    def _raise_for(self, each: Tensor, gold: tuple[Any, Any], numbers: bool) -> None:
        """Raise where a loss is +inf, or with `numbers` NaN, and say why; this waits for the device."""
        wrong = (~each.isfinite() if numbers else each.isinf()).nonzero()
        if not wrong.numel():
            return
        b = int(wrong[0])
        self._check_gold(gold)
        if each[b].isnan():
            raise ValueError(f"sequence {b}: the scores hold NaN or +inf")
        if self.log_partition()[b] == -torch.inf:
            what = "labeling" if isinstance(self.batch, Chain) else "segmentation"
            raise ValueError(f"sequence {b}: the scores and constraints allow no {what}; {REMEDY}")
        raise ValueError(self._forbidden(b, gold))

    def _check_gold(self, gold: tuple[Any, Any]) -> None:
        """Raise where labels are out of range, if that has not been looked at before."""

    def _forbidden(self, b: int, gold: tuple[Any, Any]) -> str:
        """Return what is wrong with the gold of a sequence that other labels could have."""
        raise NotImplementedError

    def seed(self, generator: torch.Generator | None) -> Tensor:
        """Return the number [1] that decides draws."""
        device = self.rows.node.device
        return torch.randint(2**63 - 1, (1,), dtype=torch.int64, device=device, generator=generator)


class Chains(Queries):
    """Checked scores of a batch of chains."""

    batch: Chain

    def __init__(
        self,
        node: Rows,
        edge: Edges,
        *,
        start: Tensor | None = None,
        stop: Tensor | None = None,
        mask: Tensor | None = None,
        lengths: Lengths | None = None,
        offsets: Lengths | None = None,
        allowed: Rows | None = None,
    ) -> None:
        rows = sequences(node, mask, lengths, offsets)
        self.rows = rows = rows if allowed is None else within(rows, allowed)
        scores = tables(rows, start, edge, stop)
        self.batch = Chain(rows.node, rows.length, rows.first, rows.kept, *scores)
        self.higher = not isinstance(self.batch.edge, Tensor)  # order 2 and more
        self.structure = "order" if self.higher else "chain"

    def labels(self, query: str, *more: Any) -> Any:
        """Ask for labels, which have no derivatives: best, kbest, sample."""
        return ask(getattr(ops.order if self.higher else ops.chain, query), *self.plain(), *more)

    def _log_partition(self, chain: Chain) -> Tensor:
        value: Tensor = derivatives.LogPartition.apply(self.structure, *flat(chain))
        return value

    def losses(self, labels: Tensor | None, allowed: Tensor | None) -> Tensor:
        """Return losses [B] that can be differentiated."""
        if allowed is None:
            assert labels is not None
            return super().losses(labels, None)
        chain = self.widened()  # two gradients are added up
        if allowed.dtype == torch.bool:
            gold = self._log_partition(chain._replace(node=clamped(chain.node, labels, allowed)))
        else:
            gold = expected_score(chain, self.rows.offsets, allowed)
        logz = self._log_partition(chain)
        value = torch.where(logz.isnan() | gold.isnan(), torch.nan, logz - gold)  # without a gradient there
        return torch.where((gold == -torch.inf) | (logz == -torch.inf), torch.inf, value)

    def marginals(self, edges: bool) -> tuple[Tensor, Tensor | None]:
        """Return probabilities of labels, and of steps where they are asked for."""
        chain = self.widened()
        ones = torch.ones_like(chain.length, dtype=torch.float64)

        def marked(x: Tensor) -> Tensor:
            return self.rows.marked(x, self.batch.scores, self.log_partition)

        if self.higher:
            if edges:
                raise ValueError("edges=True needs a chain of order 1")
            return marked(derivatives.Marginals.apply("order", ones, *flat(chain))[0]), None
        if edges and chain.edge.ndim == 2:  # a table for each row, all of them the same memory
            chain = chain._replace(edge=chain.edge.expand(*chain.node.shape[:-1], *chain.edge.shape))
        single, _, steps, _ = derivatives.Marginals.apply("chain", ones, *chain)
        return marked(single), marked(steps) if edges else None

    def divergence(self, other: Tensor, start: Tensor, edge: Edges, stop: Tensor) -> Tensor:
        """Return KL(p || q) [B], q with these scores."""
        p = self.widened()
        q = p._replace(node=widened(other), start=start, edge=edge, stop=stop)
        if len(p.tables) != len(q.tables):
            raise ValueError("other_edge must have as many tables as edge")
        value: Tensor = derivatives.Divergence.apply(self.structure, *flat(p), *q.scores)
        return value

    def _check_gold(self, gold: tuple[Any, Any]) -> None:
        if gold[0] is not None:
            known_labels(gold[0].cpu(), self.rows, look=True)

    def _forbidden(self, b: int, gold: tuple[Any, Any]) -> str:
        labels, sets = gold
        if labels is None:
            what = "the scores and constraints forbid all labelings that `allowed` allows"
            return f"sequence {b}: {what}: correct it or the constraints; {REMEDY}"
        row = self._first_forbidden(b, labels, sets)
        what = f"label {int(labels.flatten()[row])} is forbidden there, after the gold labels before it"
        return f"{self.rows.place(row)}: {what}: correct it or the constraints; {REMEDY}"

    def _first_forbidden(self, b: int, labels: Tensor, sets: Tensor | None) -> int:
        """Return the row of the first label that cannot be after those before it, by halving."""
        order = positions(self.batch.node, self.batch)[b, : int(self.batch.length[b])]
        low, high = 0, len(order) - 1  # the first such place is one of low, ..., high
        while low < high:
            middle = (low + high) // 2
            known = labels.new_full(labels.shape, -1).flatten()
            known[order[: middle + 1]] = labels.flatten()[order[: middle + 1]]
            with torch.no_grad():
                possible = self.losses(known.view(labels.shape), sets)[b] < torch.inf
            low, high = (middle + 1, high) if possible else (low, middle)
        return int(order[low])
