"""From a trained layer to something that decodes elsewhere: a crfkit model, an exported program.

==================  ==========================================================================================
`to_model`          a model of sequences whose real-valued columns are the scores of labels: it decodes, gives
                    probabilities and can be saved, all without torch
`Decoder`           a module that returns tensors, for `torch.export` (the program keeps the operator
                    ``crfkit::chain_best``, or ``order_best``: import `crfkit.torch.functional` before it is
                    loaded) and for ONNX (`crfkit.torch.onnx`, whose files need nothing of crfkit)
==================  ==========================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, nn

from crfkit.data.alphabet import Alphabet
from crfkit.linear.layout import Layout
from crfkit.models.model import Names, SequenceModel

if TYPE_CHECKING:
    from crfkit.torch.chain import ChainCRF

__all__ = ["Decoder", "to_model"]


def to_model(crf: ChainCRF) -> SequenceModel:
    """Return a model that takes scores of labels, an array of floats [T, L] for each sequence.

    Examples
    --------
    >>> from crfkit.torch import ChainCRF
    >>> model = to_model(ChainCRF(["A", "B"]))
    >>> model.predict([np.array([[0.0, 1.0], [2.0, 0.0]])])
    [['B', 'A']]
    """
    chain, L = crf.chain, len(crf.labels)
    tables = [] if chain.order == 0 else [crf.edge] if chain.order == 1 else list(crf.edges)
    parts = [x.detach().double().cpu().numpy().ravel() for x in (*tables, crf.start, crf.stop)]
    w = np.concatenate([*parts, np.eye(L).ravel()])  # the scores themselves have weight 1
    if not np.isfinite(w).all():
        raise ValueError("the scores of the layer are not all finite; a model needs finite weights")
    nothing = np.zeros(1, dtype=np.int64)
    cells = sum(table.numel() for table in tables)
    layout = Layout.of_chain(
        L,
        nothing,
        np.zeros(0, dtype=np.int32),
        nothing,
        np.zeros(0, dtype=np.int32),
        np.arange(cells, dtype=np.int32),
        start=True,
        stop=True,
        dense=L,
        order=chain.order,
    )
    return SequenceModel(chain, layout, Names(Alphabet(crf.labels), Alphabet()), w)


class Decoder(nn.Module):
    """A layer's best labels as tensors, after a network if one is given.

    Parameters
    ----------
    crf : ChainCRF
    network : Module, optional
        What makes scores [B, T, L] of its inputs.

    Examples
    --------
    >>> import torch
    >>> from crfkit.torch import ChainCRF
    >>> decoder = Decoder(ChainCRF(2))
    >>> example = torch.zeros(2, 3, 2), torch.ones(2, 3, dtype=torch.bool)
    >>> B, T = torch.export.Dim("B"), torch.export.Dim("T")
    >>> program = torch.export.export(decoder, example, dynamic_shapes=({0: B, 1: T}, {0: B, 1: T}))
    >>> program.module()(torch.tensor([[[0.0, 1.0]]]), torch.tensor([[True]]))
    (tensor([[1]]), tensor([1.], dtype=torch.float64))
    """

    def __init__(self, crf: ChainCRF, network: nn.Module | None = None) -> None:
        super().__init__()
        self.crf, self.network = crf, network

    def forward(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return labels [B, T], -1 where the mask [B, T] is False, and scores [B] in float64."""
        node = inputs if self.network is None else self.network(inputs)
        found = self.crf.decode(node, mask)
        return found.labels, found.score
