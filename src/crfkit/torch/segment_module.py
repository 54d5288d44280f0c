"""A semi-Markov CRF as a layer of a network: labeled segments, whose scores come from below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from crfkit.features import ItemExtractor
from crfkit.models.tags import Outside, segmented
from crfkit.structures.constraints import Constraint
from crfkit.structures.segments.semimarkov import SemiMarkov
from crfkit.torch import segment_functional as functional
from crfkit.torch.inputs import Rows, check_labels
from crfkit.torch.queries import Reduction
from crfkit.torch.segment_results import Segmentations

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

__all__ = ["SegmentCRF"]


class SegmentCRF(nn.Module):
    """A conditional random field over labeled segments: loss, best segments, probabilities.

    Parameters
    ----------
    labels : int, list of str, or SemiMarkov
        Labels of segments, or their number; or a `crfkit.SemiMarkov` with `max_length`, which says lengths of
        each label and constraints too.
    max_length : int
        How many positions a segment may have (D).
    constraints : sequence of constraints
        On the labels of neighboring segments (`crfkit.constraints`); all queries keep them, the loss too.
    device, dtype
        Device and type of the parameters; float32 by default.

    Attributes
    ----------
    start, stop : Parameter [L]
    edge : Parameter [L, L]
        Scores of steps, ``edge[from, to]``; zeros at first, as all are.
    length : Parameter [D, L]
        Scores of lengths.
    structure : SemiMarkov

    Notes
    -----
    Every method takes ``node, mask`` as `crfkit.torch.segment_functional` does, ``lengths`` or ``offsets`` in
    place of a mask, and by name ``segment``, scores of whole segments; node is None where these are all.
    Calling the module returns the loss.

    Examples
    --------
    >>> crf = SegmentCRF(["O", "NAME"], max_length=3)
    >>> node = torch.tensor([[[0.0, 2.0], [0.0, 2.0], [1.0, 0.0]]], requires_grad=True)
    >>> labels, begins = crf.gold([["B-NAME", "I-NAME", "O"]])
    >>> crf.loss(node, labels, begins).backward()
    >>> crf.decode(node).tags()
    [['B-NAME', 'B-NAME', 'O']]
    """

    structure: SemiMarkov
    start: Tensor
    stop: Tensor
    edge: Tensor
    length: Tensor

    def __init__(
        self,
        labels: int | Iterable[str] | SemiMarkov,
        max_length: int | None = None,
        constraints: Sequence[Constraint] | None = None,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.structure = _structure(labels, max_length, constraints)
        made = {"device": device, "dtype": dtype or torch.float32}
        allowed = self.structure.allowed_lengths()  # [D, L]
        D, L = allowed.shape
        for name, shape in (("start", (L,)), ("stop", (L,)), ("edge", (L, L)), ("length", (D, L))):
            setattr(self, name, nn.Parameter(torch.zeros(shape, **made)))
        rules = self.structure.resolved
        masks = {"length": allowed}
        if rules is not None:
            masks |= {"start": rules.start, "edge": rules.transition, "stop": rules.stop}
        for name, mask in masks.items():
            if not mask.all():
                self.register_buffer(
                    f"_forbidden_{name}", torch.from_numpy(~mask).to(device), persistent=False
                )

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names."""
        return self.structure.labels

    def extra_repr(self) -> str:
        """Return what the module prints of itself."""
        rules = f", constraints={list(self.structure.constraints)}" if self.structure.constraints else ""
        return f"labels={len(self.labels)}, max_length={self.length.shape[0]}{rules}"

    def tables(self) -> dict[str, Tensor]:
        """Return ``start``, ``edge``, ``stop`` and ``length``: -inf forbids."""
        made = {name: getattr(self, name) for name in ("start", "edge", "stop", "length")}
        for name, table in made.items():
            forbidden = getattr(self, f"_forbidden_{name}", None)
            if forbidden is not None:
                made[name] = table.masked_fill(forbidden, -torch.inf)
        return made

    def _tables(self, node: Rows | None, where: dict[str, Any]) -> dict[str, Tensor]:
        """Return tables for scores of these shapes, which must have the layer's labels."""
        check_labels(node, len(self.labels))
        check_labels(where.get("segment"), len(self.labels), "segment")
        return self.tables()

    def forward(
        self,
        node: Rows | None,
        labels: Rows,
        begins: Rows | None = None,
        mask: Tensor | None = None,
        **how: Any,
    ) -> Tensor:
        """Return the loss, as `loss` does."""
        return self.loss(node, labels, begins, mask, **how)

    def loss(
        self,
        node: Rows | None,
        labels: Rows,
        begins: Rows | None = None,
        mask: Tensor | None = None,
        *,
        weight: Tensor | None = None,
        reduction: Reduction = "mean",
        check: bool | None = None,
        **where: Any,
    ) -> Tensor:
        """Return minus the log probability of what is known of the segments; `segment_loss`."""
        how: dict[str, Any] = {"weight": weight, "reduction": reduction, "check": check}
        return functional.segment_loss(
            node, labels=labels, begins=begins, mask=mask, **how, **where, **self._tables(node, where)
        )

    def log_prob(
        self,
        node: Rows | None,
        labels: Rows,
        begins: Rows | None = None,
        mask: Tensor | None = None,
        **where: Any,
    ) -> Tensor:
        """Return log probabilities of segmentations [B]."""
        return functional.segment_log_prob(
            node, labels=labels, begins=begins, mask=mask, **where, **self._tables(node, where)
        )

    def log_partition(self, node: Rows | None, mask: Tensor | None = None, **where: Any) -> Tensor:
        """Return log Z [B]."""
        return functional.segment_log_partition(node, mask=mask, **where, **self._tables(node, where))

    def entropy(self, node: Rows | None, mask: Tensor | None = None, **where: Any) -> Tensor:
        """Return entropies [B] in nats."""
        return functional.segment_entropy(node, mask=mask, **where, **self._tables(node, where))

    def marginals(
        self, node: Rows | None, mask: Tensor | None = None, *, segments: bool = False, **where: Any
    ) -> Any:
        """Return probabilities of labels [B, T, L]; with ``segments=True`` of segments [B, T, D, L] too."""
        tables = self._tables(node, where)
        return functional.segment_marginals(node, mask=mask, segments=segments, **where, **tables)

    def decode(self, node: Rows | None, mask: Tensor | None = None, **where: Any) -> Segmentations:
        """Return the best segmentation of each sequence."""
        found = functional.segment_best(node, mask=mask, **where, **self._tables(node, where))
        return found._replace(alphabet=self.labels)

    def kbest(self, node: Rows | None, k: int, mask: Tensor | None = None, **where: Any) -> Segmentations:
        """Return the k best segmentations."""
        found = functional.segment_kbest(node, k=k, mask=mask, **where, **self._tables(node, where))
        return found._replace(alphabet=self.labels)

    def sample(
        self,
        node: Rows | None,
        n: int = 1,
        mask: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
        **where: Any,
    ) -> Segmentations:
        """Return n draws from the distribution over segmentations."""
        found = functional.segment_sample(
            node, n=n, mask=mask, generator=generator, **where, **self._tables(node, where)
        )
        return found._replace(alphabet=self.labels)

    def to_model(self) -> SequenceModel:
        """Return a model that answers for the same scores `node` without torch; it can be saved.

        Examples
        --------
        >>> model = SegmentCRF(["O", "NAME"], max_length=2).to_model()
        >>> model.predict([torch.tensor([[0.0, 1.0], [2.0, 0.0]]).numpy()])
        [['NAME', 'O']]
        """
        from crfkit.torch.serving import to_model

        return to_model(self.structure, self._by_slot())

    def _by_slot(self) -> dict[str, list[Tensor]]:
        """Return the parameters as `crfkit.linear` names their places."""
        names = {"transition": self.edge, "start": self.start, "stop": self.stop, "length": self.length}
        return {slot: [scores] for slot, scores in names.items()}

    def gold(
        self, y: Any, scheme: str | None = None, outside: Outside = "unit", width: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return labels and begins [B, T] of gold that is spelled in tags, or given as segments.

        Parameters
        ----------
        y : list of lists
            For each sequence tags such as B-NAME, or labels whose stretches are segments, or triples
            (start, end, label): see `crfkit.models.tags.segmented`. None: unknown.
        scheme : str, optional
            BIO, BIOES, BILOU, ...; detected from the tags by default.
        outside : {"unit", "long"}
            Whether each position outside of segments is a segment of its own, labeled O, or each stretch.
        width : int, optional
            T; that of the longest sequence where omitted. Triples need it: sequences are as long.

        Raises
        ------
        ValueError
            A label is not one of the layer, or a segment is longer than it may be, or constraints forbid it.

        Examples
        --------
        >>> SegmentCRF(["O", "NAME"], max_length=3).gold([["U-NAME", "O"], ["B-NAME"]])
        (tensor([[ 1,  0],
                [ 1, -1]]), tensor([[ True,  True],
                [ True, False]]))
        """
        y = list(y)
        triples = any(isinstance(one, list | tuple) and len(one) == 3 for row in y for one in row)
        if triples and width is None:
            raise ValueError("segments (start, end, label) do not say how long a sequence is: give width=")
        counts = [width if triples and width is not None else len(row) for row in y]
        T = max(counts, default=0) if width is None else width
        if max(counts, default=0) > T:
            raise ValueError(f"width is {width}, but a sequence has {max(counts)} positions")
        bare = ItemExtractor()([[[]] * n for n in counts])
        data = segmented(bare, y, scheme, outside, labels=self.labels)
        new = data.labels.strings()[len(self.labels) :]
        if new:
            raise ValueError(f"{new[0]!r} is not a label: expected one of {', '.join(self.labels)}")
        batch = data.batch
        self.structure.gold(batch)  # raises where a segment is too long or a constraint forbids it
        assert batch.label is not None
        assert batch.begin is not None
        labels, begins = np.full((len(y), T), -1), np.zeros((len(y), T), np.bool_)
        inside = np.arange(T) < np.array(counts, dtype=np.int64)[:, None]
        labels[inside], begins[inside] = batch.label, batch.begin
        device = self.start.device
        return torch.from_numpy(labels).to(device), torch.from_numpy(begins).to(device)


def _structure(
    labels: int | Iterable[str] | SemiMarkov, max_length: int | None, constraints: Sequence[Constraint] | None
) -> SemiMarkov:
    if isinstance(labels, SemiMarkov):
        if max_length is not None or constraints is not None:
            raise ValueError("a SemiMarkov has its own lengths and constraints: do not give them again")
        structure = labels
    elif max_length is None:
        raise ValueError("max_length is omitted: how many positions may a segment have?")
    else:
        structure = SemiMarkov(labels, max_length, constraints=constraints or ())
    structure.allowed_lengths()  # says what is missing
    return structure
