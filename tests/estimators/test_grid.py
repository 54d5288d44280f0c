"""GridCRF: labels of the pixels of images."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import crfkit
from crfkit import GridCRF, Likelihood, Stop
from crfkit.inference.methods import Auto, BeliefPropagation, Enumeration
from crfkit.models.graph_model import Decoding
from crfkit.models.grounding.images import Images
from crfkit.structures.graphs.parts import part_of
from crfkit.training.events import Event, Preparing, StopTraining
from crfkit.training.graphs.drawn import held_out, no_worse
from crfkit.training.graphs.validation import GraphValidation

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
    assert isinstance(crf.model_.feature_map, Images)
    assert crf.model_.feature_map.contrast == pytest.approx(1.0)  # twice the mean of 1 and 0
    dense = crf.batch(X).features["right"].dense
    assert dense is not None
    np.testing.assert_allclose(dense[:, 0], [np.exp(-1.0), 1.0])
    flat = GridCRF(contrast="exp", stop=FEW).fit([np.zeros((2, 2, 1))], [np.array([[0, 1], [1, 1]])])
    assert isinstance(flat.model_.feature_map, Images)
    assert flat.model_.feature_map.contrast == 1.0, "all pixels are alike"


@pytest.mark.filterwarnings("ignore:belief-propagation did not converge")
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
        ([np.zeros((2, 2, 0))], [np.zeros((2, 2), dtype=int)], r"X\[0\] has shape \(2, 2, 0\): no features"),
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


def test_pseudo_likelihood_is_warned_of() -> None:
    X, y = squares(6)
    with pytest.warns(RuntimeWarning, match="ties pixels of smooth images"):
        GridCRF(objective="pseudo-likelihood", stop=FEW).fit(X, y)


def test_training_begins_with_pixels_alone() -> None:
    X, y = squares(6)
    crf = GridCRF(tying="potts", method=BeliefPropagation()).fit(X, y)
    assert crf.model_.training is not None
    assert any("variables alone" in note for note in crf.model_.training.notes)


def areas(
    seed: int, n: int, shape: tuple[int, int], L: int, *, channels: int = 3, noise: float = 1.5
) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Return images of smooth areas, each with a color under noise, and their labels."""
    rng = np.random.default_rng(seed)
    color = np.random.default_rng(99).normal(size=(L, channels))
    X, y = [], []
    for _ in range(n):
        fields = rng.normal(size=(L, *shape))
        for axis in (1, 2):
            for _ in range(40):
                fields = (np.roll(fields, 1, axis) + 2.0 * fields + np.roll(fields, -1, axis)) / 4.0
        y.append(fields.argmax(axis=0))
        X.append(color[y[-1]] + rng.normal(scale=noise, size=(*shape, channels)))
    return X, y


