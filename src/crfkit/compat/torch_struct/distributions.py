"""Distributions over labelings and segmentations, with the properties of torch-struct's."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.distributions.distribution import Distribution

from crfkit._safe.cached import once
from crfkit.compat.torch_struct import segments
from crfkit.compat.torch_struct.events import LinearChain, SemiMarkov
from crfkit.torch import ops
from crfkit.torch.derivatives import LogPartition, Marginals
from crfkit.torch.inputs import visible
from crfkit.torch.registry import ask

__all__ = ["HMM", "LinearChainCRF", "SemiMarkovCRF", "StructDistribution"]


def _times(weights: Tensor, scores: Tensor) -> Tensor:
    """Return <weights, scores> of each batch element, with 0 * -inf = 0."""
    return torch.where(weights == 0, 0.0, weights * torch.where(weights == 0, 0.0, scores)).flatten(1).sum(1)


class StructDistribution(Distribution, ABC):
    """What all of them have: subclasses say how sums, best structures and draws are found.

    Parameters
    ----------
    log_potentials : tensor [batch, N - 1, ...]
        Scores of all parts; -inf forbids one.
    lengths : tensor [batch], optional
        How many positions each has, N at the most.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    struct: ClassVar[Any]

    def __init__(self, log_potentials: Tensor, lengths: Tensor | None = None, args: Any = None) -> None:
        self.log_potentials = log_potentials
        self.lengths = lengths
        self.args = args
        self._check()
        shape = log_potentials.shape
        super().__init__(batch_shape=shape[:1], event_shape=shape[1:], validate_args=False)

    def _check(self) -> None:
        shape, axes = self.log_potentials.shape, 4 + (self.struct is SemiMarkov)
        names = "[batch, N - 1, K, C, C]" if axes == 5 else "[batch, N - 1, C, C]"
        if len(shape) != axes or shape[-1] != shape[-2]:
            raise ValueError(f"log_potentials have shape {tuple(shape)}, expected {names}")
        N = shape[1] + 1
        if self.lengths is None:
            self._length = torch.full(shape[:1], N, dtype=torch.int32, device=self.log_potentials.device)
            return
        if self.lengths.shape != shape[:1]:
            raise ValueError(f"lengths have shape {tuple(self.lengths.shape)}, expected {tuple(shape[:1])}")
        if self.lengths.device.type == "cpu" and not ((self.lengths >= 1) & (self.lengths <= N)).all():
            low, high = int(self.lengths.min()), int(self.lengths.max())
            raise ValueError(f"lengths go from {low} to {high}, expected 1 to {N}")
        self._length = self.lengths.to(self.log_potentials.device, torch.int32)

    # What a subclass gives.
    @abstractmethod
    def _log_partition(self, scores: Tensor) -> Tensor:
        """Return log Z [batch]."""

    @abstractmethod
    def _marginals(self, scores: Tensor) -> Tensor:
        """Return probabilities of parts."""

    @abstractmethod
    def _best(self, k: int) -> tuple[Tensor, Tensor]:
        """Return events [k, batch, ...] and scores [k, batch]."""

    @abstractmethod
    def _draws(self, n: int) -> Tensor:
        """Return events [n, batch, ...]."""

    @once
    def partition(self) -> Tensor:
        """Log Z [batch]."""
        return self._log_partition(self.log_potentials).to(self.log_potentials.dtype)

    @once
    def marginals(self) -> Tensor:
        """Probabilities of all parts [batch, ...]; they can be differentiated."""
        found, scores = self._marginals(self.log_potentials), self.log_potentials
        if not visible(found) or scores.detach().sum() < torch.inf:
            return found
        bad = self.partition.detach().isnan()  # NaN or +inf is among the scores
        return found.masked_fill(bad.view(-1, *(1,) * (found.ndim - 1)), torch.nan)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return log probabilities [..., batch] of events [..., batch, ...]."""
        dims = range(value.dim() - len(self.event_shape))
        score: Tensor = self.struct().score(self.log_potentials, value.type_as(self.log_potentials), dims)
        return score - self.partition

    @once
    def entropy(self) -> Tensor:
        """Entropies [batch]: log Z - <marginals, scores>."""
        return self.partition - _times(self.marginals, self.log_potentials)

    def cross_entropy(self, other: StructDistribution) -> Tensor:
        """Return -E_p[log q] of each batch element; +inf where q forbids what p allows."""
        return other.partition - _times(self.marginals, other.log_potentials)

    def kl(self, other: StructDistribution) -> Tensor:
        """Return KL(p || q) of each batch element."""
        return self.cross_entropy(other) - self.entropy

    @once
    def argmax(self) -> Tensor:
        """Event of the best structure."""
        return self._best(1)[0][0].to(self.log_potentials.dtype)

    @once
    def max(self) -> Tensor:
        """Score of the best structure, whose gradient is its event."""
        return _times(self.argmax, self.log_potentials)

    @property
    def mode(self) -> Tensor:
        """Event of the best structure."""
        return self.argmax

    def topk(self, k: int) -> Tensor:
        """Return events [k, batch, ...] of the k best structures, zeros beyond those that exist."""
        return self._best(k)[0].to(self.log_potentials.dtype)

    def kmax(self, k: int) -> Tensor:
        """Return scores [k, batch] of the k best structures, -inf beyond those that exist."""
        return self._best(k)[1].to(self.log_potentials.dtype)

    @once
    def count(self) -> Tensor:
        """How many structures are allowed."""
        flat = torch.where(self.log_potentials.detach() == -torch.inf, -torch.inf, 0.0).double()
        return self._log_partition(flat).exp().round().to(self.log_potentials.dtype)

    def sample(self, sample_shape: torch.Size | tuple[int, ...] = (1,)) -> Tensor:
        """Return independent draws [n, batch, ...], by torch's own generator."""
        if len(sample_shape) != 1:
            raise ValueError(f"sample_shape is {tuple(sample_shape)}, expected one number: (n,)")
        return self._draws(sample_shape[0]).to(self.log_potentials.dtype)

    def to_event(self, sequence: Tensor, extra: Any, lengths: Tensor | None = None) -> Tensor:
        """Return the event of a sequence."""
        made: Tensor = self.struct.to_parts(sequence, extra, lengths=lengths)
        return made

    def from_event(self, event: Tensor) -> Any:
        """Return the sequence of an event, and what `to_event` needs beside it."""
        return self.struct.from_parts(event)


