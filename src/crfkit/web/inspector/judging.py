"""How good a model is on labeled data: the report, every mistake, and whether its probabilities come true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.metrics.comparison import Columns as Compared
from crfkit.metrics.default_metric import scheme_of_rows
from crfkit.metrics.mistakes import Mistake, WrongSequence
from crfkit.metrics.pictures import INVENTED, MISSED
from crfkit.metrics.report import Report
from crfkit.metrics.significance import bootstrap_counts
from crfkit.models.model import SequenceModel
from crfkit.tags.schemes import OUTSIDE
from crfkit.tags.segments import runs_of, spans
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.numbers import Spans, spans_of
from crfkit.web.inspector.reading import batch_of

__all__ = ["Judged", "judged", "pair_of", "sides", "spans_in"]


@dataclass(frozen=True, eq=False)
class Judged:
    """A model on data."""

    compared: Compared
    report: Report
    interval: tuple[float, float]  #: of the score, 95 %
    wrong: list[WrongSequence]
    spans: list[Spans]  #: predicted, by sentence
    gold: list[list[tuple[int, int, str]]]
    loss: Floats  #: -log p(gold) by sentence; 0 where the model has no probabilities
    claims: list[tuple[float, bool]]  #: of each token: how sure, and whether right
    kept: list[tuple[float, bool]]  #: the same of each predicted span


def judged(model: SequenceModel, data: Material) -> Judged:
    """Return how good a model is on data with gold labels."""
    assert data.gold is not None
    batch = batch_of(model, data.X)
    compared = sides(model, data)
    report = compared.report()
    found = spans_of(model, batch)
    gold = [spans_in(model, labels) for labels in data.gold]
    sure = hasattr(model, "predict_proba")
    shares = model.predict_proba(batch, threads=1) if sure else []
    probability, claims = _claimed(model, shares, data.gold) if sure else (None, [])
    right = [set(several) for several in gold]
    kept = [
        (p, (a, b, y) in right[n])
        for n, several in enumerate(found)
        for a, b, y, p in several
        if p is not None
    ]
    return Judged(
        compared,
        report,
        _interval(compared),
        report.errors(None, words=data.words, probability=probability),
        found,
        gold,
        -np.maximum(model.log_prob(data.X, data.gold, threads=1), -1e9) if sure else np.zeros(len(data)),
        claims,
        kept,
    )


def sides(model: SequenceModel, data: Material) -> Compared:
    """Return gold and predicted labels of data, with the metric that fits the model."""
    assert data.gold is not None
    judge: Any = model.judge()
    spelling = model.spelling_for(judge)
    found = spelling.tags(model._path(batch_of(model, data.X), threads=1))
    scheme = scheme_of_rows(judge.name, spelling.alphabet.strings(), model.label_scheme)
    return Compared.of(data.gold, found, judge, scheme=scheme)


def spans_in(model: SequenceModel, labels: Sequence[str | None]) -> list[tuple[int, int, str]]:
    """Return the spans that gold labels spell, or their runs, as the model would have them."""
    known = [y or OUTSIDE for y in labels]
    if model.segmental:
        found = spans(known) if model.scheme is not None else runs_of(known)
    else:
        found = spans([model.tags.get(y, y) for y in known]) if model.tags is not None else runs_of(known)
    return [(a, b, y) for a, b, y in found if y != OUTSIDE]


def pair_of(one: Mistake, report: Report) -> tuple[str, str]:
    """Return the row and the column of the confusion that a mistake is counted in."""
    nothing = (OUTSIDE, OUTSIDE) if report.scheme is None else (INVENTED, MISSED)
    return one.gold[2] if one.gold else nothing[0], one.predicted[2] if one.predicted else nothing[1]


def _claimed(
    model: SequenceModel, shares: Sequence[Floats], gold: list[list[str]]
) -> tuple[list[list[float | None]], list[tuple[float, bool]]]:
    """Return the probability of each gold label; the highest one of each token, and whether it is right."""
    column = {name: y for y, name in enumerate(model.answers)}
    typed = model.segmental and model.scheme is not None
    probability, claims = [], []
    for rows, labels in zip(shares, gold, strict=True):
        names = [y[2:] if typed and y[1:2] == "-" else y for y in labels]
        ids = [column.get(y) for y in names]
        probability.append([None if y is None else float(row[y]) for row, y in zip(rows, ids, strict=True)])
        best = np.asarray(rows).argmax(1).tolist() if len(rows) else []
        claims += [(float(row[z]), z == y) for row, z, y in zip(rows, best, ids, strict=True)]
    return probability, claims


def _interval(compared: Compared) -> tuple[float, float]:
    """Return the 95 % interval of a score, by samples of the sentences."""
    N = compared.N
    judging: Any = compared.judging
    measure = judging.metric
    counts = measure.count(compared.encoded, np.arange(N), N)
    found = bootstrap_counts(np.stack([counts, counts], 1), measure.value, measure.name)
    return found.interval_a
