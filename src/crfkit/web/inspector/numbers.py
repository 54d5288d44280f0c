"""What a model says of one sentence: probabilities, the best labelings, and why a token has its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.data.formats.columns import Columns
from crfkit.models.confidence import check_sure, sure_of
from crfkit.models.explain import explain_sequence
from crfkit.models.explanation import Decision
from crfkit.models.model import SequenceModel
from crfkit.structures.gold import Path, Sets
from crfkit.tags.schemes import OUTSIDE

__all__ = ["Labels", "Numbers", "Spans", "numbers_of", "reason", "spans_of", "unseen"]

#: (start, end, label, probability or None), in tokens.
Spans = list[tuple[int, int, str, float | None]]
_EDGES = 4_000_000  # pairs of labels of all steps that are looked at


@dataclass(frozen=True)
class Labels:
    """One of the best labelings."""

    ids: list[int]  #: labels of the structure
    probability: float
    relative: float  #: to that of the best
    spans: list[tuple[int, int, str]]


@dataclass(frozen=True, eq=False)
class Numbers:
    """What a model says of one sentence."""

    node: Floats  #: [T, L]
    edge: Any  #: [T, L, L]; None of segments, of chains of another order, and where it would be very large
    best: list[int]  #: [T]
    kbest: list[Labels]
    entropy: float  #: in nats
    segments: list[tuple[int, int, str, float]]  #: the probable ones, of a model of segments


def numbers_of(model: SequenceModel, batch: Batch, allowed: Any = None, k: int = 5) -> Numbers:
    """Return what a model says of the one sentence of a batch; `allowed` as in `SequenceModel.parts`."""
    [(_, potentials)] = model.parts(batch, allowed=allowed, threads=1)
    order, L = model.structure.order, len(model.structure.labels)
    pairs = not model.segmental and order == 1 and batch.positions * L * L <= _EDGES
    shares = inference.marginals(potentials, edges_by_position=pairs, threads=1)
    total = float(np.atleast_1d(inference.log_partition(potentials, threads=1))[0])
    several = []
    listed = inference.kbest(potentials, k, threads=1)[0]
    for one in listed:
        path = Path(batch.seq_ptr, one.labels, one.begin)
        spans = [span for span in model.segments_in(path)[0] if span[2] != OUTSIDE]
        both = exp(min(one.score - total, 0.0)), exp(min(one.score - listed[0].score, 0.0))
        several.append(Labels(one.labels.tolist(), *both, spans))
    path = model._path(batch, allowed=allowed, threads=1)
    segments = model.segment_marginals(batch, threads=1)[0] if model.segmental else []
    return Numbers(
        shares.node,
        shares.edge if pairs else None,
        path.label.tolist(),
        several,
        float(np.atleast_1d(inference.entropy(potentials, threads=1))[0]),
        [one for one in segments if one[2] != OUTSIDE],
    )


def spans_of(model: SequenceModel, batch: Batch, allowed: Any = None) -> list[Spans]:
    """Return the predicted spans of each sentence of a batch, with probabilities where there are some."""
    found: list[Spans] = []
    try:
        check_sure(model)
        sure = hasattr(model, "predict_proba")
    except ValueError:
        sure = False
    path = model._path(batch, allowed=allowed, threads=1)
    if not sure:
        each = model.segments_in(path)
        return [[(a, b, y, None) for a, b, y in several if y != OUTSIDE] for several in each]
    first = 0
    for part, potentials in model.parts(
        batch, allowed=allowed, threads=1, cells=model.structure.states() ** 2
    ):
        rows = slice(first, first + part.positions)
        begin = None if path.begin is None else path.begin[rows]
        here = Path(part.seq_ptr, path.label[rows], begin)
        for several in sure_of(model, potentials, here, 1):
            found.append([one for one in several if one[2] != OUTSIDE])
        first += part.positions
    return found


def reason(
    model: SequenceModel, batch: Batch, words: Sequence[str], at: int, allowed: Any = None
) -> Decision:
    """Return why a token has its label; raises a ValueError where the model has no reasons."""
    limits = allowed if isinstance(allowed, Sets) or allowed is None else Sets(batch.seq_ptr, allowed)
    found = explain_sequence(model, batch, at, allowed=limits, threads=1)
    return replace(found, tokens=tuple(words)).at(at)


def unseen(model: SequenceModel, sentence: Any, at: int) -> list[str]:
    """Return the attributes of a token that the training data did not have, where a recipe makes them."""
    recipe = model.recipe
    if recipe is None or model.hashed is not None or recipe.segmental or not len(model.attributes):
        return []
    from crfkit.features import Extractor

    if not isinstance(sentence, Columns):
        rows = [word if isinstance(word, tuple) else (word,) for word in sentence[0]]
        sentence = Columns.from_rows([rows], list(map(str, recipe.columns)))
    made = Extractor(recipe, None)(sentence, 1)
    batch = made.batch
    ids = batch.attr[int(batch.attr_ptr[at]) : int(batch.attr_ptr[at + 1])].tolist()
    names = [made.attributes[i] for i in ids]
    known = model.attributes.ids(names).tolist() if names else []
    return [name for name, id in zip(names, known, strict=True) if id < 0]