def alone_and_together(X: list[Any], y: list[Any], n: int, **options: Any) -> tuple[GridCRF, float, float]:
    """Return what was learned of n images, and the right pixels of the others: alone, and by neighbors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf = GridCRF(**options).fit(X[:n], y[:n])
    pixels, labels = (np.concatenate([a.reshape(-1, *a.shape[2:]) for a in part[:n]]) for part in (X, y))
    alone = LogisticRegression().fit(pixels, labels)
    pixels, labels = (np.concatenate([a.reshape(-1, *a.shape[2:]) for a in part[n:]]) for part in (X, y))
    return crf, float(alone.score(pixels, labels)), crf.score(X[n:], y[n:])


def test_links_of_wide_images_begin_with_draws_and_help_where_one_color_says_little() -> None:
    X, y = areas(1, 6, (40, 50), 4, channels=1, noise=1.0)  # belief propagation alone: one label fills images
    crf, alone, together = alone_and_together(X, y, 4)
    assert together > alone + 0.1
    assert crf.model_.training is not None
    assert "passes of persistent contrastive divergence" in " ".join(crf.model_.training.notes)
    again = alone_and_together(X, y, 4)[0]
    np.testing.assert_array_equal(crf.model_.w, again.model_.w)


def test_draws_are_shown_and_can_be_ended() -> None:
    X, y = areas(0, 2, (24, 24), 4)
    heard: list[Preparing] = []

    def listener(event: Event) -> None:
        if isinstance(event, Preparing):
            heard.append(event)
            if event.iteration == 3:
                raise StopTraining("enough")

    crf = GridCRF().fit(X, y, listeners=[listener])
    assert [(event.iteration, event.most) for event in heard] == [(1, 250), (2, 250), (3, 250)]
    assert crf.model_.training is not None
    assert crf.model_.training.reason == "enough"


def test_messages_that_do_not_rest_end_training_with_a_warning_for_good(tmp_path: Path) -> None:
    X, y = areas(1, 2, (40, 50), 4, channels=1, noise=1.0)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        crf = GridCRF().fit(X, y, checkpoint=tmp_path)
    assert crf.model_.training is not None
    assert crf.model_.training.reason.startswith("messages do not rest")
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        again = GridCRF().fit(X, y, checkpoint=tmp_path)
    np.testing.assert_array_equal(crf.model_.w, again.model_.w)


def test_links_are_weaker_where_labels_would_be_worse_than_those_of_variables_alone() -> None:
    X, y = squares(0)
    model = GridCRF().fit(X, y).model_
    batch, method = model.batch(X, y), Auto()
    alone, strong = model.w.copy(), model.w.copy()
    for name in ("right", "down"):
        part = model.layout.parts[name]
        alone[part] = 0.0
        strong[part] = np.eye(2).ravel() * 50.0  # one label fills an image
    judge = GraphValidation(model, batch, "accuracy", method)
    kept = no_worse(replace(model, w=strong), alone, batch, method, None)
    assert judge(strong) < judge(alone) <= judge(kept.w)
    assert kept.training is not None
    assert "by variables alone, so links are left out" in kept.training.notes[-1]
    same = no_worse(model, alone, batch, method, None)
    np.testing.assert_array_equal(same.w, model.w)
    assert same.training is not None
    assert re.search('so predict gives "(viterbi|posterior)"$', same.training.notes[-1])


def test_labels_are_decoded_as_finds_more_of_them(tmp_path: Path) -> None:
    X, y = squares(0, 6)
    model = GridCRF().fit(X, y).model_
    batch, w = model.batch(X, y), model.w.copy()
    for name in ("right", "down"):
        w[model.layout.parts[name]] = 0.3 * np.eye(2).ravel()
    decodings: tuple[Decoding, ...] = ("posterior", "viterbi")
    likeliest, best = (
        GraphValidation(model, batch, "accuracy", Auto(), decoding=one)(w) for one in decodings
    )
    assert likeliest > best
    kept = no_worse(replace(model, w=w), w, batch, Auto(), None)
    assert kept.decoding == "posterior"
    np.testing.assert_array_equal(kept.w, w)
    kept.save(tmp_path / "m.crf")
    again = crfkit.load(tmp_path / "m.crf")
    assert again.decoding == "posterior"
    for decoding in decodings:
        one = replace(kept, decoding=decoding)
        for a, b in zip(one.predict(X), kept.predict(X, method=decoding), strict=True):
            np.testing.assert_array_equal(a, b)
        flat = np.concatenate([a.ravel() for a in one.predict(X)])
        assert one.score(X, y) == pytest.approx(np.mean(flat == np.concatenate([a.ravel() for a in y])))
    with pytest.raises(ValueError, match="decoding is 'best'"):
        replace(kept, decoding="best")  # type: ignore[arg-type]


def test_decoding_and_strength_are_judged_on_images_that_were_held_out() -> None:
    batch = GridCRF().fit(*squares(0)).batch(*squares(0, 9))
    held = held_out(batch)
    assert len(held) == 2
    assert not len(held_out(part_of(batch, held).batch))
    X, y = areas(1, 8, (24, 24), 4, noise=1.0)
    crf = alone_and_together(X, y, 8 - 2)[0]
    assert crf.model_.training is not None
    assert "of the labels held out are right" in crf.model_.training.notes[-1]


@pytest.mark.slow
def test_twenty_images_of_eleven_labels_end_and_help() -> None:
    X, y = areas(0, 24, (100, 150), 11)
    began = time.process_time()
    _, alone, together = alone_and_together(X, y, 20)
    assert time.process_time() - began < 120.0
    assert together > alone + 0.1
