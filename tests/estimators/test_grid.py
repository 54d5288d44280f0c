"""GridCRF: labels of the pixels of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from crfkit import GridCRF, Likelihood, Stop
from crfkit.inference.methods import BeliefPropagation, Enumeration
from crfkit.models.grounding.images import Images

FEW = Stop(max_iterations=20)


def squares(seed: int, n: int = 4, scale: float = 0.7) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Return noisy images of a square, of different sizes, and labels 3 and 7."""
    rng = np.random.default_rng(seed)
    y = [np.pad(np.full((5, 4 + i % 2), 7), 2, constant_values=3) for i in range(n)]
    X = [((image == 7) + rng.normal(scale=scale, size=image.shape))[:, :, None] for image in y]
    return X, y


def test_neighbors_help_and_answers_have_the_shapes_of_images() -> None:
    X, y = squares(0)
    crf = GridCRF(tying="potts").fit(X, y)
    alone = np.mean([np.mean((x[:, :, 0] > 0.5) == (label == 7)) for x, label in zip(X, y, strict=True)])
    assert crf.score(X, y) > alone + 0.05
    assert crf.classes_.tolist() == [3, 7]
    for image, p, label in zip(crf.predict(X), crf.predict_proba(X), y, strict=True):
        assert image.shape == label.shape
        assert {*np.unique(image).tolist()} <= {3, 7}
        assert p.shape == (*label.shape, 2)
        np.testing.assert_allclose(p.sum(axis=2), 1.0)
    assert crf.predict([]) == []


def test_marginals_are_those_of_enumeration() -> None:
    X, y = squares(1, 2)
    crf = GridCRF(connect=8, contrast="exp", stop=FEW).fit(X, y)
    small = [x[:3, :4] for x in X]
    found = crf.predict_proba(small)
    crf.method = Enumeration()
    for one, other in zip(found, crf.predict_proba(small), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_contrast_scales_neighbors() -> None:
    X = [np.array([[[0.0, 5.0], [1.0, -5.0], [1.0, 0.0]]])]
    y = [np.array([[0, 1, 1]])]
    crf = GridCRF(contrast="exp", channels=[0], stop=FEW).fit(X, y)
    assert isinstance(crf.model_.grounding, Images)
    assert crf.model_.grounding.contrast == pytest.approx(1.0)  # twice the mean of 1 and 0
    dense = crf.batch(X).features["right"].dense
    assert dense is not None
    np.testing.assert_allclose(dense[:, 0], [np.exp(-1.0), 1.0])
    flat = GridCRF(contrast="exp", stop=FEW).fit([np.zeros((2, 2, 1))], [np.array([[0, 1], [1, 1]])])
    assert isinstance(flat.model_.grounding, Images)
    assert flat.model_.grounding.contrast == 1.0, "all pixels are alike"


def test_void_pixels_are_hidden_and_do_not_count() -> None:
    X, y = squares(2)
    marked = [np.where(np.indices(label.shape)[1] == 0, 255, label) for label in y]
    crf = GridCRF(void=255, tying="same", objective=Likelihood(), method=BeliefPropagation(), stop=FEW)
    crf.fit(X, marked)
    assert crf.classes_.tolist() == [3, 7]
    seen = np.concatenate([p[:, 1:].ravel() for p in crf.predict(X)])
    gold = np.concatenate([label[:, 1:].ravel() for label in y])
    assert crf.score(X, marked) == pytest.approx(np.mean(seen == gold))
    weight = [1.0, 0.0, 0.0, 0.0]
    assert crf.score(X, marked, sample_weight=weight) == crf.score(X[:1], marked[:1])


def test_conventions_of_scikit_learn_and_threads() -> None:
    X, y = squares(3)
    crf = GridCRF(stop=FEW)
    assert clone(crf).set_params(objective__l2=3.0).get_params()["objective__l2"] == 3.0
    assert cross_val_score(crf, X, y, cv=2).shape == (2,)
    one, two = (clone(crf).set_params(n_jobs=threads).fit(X, y).model_.w for threads in (1, 2))
    assert (one == two).all()


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([np.zeros((2, 2))], [np.zeros((2, 2), dtype=int)], r"X\[0\] has type float64 and shape \(2, 2\)"),
        (
            [np.zeros((2, 2, 1)), np.zeros((2, 2, 3))],
            [],
            r"X\[1\] has 3 features for each pixel, X\[0\] has 1",
        ),
        (
            [np.full((1, 2, 1), np.nan)],
            [np.zeros((1, 2), dtype=int)],
            r"X\[0\] has features that are not finite",
        ),
        ([np.zeros((2, 2, 1))], [], "X has 1 images, y has 0"),
        ([np.zeros((2, 2, 1))], [np.zeros((2, 3), dtype=int)], r"y\[0\] has type int64 and shape \(2, 3\)"),
        ([np.zeros((2, 2, 1))], [np.zeros((2, 2))], r"y\[0\] has type float64"),
        ([np.zeros((2, 2, 1))], [np.full((2, 2), -1)], "all pixels of y are -1, void"),
        ([], [], "X has no images"),
    ],
)
def test_wrong_images_are_refused(X: Any, y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GridCRF().fit(X, y)


def test_wrong_options_are_refused() -> None:
    X, y = squares(4, 1)
    for options, said in (
        ({"connect": 6}, "connect is 6"),
        ({"contrast": "some"}, "contrast"),
        ({"cells": "some"}, "cells"),
        ({"contrast": "exp", "channels": [1]}, "channels has 1, expected 0 to 0"),
    ):
        with pytest.raises(ValueError, match=said):
            GridCRF().set_params(**options).fit(X, y)
    crf = GridCRF(stop=FEW).fit(X, y)
    with pytest.raises(ValueError, match="have 2 features, those of training 1"):
        crf.predict([np.zeros((2, 2, 2))])
