"""A replacement of pytorch-crf 0.7.2: the same class, parameters, shapes and errors, on crfkit's kernels.

``from crfkit.compat.torchcrf import CRF`` for ``from torchcrf import CRF``; state dicts of the original load.
`forward` returns the log *likelihood*, as the original does, and `decode` returns lists. New code is better
served by `crfkit.torch.CRF`, whose answers are tensors.

What differs, on purpose:

- A position that the mask leaves out is not in the chain, wherever it is; the original scores transitions
  from tags under the mask, which makes likelihoods above 0, and returns tags of other positions.
- Emissions and tags under the mask are never read: NaN or -100 there is harmless.
- A mask is uint8 or bool; any other type is a RuntimeError at once.

`torch.jit.script` takes the module, as it takes that of the original's newest sources. A saved script needs
``import crfkit.compat.torchcrf.scripts`` before `torch.jit.load`, and Python.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from crfkit.torch import ops
from crfkit.torch.derivatives import LogPartition, Losses, loss
from crfkit.torch.registry import ask
from crfkit.torch.rows import kept

__all__ = ["CRF"]

__version__ = "0.7.2"


class Scores:
    """Tags under the three tables of scores: what the module asks, and what its scripts ask."""

    num_tags: int
    batch_first: bool
    start_transitions: Tensor
    transitions: Tensor
    end_transitions: Tensor

    def likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor | None, reduction: str) -> Tensor:
        """Return log likelihoods, as `CRF.forward` does."""
        self._validate(emissions, tags=tags, mask=mask)
        if reduction not in ("none", "sum", "mean", "token_mean"):
            raise ValueError(f"invalid reduction: {reduction}")
        if not self.batch_first:
            emissions, tags = emissions.transpose(0, 1), tags.transpose(0, 1)
            mask = None if mask is None else mask.transpose(0, 1)
        chain = self._chain(emissions, mask)
        gold = self._gold(tags, mask)
        dtype = torch.result_type(emissions, self.transitions)
        if reduction == "none":
            each: Tensor = -Losses.apply("chain", gold, None, *chain).to(dtype)
            return each
        scale = 1.0 / max(len(tags), 1) if reduction == "mean" else 1.0
        total: Tensor = -loss("chain", gold, None, None, scale, *chain)[0].to(dtype)
        return total / chain[1].sum() if reduction == "token_mean" else total

    def best(self, emissions: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the best tags and the mask, both (batch, time)."""
        self._validate(emissions, mask=mask)
        if not self.batch_first:
            emissions = emissions.transpose(0, 1)
            mask = None if mask is None else mask.transpose(0, 1)
        return self._best(emissions, mask), mask

    def _best(self, emissions: Tensor, mask: Tensor | None) -> Tensor:
        labels: Tensor = ask(ops.chain.best, *self._chain(emissions.detach(), mask))[0]
        return labels

    def _validate(self, emissions: Tensor, tags: Tensor | None = None, mask: Tensor | None = None) -> None:
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError(
                f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}"
            )
        if tags is not None and (tags.dtype.is_floating_point or tags.dtype == torch.bool):
            raise IndexError(f"tags must be whole numbers, got {tags.dtype}")
        for name, other in (("tags", tags), ("mask", mask)):
            if other is not None and other.device != emissions.device:
                raise RuntimeError(f"{name} is on {other.device}, but emissions are on {emissions.device}")
            if other is not None and emissions.shape[:2] != other.shape:
                raise ValueError(
                    f"the first two dimensions of emissions and {name} must match, "
                    f"got {tuple(emissions.shape[:2])} and {tuple(other.shape)}"
                )
        if emissions.shape[1 if self.batch_first else 0] == 0:
            raise IndexError("emissions have no time steps: a sequence has one at least")
        if mask is not None:
            if mask.dtype not in (torch.uint8, torch.bool):
                raise RuntimeError(f"mask must be of type torch.uint8 or torch.bool, got {mask.dtype}")
            if not (mask[:, 0] if self.batch_first else mask[0]).all():
                raise ValueError("mask of the first timestep must all be on")

    def _chain(self, emissions: Tensor, mask: Tensor | None) -> tuple[Any, ...]:
        """Return the arguments of an operator for emissions (batch, time, tags)."""
        index = None
        if mask is None:
            length = torch.full(
                emissions.shape[:1], emissions.shape[1], dtype=torch.int32, device=emissions.device
            )
        else:
            length, index = kept(mask.bool())
        if emissions.stride(-1) != 1:
            emissions = emissions.contiguous()
        start, edge, stop = (
            scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
            for scores in (self.start_transitions, self.transitions, self.end_transitions)
        )
        return emissions, length, None, index, start, edge, stop

    def _gold(self, tags: Tensor, mask: Tensor | None) -> Tensor:
        """Return tags as labels: negative ones count from the end, as in any index of torch."""
        K = self.num_tags
        tags = tags.long()
        if tags.device.type == "cpu":
            wrong = (tags < -K) | (tags >= K)
            if mask is not None:
                wrong &= mask.bool()
            if wrong.any():
                b, t = wrong.nonzero()[0].tolist()
                raise IndexError(
                    f"tag {int(tags[b, t])} of sequence {b}, position {t} is out of range for {K} tags"
                )
        wrapped = torch.where(tags < 0, tags + K, tags)
        return torch.where(wrapped < 0, K, wrapped)  # K is out of range: never summed over


