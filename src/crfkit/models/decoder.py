"""The native decoder of a model, for one sequence at a time, without arrays in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import _native
from crfkit.data.batch import Batch
from crfkit.native import kernels

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

__all__ = ["covers", "decoder_of"]


def covers(model: SequenceModel) -> str:
    """Return "" where the decoder covers a model; else what it does not know.

    Examples
    --------
    >>> from crfkit import Chain, train
    >>> from crfkit.features import ItemExtractor
    >>> from crfkit.structures.constraints import SegmentLength
    >>> data = ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]])
    >>> covers(train(data)), covers(train(data, structure=Chain(constraints=[SegmentLength(None, 1, 2)])))
    ('', 'limits on segment lengths')
    """
    structure = model.structure
    if not structure.is_chain:
        return f"the structure {structure.kind}"
    if structure.limits_lengths:
        return "limits on segment lengths"
    if model.feature_map is not None or model.rule:
        return "a feature map" if model.feature_map is not None else "labels decided by " + model.rule
    if model.conjunctions is not None:
        return "conjunctions of attributes"
    if model.states is not None:
        return "hidden states"
    if model.encoding is not None:
        return "labels of another encoding"
    if model.decision == "posterior":
        return "labels that are chosen each by itself"
    if model.constraints:
        return "constraints on whole labelings"
    if model.calibration is not None:
        return "calibration"
    return "real-valued columns" if model.layout.dense else ""


def decoder_of(model: SequenceModel) -> _native.Decoder | None:
    """Return the decoder of a model that it covers; `SequenceModel.decoder` keeps it."""
    if covers(model):
        return None
    none = np.zeros(1, dtype=np.int64)
    nothing = model.potentials(Batch(none, none, np.zeros(0, dtype=np.int32)))  # only the transitions
    names: _native.FrozenAlphabet | _native.Hasher | _native.Alphabet = model.attributes._native
    if model.hashed is not None:
        names = _native.Hasher(model.hashed)
        names.freeze()
    assert not isinstance(names, _native.Alphabet), "the attributes of a model are frozen"
    ends = (nothing.start, nothing.stop)
    return _native.Decoder(kernels, names, model.ready("node"), nothing.tables, *ends, model.structure.labels)
