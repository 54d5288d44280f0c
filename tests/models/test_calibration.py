"""Calibration: probabilities of a model that is too sure become honest, and predictions stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import MEMM, ChainCRF, HiddenChainCRF, SemiCRF, inference
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel
from crfkit.models.calibration import reliability
from crfkit.models.files.convert import write_model
from crfkit.models.isotonic import Isotonic


def noisy(N: int, seed: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Segments of a and b, of which every fifth has another label than its words say."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(N):
        x, tags = [], []
        for _ in range(int(random.integers(1, 4))):
            word, length = "ab"[int(random.integers(2))], int(random.integers(1, 3))
            kind = word if random.random() < 0.8 else "ab"[word == "a"]
            x += [["c"], *[[word]] * length]
            tags += ["O", f"B-{kind}", *[f"I-{kind}"] * (length - 1)]
        X.append(x)
        y.append(tags)
    return X, y


def too_sure(crf: Any, factor: float = 6.0) -> SequenceModel:
    """A model with weights that are too large."""
    model: SequenceModel = crf.set_params(n_jobs=1).fit(*noisy(120, 0)).model_
    return replace(model, w=model.w * factor)


def check_honest(honest: Any, sure: Any, X: Any, y: Any) -> None:
    """Assert that probabilities of labels and of segments are at most half as wrong."""
    before, after = (reliability(model, X, y) for model in (sure, honest))
    assert after.labels.expected_error < before.labels.expected_error / 2
    assert after.segments is not None
    assert before.segments is not None
    assert after.segments.expected_error < before.segments.expected_error / 2


@pytest.mark.parametrize("crf", [ChainCRF(), SemiCRF(), HiddenChainCRF(states=1)])
def test_a_temperature_undoes_weights_that_are_too_large(crf: Any) -> None:
    sure = too_sure(crf)
    honest = sure.calibrated(*noisy(120, 1))
    ratio = np.linalg.norm(honest.w) / np.linalg.norm(sure.w)
    assert 1 / 9 < ratio < 1 / 4
    np.testing.assert_allclose(honest.w, sure.w * ratio, atol=1e-9)
    X, y = noisy(200, 2)
    assert honest.predict(X) == sure.predict(X)
    check_honest(honest, sure, X, y)


@pytest.mark.parametrize("crf", [ChainCRF(), SemiCRF(), MEMM()])
def test_isotonic_regression_maps_labels_and_segments(crf: Any, tmp_path: Path) -> None:
    sure = too_sure(crf)
    honest = sure.calibrated(*noisy(200, 1), method="isotonic")
    X, y = noisy(200, 2)
    assert honest.w.tobytes() == sure.w.tobytes()
    assert honest.predict(X) == sure.predict(X)
    check_honest(honest, sure, X, y)
    np.testing.assert_allclose(np.concatenate(honest.predict_proba(X)).sum(axis=1), 1.0, atol=1e-12)
    assert all(0.0 < p < 1.0 for several in honest.predict_spans(X) for *_, p in several)
    honest.save(tmp_path / "m.crf")
    again = SequenceModel.load(tmp_path / "m.crf")
    assert again.predict_spans(X) == honest.predict_spans(X) != sure.predict_spans(X)
    assert np.array_equal(again.predict_proba(X)[0], honest.predict_proba(X)[0])
    assert SequenceModel.from_bytes(honest.to_bytes(compact=True)).calibration is not None
    anew = honest.calibrated(X, y, method="isotonic")  # from the model itself, not from its curves
    np.testing.assert_array_equal(
        anew.predict_proba(X)[0], sure.calibrated(X, y, method="isotonic").predict_proba(X)[0]
    )


def test_the_temperature_makes_gold_labels_most_probable() -> None:
    sure, data = too_sure(ChainCRF()), noisy(60, 1)
    honest = sure.calibrated(*data)

    def loss(model: SequenceModel) -> float:
        node = inference.marginals(model.potentials(model.batch_of(data[0]))).node
        gold = model.names.labels.ids([label for labels in data[1] for label in labels])
        return -float(np.log(node[np.arange(len(gold)), gold]).mean())

    for factor in (0.9, 1.1):
        assert loss(honest) < loss(replace(honest, w=honest.w * factor))


def test_labels_that_are_missing_or_not_known_do_not_end_it() -> None:
    sure, (X, y) = too_sure(ChainCRF()), noisy(60, 1)
    some = [[None if t == 0 else label for t, label in enumerate(labels)] for labels in y]
    some[0][-1] = "B-new"
    for method in ("temperature", "isotonic"):
        made = sure.calibrated(X, some, method=method)
        assert reliability(made, X, some).labels.count.sum() == sum(map(len, y)) - len(y)


def test_what_is_refused() -> None:
    X, y = noisy(20, 0)
    crf = ChainCRF().fit(X, y)
    crf.model_ = crf.model_.calibrated(X, y, method="isotonic")
    with pytest.raises(ValueError, match="kbest is not for models calibrated by isotonic regression"):
        crf.kbest(X, 2)
    with pytest.raises(ValueError, match="probabilities calibrated by isotonic regression"):
        write_model(crf.model_, "m.crfsuite", "crfsuite")
    with pytest.raises(ValueError, match="method"):
        crf.model_.calibrated(X, y, method="platt")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the data have no labels"):
        crf.model_.calibrated(X)
    with pytest.raises(ValueError, match="does not know any label"):
        crf.model_.calibrated([[["a"]]], [["B-new"]])
    with pytest.raises(ValueError, match="which a local chain does not have"):
        MEMM().fit(X, y).model_.calibrated(X, y)
    rising = np.array([0.0, 1.0])
    with pytest.raises(ValueError, match="does not rise"):
        Isotonic(rising, rising[::-1], rising, rising)
    with pytest.raises(ValueError, match="knots of the shapes"):
        Isotonic(rising[:0], rising[:0], rising, rising)


def test_labels_without_segments() -> None:
    X, y = noisy(30, 0)
    kinds = [[label.rpartition("-")[2] for label in labels] for labels in y]
    model = ChainCRF().fit(X, kinds).model_
    segments = reliability(model, X, kinds).segments  # runs of equal labels
    assert segments is not None
    assert segments.count.sum() == sum(map(len, model.segments_in(model._path(X))))
    assert model.calibrated(X, kinds, method="isotonic").calibration is not None
    data = model.dataset(ItemExtractor()(X), kinds)
    assert model.calibrated(data).predict(X) == model.predict(X)
