"""The native decoder of a model, for one sequence at a time, without arrays in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import _native
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.features import Extractor, Recipe
from crfkit.features.views import NUMBERS
from crfkit.models.column_count import widths
from crfkit.models.confidence import pairs_of
from crfkit.models.known import reach
from crfkit.native import kernels
from crfkit.tags.schemes import OUTSIDE
from crfkit.text.spans import Span

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel


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
    if model.numbers:
        return "labels that are numbers"
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
    if model.layout.dense:
        return "real-valued columns"
    recipe = model.recipe
    if recipe is None:
        return ""
    if model.hashed is None and not len(model.attributes) and model.layout.attributes:
        return "attributes without names"
    if model.weighted[1] and structure.order != 1:
        return "attributes of steps"
    views = {f.view for one in recipe.templates for f in one.fields}
    return "numbers made by a recipe" if views & {*NUMBERS, "embedding"} else ""


def decoder_of(model: SequenceModel) -> _native.Decoder | None:
    """Return the decoder of a model that it covers; `SequenceModel.decoder` keeps it."""
    if covers(model):
        return None
    none = np.zeros(1, dtype=np.int64)
    nothing = model.potentials(Batch(none, none, np.zeros(0, dtype=np.int32)))  # only the transitions
    names = _names(model, model.attributes)
    reader = None if model.recipe is None else _token_reader(model, model.recipe, names)
    ends = (nothing.start, nothing.stop)
    labels = model.structure.labels
    steps, base = None, None
    if reader is not None and model.weighted[1]:
        steps = model.ready("edge")
        if len(model.layout.block["transition"].cell):
            base = model.layout.shared("transition", model.w)
    return _native.Decoder(
        kernels, names, model.ready("node"), nothing.tables, *ends, labels, reader, steps, base
    )


def _names(model: SequenceModel, known: Alphabet) -> _native.FrozenAlphabet | _native.Hasher:
    """Return where names of attributes get their ids."""
    if model.hashed is not None:
        hasher = _native.Hasher(model.hashed)
        hasher.freeze()
        return hasher
    frozen = known.freeze()._native
    assert isinstance(frozen, _native.FrozenAlphabet), "it was frozen"
    return frozen


def _token_reader(
    model: SequenceModel, recipe: Recipe, node: _native.FrozenAlphabet | _native.Hasher
) -> _native.TokenReader:
    """Return what makes attributes of the tokens of one sequence, as the extractor of the model does."""
    extract = Extractor(recipe, None, model.hashed)
    others = (model.edge_attributes, model.names.segment_attributes)
    columns, made_by = recipe.columns, model.extractor
    sources = [
        (columns.index(name), None if table is None else recipe.resources[table].marks)
        for name, table in extract.sources
    ]
    return _native.TokenReader(
        extract._native,
        [node, *(_names(model, names) for names in others)],
        [*recipe.column_names],
        [int(name) if name.isdigit() else -1 for name in columns],
        [] if made_by is None else [*widths(made_by)],
        sources,
        [extract.functions.get(view) for view in range(len(extract.views))],
        *reach(recipe),
    )


def span_names_of(model: SequenceModel) -> _native.SpanNames | None:
    """Return how the decoder finds the segments of `SequenceModel.predict_spans`; None where it does not."""
    if model.decoder is None or model.layout.order > 1:
        return None
    flags, kind, names = pairs_of(model)
    wanted = [None if name == OUTSIDE else name for name in names]
    return _native.SpanNames(flags.ravel().tolist(), kind.tolist(), wanted, Span)