class LinearChainCRF(StructDistribution):
    """Chains of N labels; scores [batch, N - 1, C, C] as [to, from].

    Examples
    --------
    >>> dist = LinearChainCRF(torch.zeros(1, 2, 3, 3))
    >>> dist.count.item(), round(dist.partition.item(), 4), dist.marginals.shape
    (27.0, 3.2958, torch.Size([1, 2, 3, 3]))
    """

    struct = LinearChain

    def _chain(self, scores: Tensor) -> tuple[Any, ...]:
        if scores.dtype in (torch.float16, torch.bfloat16):
            scores = scores.float()
        B, steps, C, _ = scores.shape
        nothing = scores.new_zeros(C)
        node = scores.new_zeros(B, steps + 1, C)
        return node, self._length, None, None, nothing, scores.transpose(-1, -2), nothing

    def _log_partition(self, scores: Tensor) -> Tensor:
        logz: Tensor = LogPartition.apply("chain", *self._chain(scores))
        return logz

    def _marginals(self, scores: Tensor) -> Tensor:
        ones = torch.ones_like(self._length, dtype=torch.float64)
        made: Tensor = Marginals.apply("chain", ones, *self._chain(scores))[2].transpose(-1, -2)
        return made.to(scores.dtype)

    def _events(self, labels: Tensor) -> Tensor:
        """Return events of labels [batch, k, N] as [k, batch, ...]; zeros where there is no labeling."""
        C = self.log_potentials.shape[-1]
        k = labels.shape[1]
        lengths = torch.where(labels[:, :, 0] < 0, 0, self._length[:, None]).flatten()
        events = LinearChain.to_parts(labels.flatten(0, 1).clamp(min=0), C, lengths)
        return events.unflatten(0, (-1, k)).transpose(0, 1)

    def _best(self, k: int) -> tuple[Tensor, Tensor]:
        chain = self._chain(self.log_potentials.detach())
        if k == 1:
            labels, score = ask(ops.chain.best, *chain)
            return self._events(labels[:, None]), score[None]
        labels, scores = ask(ops.chain.kbest, *chain, k)
        return self._events(labels), scores.T

    def _draws(self, n: int) -> Tensor:
        seed = torch.randint(2**62, (1,), device=self.log_potentials.device)
        return self._events(ask(ops.chain.sample, *self._chain(self.log_potentials.detach()), n, seed))

    def enumerate_support(self, expand: bool = True) -> tuple[Tensor, Tensor]:
        """Return all events, [C ** N, batch, N - 1, C, C], and their number for each length."""
        B, steps, C, _ = self.log_potentials.shape
        device = self.log_potentials.device
        events = self.log_potentials.new_zeros(C ** (steps + 1), B, steps, C, C)
        counts = C ** self._length.long()
        for b, length in enumerate(self._length.tolist()):
            every = torch.tensor(list(itertools.product(range(C), repeat=length)), device=device)
            events[: len(every), b, : length - 1] = LinearChain.to_parts(every, C).to(events.dtype)
        return events, counts


