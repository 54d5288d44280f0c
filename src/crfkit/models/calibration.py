"""Calibration: making probabilities of 0.8 come true 8 times in 10, on data that training has not seen.

Temperature (Guo et al. 2017): all scores are divided by T, the one number for which the gold labels of the
positions, each on its own, are most probable. Scores are linear in the weights, so these are divided, and the
result is a chain like any other: the best labeling is the same, and every probability is that of one
distribution over labelings.

Isotonic regression (Zadrozny & Elkan 2002): rising curves map the probabilities of labels, and those of
predicted segments, to how often they come true. It corrects any shape of error, but what it gives are no
longer the marginals of one distribution: whole labelings keep the probabilities that they had.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from crfkit.arrays import Bools, Floats, Ids, checked_later
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.models.confidence import segment_confidence
from crfkit.models.encoding import Recoding
from crfkit.models.isotonic import Isotonic
from crfkit.structures.gold import Path
from crfkit.tags.segments import segments_of

if TYPE_CHECKING:
    from crfkit.metrics.reliability import Calibration
    from crfkit.models.model import SequenceModel

Method = Literal["temperature", "isotonic"]
_WIDEST = 3.0  #: T lies between e**-3 and e**3


class Reliability(NamedTuple):
    """How well probabilities agree with what comes true."""

    labels: Calibration  #: of the most probable label of each position
    segments: (
        Calibration | None
    )  #: of predicted segments; None where labels do not spell any, or none is there


def calibrated(
    model: SequenceModel, X: Any, y: Any, method: Method = "temperature", *, threads: int | None = None
) -> SequenceModel:
    """Return a model with calibrated probabilities; see `SequenceModel.calibrated`."""
    check_choice("method", method, ("temperature", "isotonic"))
    model = replace(model, calibration=None)
    data = _labeled(model, X, y, threads)
    if method == "isotonic":
        return replace(model, calibration=_isotonic(model, data, threads))
    if model.structure.local:
        raise ValueError(
            "a temperature divides the scores of whole labelings, which a local chain does not have: its "
            'steps are normalized one by one; use method="isotonic"'
        )
    return replace(model, w=model.w / _temperature(model, data, threads))


def reliability(model: SequenceModel, X: Any, y: Any = None, *, threads: int | None = None) -> Reliability:
    """Return the reliability of a model's probabilities on labeled data; X, y: `SequenceModel.dataset`.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
    >>> found = reliability(model, [[["the"], ["dog"]]], [["D", "N"]])
    >>> 0.0 < found.labels.expected_error < 0.5, int(found.segments.count.sum())
    (True, 2)
    """
    from crfkit.metrics import calibration

    data = _labeled(model, X, y, threads)
    gold, known = _gold(model, data)
    shares = _shares(model, data, threads)[known]
    best = shares.argmax(axis=1)
    labels = calibration(shares[np.arange(len(best)), best], best == gold[known])
    p, right = _segments(model, data, threads)
    return Reliability(labels, calibration(p, right) if len(p) else None)


def _labeled(model: SequenceModel, X: Any, y: Any, threads: int | None) -> Dataset:
    data = X if isinstance(X, Dataset) and y is None else model.dataset(X, y, threads=threads)
    if data.batch.label is None or not (data.batch.label >= 0).any():
        raise ValueError("the data have no labels; calibration needs labeled data that training did not see")
    return data


def _gold(model: SequenceModel, data: Dataset) -> tuple[Ids, Bools]:
    """Return the gold of each position by id of the model's answers, and where there is some: [P] each."""
    assert data.batch.label is not None
    known, label, names = Alphabet(model.answers).freeze(), data.batch.label, tuple(data.labels.strings())
    if isinstance(model.spelling, Recoding):  # the data are spelled as the chain has labels
        tags = Recoding(names, model.scheme)
        label, names = tags.ids(Path(data.batch.seq_ptr, label)), tuple(tags.alphabet.strings())
    return np.append(known.ids(names), -1)[label].astype(np.int32), data.batch.label >= 0


def _shares(model: SequenceModel, data: Dataset, threads: int | None) -> Floats:
    """Return the probabilities of labels, [P, L]."""
    return np.concatenate([np.zeros((0, len(model.answers))), *model.predict_proba(data, threads=threads)])


def _segments(model: SequenceModel, data: Dataset, threads: int | None) -> tuple[Floats, Bools]:
    """Return the probability of each predicted segment whose sequence is labeled, and whether it is gold."""
    none = np.zeros(0), np.zeros(0, dtype=np.bool_)
    if not model.segmental and model.tags is not None and model.layout.order > 1:
        return none
    batch = data.batch
    assert batch.label is not None
    names = [*data.labels.strings(), ""]
    p: list[float] = []
    right: list[bool] = []
    for n, several in enumerate(segment_confidence(model, data, threads=threads)):
        rows = slice(int(batch.seq_ptr[n]), int(batch.seq_ptr[n + 1]))
        if (batch.label[rows] < 0).any():
            continue
        tags = [names[y] for y in batch.label[rows].tolist()]
        begin = None if batch.begin is None else batch.begin[rows].tolist()
        gold = model.segments_spelled(tags) if begin is None else segments_of(tags, begin)
        for *segment, share in several:
            p.append(share)
            right.append(tuple(segment) in gold)
    return (np.array(p), np.array(right)) if p else none


def _temperature(model: SequenceModel, data: Dataset, threads: int | None) -> float:
    """Return the T for which gold labels are most probable."""
    from scipy.optimize import minimize_scalar

    gold, _ = _gold(model, data)
    at = np.flatnonzero(gold >= 0)  # a label that the model does not know has no probability at any T
    if not len(at):
        raise ValueError("the model does not know any label of the data; give data with its labels")
    batch = model.batch_of(data)

    def loss(log_t: float) -> float:
        with checked_later():  # scores look at the weights
            cooled = replace(model, w=model.w * np.exp(-log_t))
        shares = np.concatenate(cooled.predict_proba(batch, threads=threads))
        return -float(np.mean(np.log(np.maximum(shares[at, gold[at]], 1e-300))))

    found = minimize_scalar(loss, bounds=(-_WIDEST, _WIDEST), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def _isotonic(model: SequenceModel, data: Dataset, threads: int | None) -> Isotonic:
    gold, known = _gold(model, data)
    shares = _shares(model, data, threads)[known]  # [P, L]
    right = np.arange(shares.shape[1]) == gold[known][:, None]
    return Isotonic(*_knots(shares.ravel(), right.ravel()), *_knots(*_segments(model, data, threads)))


def _knots(p: Floats, right: Bools) -> tuple[Floats, Floats]:
    """Return the knots of the rising curve that fits best; n cases do not make anything certain."""
    from sklearn.isotonic import IsotonicRegression

    if not len(p):
        return np.zeros(0), np.zeros(0)
    least = 1.0 / (len(p) + 2.0)  # Platt (1999)
    fitted = IsotonicRegression(y_min=least, y_max=1.0 - least).fit(np.clip(p, 0.0, 1.0), right)
    return fitted.X_thresholds_.astype(np.float64), fitted.y_thresholds_.astype(np.float64)
