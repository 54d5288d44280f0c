"""From a trained layer to something that decodes elsewhere: a crfkit model, an exported program.

==================  ==========================================================================================
`to_model`          a model of sequences whose real-valued columns are the scores of labels: it decodes, gives
                    probabilities and can be saved, all without torch
`take_from`         the transitions of such a model for a layer
`spans`             the segments that the best labels spell, and how probable each is
`Decoder`           a module that returns tensors, for `torch.export` (the program keeps the operator
                    ``crfkit::chain_best``, or ``order_best``: import `crfkit.torch.functional` before it is
                    loaded) and for ONNX (`crfkit.torch.onnx`, whose files need nothing of crfkit)
==================  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from crfkit.data.alphabet import Alphabet
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block
from crfkit.models.confidence import segment_confidence
from crfkit.models.model import Names, SequenceModel
from crfkit.tags.schemes import OUTSIDE
from crfkit.torch.inputs import Rows, Within, check_labels, sequences
from crfkit.torch.results import Paths
from crfkit.torch.rows import positions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from crfkit.structures.structure import Structure
    from crfkit.torch.chain import CRF
    from crfkit.torch.segment_module import SegmentCRF

__all__ = ["Decoder", "spans", "take_from", "to_model"]


def to_model(structure: Structure, scores: Mapping[str, Sequence[Tensor]]) -> SequenceModel:
    """Return a model of these scores by slot that takes an array of scores [T, L] for each sequence."""
    slots, L = structure.slots(), len(structure.labels)
    nothing, blocks, parts = np.zeros(1, dtype=np.int64), [], []
    for slot, about in slots.items():
        if about.places:  # for attributes, of which there are none
            blocks.append(Block(slot, slot, nothing, np.zeros(0, dtype=np.int32)))
        else:
            blocks.append(Block.shared(slot, np.arange(about.cells, dtype=np.int32)))
            parts += [x.detach().double().cpu().numpy().ravel() for x in scores[slot]]
    every = np.tile(np.arange(L, dtype=np.int32), L)
    dense = Block("node", "dense", np.arange(L + 1, dtype=np.int64) * L, every)
    w = np.concatenate([*parts, np.eye(L).ravel()])  # the scores of labels have weight 1
    if not np.isfinite(w).all():
        raise ValueError("the scores of the layer are not all finite; a model needs finite weights")
    names = Names(Alphabet(structure.labels), Alphabet())
    return SequenceModel(structure, Layout(slots, (*blocks, dense)), names, w)


def take_from(model: SequenceModel, scores: Mapping[str, Sequence[Tensor]]) -> None:
    """Copy the weights that all positions of a model share to the scores of a layer, by slot."""
    if model.layout.has("edge"):
        raise ValueError(
            "the model has weights of steps that depend on attributes, which a layer does not hold: give "
            "model.potentials(batch).edge to crfkit.torch.functional"
        )
    if model.constraints:
        raise ValueError("the model has constraints on whole labelings, which a layer does not keep")
    for slot, tables in scores.items():
        found = model.layout.slots[slot].split(model.layout.shared(slot, model.w))
        for own, given in zip(tables, found, strict=True):
            with torch.no_grad():
                own.copy_(torch.from_numpy(given))


def spans(
    crf: CRF, node: Rows, mask: Tensor | None = None, **where: Unpack[Within]
) -> list[list[tuple[int, int, str, float]]]:
    """Return the segments that the best labels of a chain spell, and how probable each is."""
    allowed = where.get("allowed")
    check_labels(node, len(crf.labels))
    rows = sequences(node, mask, where.get("lengths"), where.get("offsets"))
    scores, L = rows.node.detach().flatten(0, -2).double().cpu().numpy(), len(crf.labels)
    sets = None if allowed is None else rows.like_node(allowed, "allowed", (L,)).flatten(0, -2).cpu().numpy()
    place, lengths = positions(rows.node, rows).cpu().numpy(), rows.length.tolist()
    each = [order[:n] for order, n in zip(place, lengths, strict=True)]
    order = np.concatenate([np.zeros(0, dtype=np.int64), *each])
    found = segment_confidence(
        crf.to_model(), [scores[one] for one in each], allowed=None if sets is None else sets[order]
    )
    made: list[list[tuple[int, int, str, float]]] = []
    for b, (one, several) in enumerate(zip(each, found, strict=True)):
        first = b * rows.node.shape[1] if rows.first is None else int(rows.first[b])
        made.append(
            [
                (int(one[a]) - first, int(one[end - 1]) - first + 1, name, p)
                for a, end, name, p in several
                if name != OUTSIDE
            ]
        )
    return made


class Decoder(nn.Module):
    """A layer's best labels as tensors, after a network if one is given.

    Parameters
    ----------
    crf : CRF or SegmentCRF
    network : Module, optional
        What makes scores [B, T, L] of its inputs.

    Examples
    --------
    >>> import torch
    >>> from crfkit.torch import CRF
    >>> decoder = Decoder(CRF(2))
    >>> example = torch.zeros(2, 3, 2), torch.ones(2, 3, dtype=torch.bool)
    >>> B, T = torch.export.Dim("B"), torch.export.Dim("T")
    >>> program = torch.export.export(decoder, example, dynamic_shapes=({0: B, 1: T}, {0: B, 1: T}))
    >>> program.module()(torch.tensor([[[0.0, 1.0]]]), torch.tensor([[True]]))
    (tensor([[1]]), tensor([1.], dtype=torch.float64))
    """

    def __init__(self, crf: CRF | SegmentCRF, network: nn.Module | None = None) -> None:
        super().__init__()
        self.crf, self.network = crf, network

    def forward(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Return labels [B, T], -1 where the mask [B, T] is False, and scores [B] in float64.

        A SegmentCRF answers with labels, begins [B, T] bool and scores.
        """
        node = inputs if self.network is None else self.network(inputs)
        found = self.crf.decode(node, mask)
        if isinstance(found, Paths):
            return found.labels, found.score
        assert found.score is not None
        return found.labels, found.begins, found.score
