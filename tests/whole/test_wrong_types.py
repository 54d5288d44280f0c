"""Arguments of the wrong type get a sentence with the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import Likelihood
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.models import Tagger
from crfkit.structures import Chain
from crfkit.training.blocks.stream import BlockedData
from tests.cases.estimators import A_WORD, W, X, Y, crf, fitted

# As a program without types would call them.
likelihood: Any = Likelihood
tagger: Any = Tagger
train: Any = crfkit.train
chain: Any = crfkit.Chain
features: Any = crfkit.FeatureSelection
stop: Any = crfkit.Stop


def weighted(label_weights: Any, **options: Any) -> crfkit.ChainCRF:
    return crf(objective=Likelihood(label_weights=label_weights), **options)


def given(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: likelihood(l2="1"), TypeError, "l2 is '1', of type str, expected a number such as l2=1.0"),
        (lambda: likelihood(l1=None), TypeError, "l1 is None"),
        (lambda: likelihood(transition_l2=[1]), TypeError, r"transition_l2 is \[1\]"),
        (lambda: likelihood(label_weights="even"), ValueError, "is 'even', expected .balanced."),
        (lambda: likelihood(label_weights=[1.0]), TypeError, 'expected "balanced" or a dict'),
        (
            lambda: crf(objective=likelihood(label_weights={"D": "1"})).fit(X, Y),
            TypeError,
            "'1' for the label 'D'",
        ),
        (
            lambda: crf(objective=likelihood(label_weights={"Q": 1.0})).fit(X, Y),
            ValueError,
            "the labels are D, N, V",
        ),
        (lambda: tagger(crf()), TypeError, r"of type ChainCRF; .*Tagger\(estimator.model_\)"),
        (lambda: tagger("m.crf"), TypeError, r"Tagger\(crfkit.load\('m.crf'\)\)"),
        (lambda: tagger(Path("m.crf")), TypeError, r"crfkit.load\('m.crf'\)"),
        (lambda: tagger(3), TypeError, "expected a Model, from crfkit.load"),
        (lambda: tagger(fitted().model_).log_prob(X[0], "D"), TypeError, "labels is the string 'D'"),
        (lambda: train(X, Y), TypeError, r"data is a list.*ChainCRF\(\).fit\(X, y\)"),
        (lambda: fitted().model_.predict(given(3)), TypeError, "X is 3, expected a list of sequences"),
        (
            lambda: fitted().model_.evaluate(given(X)),
            ValueError,
            "the data have no labels; give labeled data",
        ),
        (
            lambda: crf(structure=chain(order="1")).fit(X, Y),
            TypeError,
            "order is '1', of type str, expected a number",
        ),
        (lambda: crf(n_jobs="2").fit(X, Y), TypeError, "n_jobs is '2'"),
        (lambda: crf(random_state="2").fit(X, Y), TypeError, "random_state is '2'"),
        (lambda: crf(selection=features(min_count="2")).fit(X, Y), TypeError, "min_count is '2'"),
        (lambda: crf(stop=stop(max_iterations="2")).fit(X, Y), TypeError, "max_iterations is '2'"),
        (lambda: crf().fit(["the dog"], [["D"]]), ValueError, "sequence 0 is a plain string, 'the dog'"),
        (lambda: crf(features=None).fit(W, Y), ValueError, r"X\[0\]\[0\] is the plain string .*a template"),
        (lambda: crf().fit(X[0], Y[0]), ValueError, r"X is one sequence, .*give \[X\]"),
        (lambda: fitted().predict(X[0]), ValueError, r"X is one sequence"),
        (lambda: crf().fit({"w": "the"}, Y[0]), ValueError, "X is {'w': 'the'}, expected a list"),
        (lambda: crf().fit(3, Y), TypeError, "X is 3, expected a list of sequences"),
    ],
)
def test_the_message_says_what_to_do(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_numbers_of_every_kind_are_numbers() -> None:
    made = crf(structure=chain(order=np.int64(1)), objective=likelihood(l2=np.float32(0.5))).fit(X, Y)
    assert made.predict(A_WORD) == [["D"]]


# ---- balanced label weights, as an option that may also be a word ---------------------------------------


def test_balanced_label_weights_are_those_of_scikit_learn(tmp_path: Path) -> None:
    from sklearn.utils.class_weight import compute_class_weight

    data = ItemExtractor()(X, Y)
    chain, layout = Chain(data.labels.strings()), Layout.observed(data.batch, 3)
    flat, names = [y for s in Y for y in s], np.array(chain.labels)
    wanted = dict(zip(names, compute_class_weight("balanced", classes=names, y=flat), strict=True))
    kinds: tuple[Any, ...] = ("balanced", wanted)
    same = [Likelihood(label_weights=kind).bind(layout, chain, data.batch) for kind in kinds]
    assert all(isinstance(one, LinearLoss) for one in same)
    np.testing.assert_allclose(same[0].weight, same[1].weight, rtol=1e-12)
    options: Any = {"optimizer": "lbfgs", "stop": stop(max_iterations=4)}
    objective = Likelihood(label_weights="balanced")
    whole = crfkit.train(data, objective=objective, **options)
    blocks = BlockedData.write(tmp_path / "b", [data[:3], data[3:]])  # counted over all of them
    parts = crfkit.train(blocks, objective=objective, **options)
    np.testing.assert_allclose(whole.w, parts.w, atol=1e-9)
    plain = crfkit.train(data, **options)
    assert abs(whole.w - plain.w).max() > 1e-3


def test_balanced_counts_what_is_plain() -> None:
    made = weighted("balanced", stop=stop(max_iterations=5))
    assert made.fit(X, [[{y: 1.0} for y in s] for s in Y]).predict(A_WORD) == [["D"]]
    made.fit(X, [["D", *([None] * (len(s) - 1))] if len(s) > 1 else ["N"] for s in Y])
    with pytest.raises(ValueError, match="counts plain labels, but the data have none"):
        made.fit(X, [[{y, "V"} for y in s] for s in Y])
