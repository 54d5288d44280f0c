"""Limits on segment lengths: queries over the states of their automaton, answers in labels.

A state knows its label and how long the segment is (`crfkit.structures.chains.expansion`). Each allowed
labeling is one path of states, so that sums, best labelings and draws over states are those over labels.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from crfkit.structures.chains.expansion import Expansion
from crfkit.torch.inputs import Rows

__all__ = ["States"]


def _each(x: Rows, function: Callable[[Tensor], Tensor]) -> Rows:
    """Return rows of any form with a function applied to them."""
    if isinstance(x, PackedSequence):
        return x._replace(data=function(x.data))
    if isinstance(x, Tensor) and x.is_nested:
        return torch.nested.nested_tensor_from_jagged(function(x.values()), x.offsets())
    return function(x) if isinstance(x, Tensor) else x


class States(nn.Module):
    """The states of an automaton over labels."""

    label: Tensor
    forbidden_start: Tensor
    forbidden_step: Tensor
    forbidden_stop: Tensor

    def __init__(self, expansion: Expansion, labels: int, device: torch.device | str | None) -> None:
        super().__init__()
        self.count, self.expansion = labels, expansion
        self.forbid(device)

    def forbid(self, device: torch.device | str | None = None) -> None:
        """Make the buffers, on a device; by default where they are."""
        expansion, device = self.expansion, device or getattr(self, "label", torch.empty(0)).device
        buffers = {
            "label": expansion.state_label,  # [S]
            "forbidden_start": ~expansion.start,
            "forbidden_step": ~expansion.transition,
            "forbidden_stop": ~expansion.stop,
        }
        for name, array in buffers.items():
            self.register_buffer(name, torch.from_numpy(array).to(device), persistent=False)

    def tables(self, start: Tensor, edge: Tensor, stop: Tensor) -> dict[str, Tensor]:
        """Return scores over states, from those over labels."""
        return {
            "start": start[self.label].masked_fill(self.forbidden_start, -torch.inf),
            "edge": edge[self.label][:, self.label].masked_fill(self.forbidden_step, -torch.inf),
            "stop": stop[self.label].masked_fill(self.forbidden_stop, -torch.inf),
        }

    def scores(self, x: Rows) -> Rows:
        """Return scores or sets of labels [..., L] as those of states [..., S]."""

        def over_states(rows: Tensor) -> Tensor:
            if rows.ndim == 0 or rows.shape[-1] != self.count:
                raise ValueError(
                    f"scores or sets of labels have shape {tuple(rows.shape)}, "
                    f"expected {self.count} labels in the last axis"
                )
            return rows[..., self.label]

        return _each(x, over_states)

    def of_labels(self, labels: Rows) -> Rows:
        """Return the states [..., S] that each label may be; all of them where it is unknown."""
        return _each(labels, lambda y: (self.label == y[..., None]) | (y[..., None] < 0))

    def labels(self, states: Tensor) -> Tensor:
        """Return the labels of states; -1 stays."""
        made = _each(states, lambda s: torch.where(s < 0, s, self.label[s.clamp(min=0)]))
        assert isinstance(made, Tensor)
        return made

    def summed(self, x: Tensor, axes: int = 1) -> Tensor:
        """Return probabilities of states added up to those of labels, over the last one or two axes."""
        one = torch.nn.functional.one_hot(self.label, self.count)  # [S, L]
        made = _each(x, lambda p: p @ one.to(p) if axes == 1 else one.to(p).T @ p @ one.to(p))
        assert isinstance(made, Tensor)
        return made
