"""Trees and alignments of torch-struct: events, sums in any semiring, and distributions on native charts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from crfkit.compat.torch_struct.distributions import StructDistribution
from crfkit.compat.torch_struct.events import Struct, listed
from crfkit.torch.semirings import LogSemiring, Semiring
from crfkit.torch.trees import Alignments, ConstituencyTrees, DependencyTrees, reference
from crfkit.torch.trees.structures import Structures

__all__ = [
    "CKY_CRF",
    "Alignment",
    "AlignmentCRF",
    "DepTree",
    "DependencyCRF",
    "NonProjectiveDependencyCRF",
    "TreeCRF",
    "convert",
    "deptree_nonproj",
    "deptree_part",
    "unconvert",
]


def convert(logits: Tensor) -> Tensor:
    """Return arc scores [batch, N + 1, N + 1, ...] with the root as word 0.

    They are given with roots on the diagonal. Arcs that cannot be are -inf.
    """
    made = logits.new_full(
        (len(logits), logits.shape[1] + 1, logits.shape[2] + 1, *logits.shape[3:]), -torch.inf
    )
    made[:, 1:, 1:] = logits
    word = torch.arange(logits.shape[1], device=logits.device)
    made[:, 0, 1:] = logits[:, word, word]
    made[:, word + 1, word + 1] = -torch.inf
    return made


def unconvert(logits: Tensor) -> Tensor:
    """Return what `convert` was given."""
    made = logits[:, 1:, 1:].clone()
    word = torch.arange(made.shape[1], device=logits.device)
    made[:, word, word] = logits[:, 0, 1:]
    return made


class _Parsing(Struct):
    """Sums of `crfkit.torch.trees.reference`, whose parts are of one of its shapes."""

    shape: ClassVar[str]
    ndim: ClassVar[tuple[int, ...]] = (4,)

    def _check_potentials(self, edge: Any, lengths: Tensor | None = None) -> tuple[Any, ...]:
        one = listed(edge)[0]
        square = self.shape == "alignment" or (one.ndim > 2 and one.shape[1] == one.shape[2])
        if one.ndim not in self.ndim or not square:
            raise ValueError(f"scores have shape {tuple(one.shape)}, expected {self.axes}")
        B, N = one.shape[:2]
        if lengths is None:
            lengths = torch.full((B,), N, dtype=torch.long)
        if lengths.shape != (B,) or not ((lengths >= 0) & (lengths <= N)).all():
            raise ValueError(f"lengths are {lengths.tolist()}, expected {B} of 0 to {N}")
        return self.semiring.convert(edge), B, N, *one.shape[2:], lengths

    def _values(self, edge: Any, lengths: Tensor | None) -> Tensor:
        values, *_, lengths = self._check_potentials(edge, lengths)
        rows = lengths.to(values.device)
        columns = torch.full_like(rows, values.shape[3]) if self.shape == "alignment" else rows
        if self.shape != "alignment" and values.ndim == 5:
            values = self.semiring.sum(values, -1)
        return reference.inside(self.semiring, values, rows, columns, self._shape())

    def _shape(self) -> str:
        return self.shape


class DepTree(_Parsing):
    """Projective dependency trees as events [batch, N, N]: [head, child], roots on the diagonal.

    Examples
    --------
    >>> from crfkit.compat.torch_struct import StdSemiring
    >>> DepTree(StdSemiring).sum(torch.ones(1, 3, 3))
    tensor([12.])
    """

    axes = "[batch, N, N]"  # or [batch, N, N, L]
    shape = "projective"
    ndim = (3, 4)
    multiroot: ClassVar[bool] = True

    def _shape(self) -> str:
        return self.shape if self.multiroot else "projective_single_root"

    @staticmethod
    def to_parts(sequence: Tensor, extra: Any = None, lengths: Tensor | None = None) -> Tensor:
        """Return the event of heads [batch, N]: 0 for the root, 1 for the first word.

        Examples
        --------
        >>> DepTree.to_parts(torch.tensor([[2, 0]])).tolist()
        [[[0, 0], [1, 1]]]
        """
        batch, N = sequence.shape
        parts = torch.zeros(batch, N, N, dtype=torch.long, device=sequence.device)
        length = sequence.new_full((batch,), N) if lengths is None else lengths.to(sequence.device)
        b, child = (torch.arange(N, device=sequence.device) < length[:, None]).nonzero(as_tuple=True)
        head = sequence[b, child]
        parts[b, torch.where(head == 0, child, head - 1), child] = 1
        return parts

    @staticmethod
    def from_parts(arcs: Tensor) -> tuple[Tensor, None]:
        """Return heads [batch, N], 0 behind the end of a sentence; arcs may have a last axis of labels."""
        there = arcs.flatten(3).any(-1) if arcs.ndim == 4 else arcs
        heads = torch.zeros(arcs.shape[:2], dtype=torch.long, device=arcs.device)
        b, head, child = there.nonzero(as_tuple=True)
        heads[b, child] = torch.where(head == child, 0, head + 1)
        return heads, None


class _SingleRoot(DepTree):
    multiroot = False


class CKY_CRF(_Parsing):  # noqa: N801 the name of the original
    """Binary trees as events [batch, N, N, NT]: (first word, last word, nonterminal)."""

    axes = "[batch, N, N, NT]"
    shape = "binary"

    @staticmethod
    def to_parts(spans: Tensor, extra: Any = None, lengths: Tensor | None = None) -> Tensor:
        """Return the event, which spans are."""
        return spans

    @staticmethod
    def from_parts(spans: Tensor) -> tuple[Tensor, None]:
        """Return the event."""
        return spans, None


class Alignment(CKY_CRF):
    """Paths as events [batch, N, M, 3]: steps into cells, from (i, j - 1), (i - 1, j - 1), (i - 1, j)."""

    axes = "[batch, N, M, 3]"
    shape = "alignment"

    def __init__(
        self,
        semiring: type[Semiring] = LogSemiring,
        sparse_rounds: int = 3,
        max_gap: int | None = None,
        local: bool = False,
    ) -> None:
        super().__init__(semiring)
        if local:
            raise NotImplementedError(_NO_LOCAL)
        self.max_gap = max_gap

    def _check_potentials(self, edge: Any, lengths: Tensor | None = None) -> tuple[Any, ...]:
        each = [_banded(x, self.max_gap) for x in listed(edge)]
        return super()._check_potentials(each if isinstance(edge, list | tuple) else each[0], lengths)


_NO_LOCAL = (
    "alignments that are local (local=True) are not replaced: give scores of 0 to the gaps at both ends"
)


def _banded(scores: Tensor, most: int | None) -> Tensor:
    """Return scores with -inf for cells (i, j) whose |i - j| is above the most."""
    if most is None:
        return scores
    i, j = (torch.arange(n, device=scores.device) for n in scores.shape[1:3])
    return scores.masked_fill(((i[:, None] - j).abs() > most)[..., None], -torch.inf)


class _Parsed(StructDistribution):
    """Distributions by the native charts."""

    axes: ClassVar[str]

    def _check(self) -> None:
        self._made(self.log_potentials)  # says what is wrong

    @abstractmethod
    def _made(self, scores: Tensor) -> Structures:
        """Return the distribution of scores."""

    def _log_partition(self, scores: Tensor) -> Tensor:
        return self._made(scores).log_partition()

    def _marginals(self, scores: Tensor) -> Tensor:
        return self._made(scores).marginals()

    def _events(self, chosen: Tensor) -> Tensor:
        """Return events [k, batch, ...] of chosen parts [batch, k, N, M]."""
        kinds = self.log_potentials.shape[3] if self.log_potentials.ndim == 4 else 0
        if not kinds:
            return (chosen >= 0).transpose(0, 1)
        return (chosen.unsqueeze(-1) == torch.arange(kinds, device=chosen.device)).transpose(0, 1)

    def _best(self, k: int) -> tuple[Tensor, Tensor]:
        chosen, score = self._made(self.log_potentials)._chosen("kbest" if k > 1 else "best", k)
        return self._events(chosen), score.T

    def _draws(self, n: int) -> Tensor:
        return self._events(self._made(self.log_potentials)._chosen("sample", n)[0])


class DependencyCRF(_Parsed):
    """Projective dependency trees: scores [batch, N, N] or [batch, N, N, L] of (head, child, label).

    Roots are on the diagonal; `multiroot`: several words may be roots.

    Examples
    --------
    >>> dist = DependencyCRF(torch.zeros(1, 3, 3))
    >>> dist.count.item(), dist.argmax.shape
    (12.0, torch.Size([1, 3, 3]))
    """

    projective: ClassVar[bool] = True

    def __init__(
        self, log_potentials: Tensor, lengths: Tensor | None = None, args: Any = None, multiroot: bool = True
    ) -> None:
        self.multiroot = multiroot
        self.struct = DepTree if multiroot else _SingleRoot  # type: ignore[misc]
        super().__init__(log_potentials, lengths, args)

    def _made(self, scores: Tensor) -> Structures:
        return DependencyTrees(scores, self.lengths, projective=self.projective, multiroot=self.multiroot)


class NonProjectiveDependencyCRF(DependencyCRF):
    """Dependency trees that may cross: scores [batch, N, N] of (head, child), roots on the diagonal.

    The best, the k best and draws are there too; on the CPU.

    Examples
    --------
    >>> NonProjectiveDependencyCRF(torch.zeros(1, 3, 3)).count.item()
    9.0
    """

    projective = False

    def __init__(
        self, log_potentials: Tensor, lengths: Tensor | None = None, args: Any = None, multiroot: bool = False
    ) -> None:
        super().__init__(log_potentials, lengths, args, multiroot)


class TreeCRF(_Parsed):
    """Binary trees: scores [batch, N, N, NT] of spans (first word, last word, nonterminal).

    Examples
    --------
    >>> TreeCRF(torch.zeros(1, 3, 3, 2)).count.item()  # two trees of five spans
    64.0
    """

    struct = CKY_CRF

    def _made(self, scores: Tensor) -> Structures:
        if scores.ndim != 4:
            raise ValueError(f"log_potentials have shape {tuple(scores.shape)}, expected {CKY_CRF.axes}")
        return ConstituencyTrees(scores, self.lengths)


class AlignmentCRF(_Parsed):
    """Alignments: scores [batch, N, M, 3] of steps into cells; `lengths` are rows.

    Steps of kind 0 come from (i, j - 1), 1 from (i - 1, j - 1), 2 from (i - 1, j). `max_gap` keeps |i - j| at
    most that.

    Examples
    --------
    >>> AlignmentCRF(torch.zeros(1, 3, 3, 3)).count.item()
    13.0
    """

    struct = Alignment

    def __init__(
        self,
        log_potentials: Tensor,
        local: bool = False,
        lengths: Tensor | None = None,
        max_gap: int | None = None,
    ) -> None:
        if local:
            raise NotImplementedError(_NO_LOCAL)
        self.max_gap = max_gap
        super().__init__(log_potentials, lengths)

    def _made(self, scores: Tensor) -> Structures:
        if scores.ndim != 4:
            raise ValueError(f"log_potentials have shape {tuple(scores.shape)}, expected {Alignment.axes}")
        return Alignments(_banded(scores, self.max_gap), self.lengths)


def deptree_part(
    arc_scores: Tensor, multi_root: bool, lengths: Tensor | None = None, eps: float = 0.0
) -> Tensor:
    """Return log Z [batch] over trees that may cross; exact, so that `eps` is not needed."""
    return NonProjectiveDependencyCRF(arc_scores, lengths, multiroot=multi_root).partition


def deptree_nonproj(
    arc_scores: Tensor, multi_root: bool, lengths: Tensor | None = None, eps: float = 0.0
) -> Tensor:
    """Return probabilities of arcs [batch, N, N]; exact, so that `eps` is not needed."""
    return NonProjectiveDependencyCRF(arc_scores, lengths, multiroot=multi_root).marginals
