"""What `torch.jit.script` makes of the module: the same answers by two operators, which scripts can call.

TorchScript reads annotations as they are at run time, so that they are not postponed here.
"""

from typing import Any

import torch
from torch import Tensor, nn

from crfkit.compat.torchcrf import Scores

__all__ = ["Script"]

_TABLES = "Tensor start, Tensor transitions, Tensor end, bool batch_first"
_LIBRARY = torch.library.Library("crfkit", "FRAGMENT")
_LIBRARY.define(
    f"torchcrf_likelihood(Tensor emissions, Tensor tags, Tensor? mask, str reduction, {_TABLES}) -> Tensor"
)
_LIBRARY.define(f"torchcrf_best(Tensor emissions, Tensor? mask, {_TABLES}) -> Tensor")


class _Given(Scores):
    """Scores that an operator is given."""

    def __init__(self, start: Tensor, transitions: Tensor, end: Tensor, batch_first: bool) -> None:
        self.start_transitions, self.transitions, self.end_transitions = start, transitions, end
        self.num_tags, self.batch_first = len(start), batch_first


def _likelihood(emissions: Tensor, tags: Tensor, mask: Any, reduction: str, *tables: Any) -> Tensor:
    return _Given(*tables).likelihood(emissions, tags, mask, reduction)


def _best(emissions: Tensor, mask: Any, *tables: Any) -> Tensor:
    labels, inside = _Given(*tables).best(emissions, mask)
    return labels if inside is None else labels.masked_fill(~inside.bool(), -1)


# Of functions with derivatives of their own, so that they need none as operators.
_LIBRARY.impl("torchcrf_likelihood", _likelihood, "CompositeImplicitAutograd")
_LIBRARY.impl("torchcrf_best", _best, "CompositeImplicitAutograd")


class Script(nn.Module):
    """The module as scripts have it."""

    batch_first: bool

    def __init__(self, crf: Any) -> None:
        super().__init__()
        self.num_tags, self.batch_first = crf.num_tags, crf.batch_first
        self.start_transitions, self.end_transitions = crf.start_transitions, crf.end_transitions
        self.transitions = crf.transitions
        self.train(crf.training)

    def forward(
        self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None, reduction: str = "sum"
    ) -> Tensor:
        """Return log likelihoods of tags."""
        return torch.ops.crfkit.torchcrf_likelihood(
            emissions,
            tags,
            mask,
            reduction,
            self.start_transitions,
            self.transitions,
            self.end_transitions,
            self.batch_first,
        )

    @torch.jit.export  # type: ignore[untyped-decorator]
    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """Return the best tags of each sequence."""
        labels = torch.ops.crfkit.torchcrf_best(
            emissions, mask, self.start_transitions, self.transitions, self.end_transitions, self.batch_first
        )
        found: list[list[int]] = []
        for b in range(labels.size(0)):
            row = labels[b]
            tags: list[int] = row[row >= 0].tolist()
            found.append(tags)
        return found