class CRF(Scores, nn.Module):
    """A linear-chain conditional random field on top of a network.

    Parameters
    ----------
    num_tags : int
        How many tags there are.
    batch_first : bool
        Whether tensors are (batch, time, ...) rather than (time, batch, ...).

    Examples
    --------
    >>> crf = CRF(3, batch_first=True)
    >>> emissions, tags = torch.zeros(1, 2, 3), torch.tensor([[0, 2]])
    >>> crf(emissions, tags).shape, crf.transitions.shape
    (torch.Size([]), torch.Size([3, 3]))
    """

    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all scores uniformly from -0.1 to 0.1, in the order of the original."""
        for scores in (self.start_transitions, self.end_transitions, self.transitions):
            nn.init.uniform_(scores, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_tags={self.num_tags})"

    def forward(
        self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None, reduction: str = "sum"
    ) -> Tensor:
        """Return log likelihoods of tags.

        Parameters
        ----------
        emissions : tensor (time, batch, tags)
            Scores of the network.
        tags : tensor (time, batch)
            Gold tags.
        mask : tensor (time, batch) of uint8 or bool, optional
            Which positions are there; the first one must be.
        reduction : "none", "sum", "mean" or "token_mean"
            What to do with the likelihoods of the sequences of the batch.
        """
        return self.likelihood(emissions, tags, mask, reduction)

    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """Return the best tags of each sequence; ties go to the lowest tag."""
        return _lists(*self.best(emissions, mask))

    def __prepare_scriptable__(self) -> nn.Module:
        """Return what `torch.jit.script` compiles in the place of this module."""
        from crfkit.compat.torchcrf.scripts import Script

        return Script(self)

    # The names below are private in the original too, but programs call them; tensors are time-major.
    def _compute_score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        emissions, tags, mask = (x.transpose(0, 1) for x in (emissions, tags, mask))
        chain = self._chain(emissions, mask)
        loss = Losses.apply("chain", self._gold(tags, mask), None, *chain)
        score: Tensor = (LogPartition.apply("chain", *chain) - loss).to(emissions.dtype)
        return score

    def _compute_normalizer(self, emissions: Tensor, mask: Tensor) -> Tensor:
        chain = self._chain(emissions.transpose(0, 1), mask.transpose(0, 1))
        logz: Tensor = LogPartition.apply("chain", *chain).to(emissions.dtype)
        return logz

    def _viterbi_decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        mask = mask.transpose(0, 1)
        return _lists(self._best(emissions.transpose(0, 1), mask), mask)


def _lists(labels: Tensor, mask: Tensor | None) -> list[list[int]]:
    if mask is None:
        whole: list[list[int]] = labels.tolist()
        return whole
    pairs = zip(labels.tolist(), mask.tolist(), strict=True)
    return [[tag for tag, here in zip(row, inside, strict=True) if here] for row, inside in pairs]