class HMM(LinearChainCRF):
    """Hidden states of a hidden Markov model, given its observations.

    Parameters
    ----------
    transition : tensor [C, C]
        log p(state | state before) as [to, from].
    emission : tensor [V, C]
        log p(symbol | state).
    init : tensor [C]
        log p(first state).
    observations : tensor [batch, N]
        Symbols seen.
    """

    def __init__(
        self,
        transition: Tensor,
        emission: Tensor,
        init: Tensor,
        observations: Tensor,
        lengths: Tensor | None = None,
    ) -> None:
        super().__init__(LinearChain.hmm(transition, emission, init, observations), lengths)


class SemiMarkovCRF(StructDistribution):
    """Segmentations; scores [batch, N - 1, K, C, C] of (begin, length, to, from), lengths below K."""

    struct = SemiMarkov

    def _log_partition(self, scores: Tensor) -> Tensor:
        return segments.log_partition(scores.double(), self._length)

    def _marginals(self, scores: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = scores if scores.requires_grad else scores.detach().requires_grad_()
            logz = self._log_partition(leaf)
            total = torch.where(logz.isinf(), 0.0, logz).sum()
            (made,) = torch.autograd.grad(total, leaf, create_graph=scores.requires_grad)
        out: Tensor = made
        return out

    def _best(self, k: int) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            leaf = self.log_potentials.detach().double().requires_grad_()
            scores = segments.best_scores(leaf, self._length, k)  # [batch, k]
            events = []
            for i in range(k):
                finite = torch.where(scores[:, i].isinf(), 0.0, scores[:, i]).sum()
                events += torch.autograd.grad(finite, leaf, retain_graph=True)
        return torch.stack(events), scores.detach().T

    def _draws(self, n: int) -> Tensor:
        def choose(candidates: Tensor) -> Tensor:
            top = candidates.amax(1, keepdim=True)
            chance = (candidates - torch.where(top.isinf(), 0.0, top)).exp()
            return torch.multinomial(torch.where(top.isinf(), 1.0, chance), 1)[:, 0]

        scores = self.log_potentials.detach().double()
        drawn = segments.draw(scores, self._length, n, choose)
        K, C = self.log_potentials.shape[2], self.log_potentials.shape[-1]
        return torch.stack([SemiMarkov.to_parts(row, (C, K), self._length) for row in drawn])
