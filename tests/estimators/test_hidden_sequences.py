"""Classification of sequences by a hidden chain: against enumeration, and on the order of symbols."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from crfkit import Chain, HiddenSequenceCRF, inference
from crfkit.structures.constraints import Forbid
from tests.cases.hidden import ordered


def crf(**options: Any) -> HiddenSequenceCRF:
    return HiddenSequenceCRF(**{"states": 2, "restarts": 4, "n_jobs": 1, **options})


def test_probabilities_are_sums_over_states() -> None:
    made = crf(restarts=1, states={"up": 2, "down": 3}).fit(*ordered(20))
    x = [["a"], ["c"], ["b"]]
    model = made.model_
    scores = model.potentials(model.batch_of([x])).sequence(0)
    total = dict.fromkeys(model.answers, -np.inf)
    names = model.structure.labels
    for path in product(range(5), repeat=3):
        labels = {names[h].partition("/")[0] for h in path}
        score = inference.score(scores, list(path))
        if len(labels) == 1:
            label = labels.pop()
            total[label] = np.logaddexp(total[label], score)
        else:
            assert score == -np.inf
    values = np.array([total[name] for name in made.classes_])
    expected = np.exp(values - np.logaddexp.reduce(values))
    np.testing.assert_allclose(made.predict_proba([x])[0], expected, rtol=1e-10)
    np.testing.assert_allclose(made.predict_log_proba([x])[0], np.log(expected), rtol=1e-10)
    assert made.classes_.tolist() == ["down", "up"]
    assert made.predict_proba([x, []])[1].tolist() == [0.5, 0.5]
    assert made.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize("optimizer", ["auto", "em"])
def test_the_order_of_symbols_that_counts_do_not_show(optimizer: str) -> None:
    (x, y), (x_test, y_test) = ordered(80), ordered(80, seed=1)
    made = crf(optimizer=optimizer).fit(x, y)
    assert made.score(x_test, y_test) > 0.95
    counts = [np.array([[sum(s == [c] for s in one) for c in "abc"] for one in part]) for part in (x, x_test)]
    plain = LogisticRegression().fit(counts[0], y)
    assert plain.score(counts[1], y_test) < 0.65


def test_conventions() -> None:
    x, y = ordered(40)
    made = crf().fit(x, y, dev=ordered(20, seed=2))
    assert is_classifier(made)
    assert made.model_.training is not None
    assert made.model_.training.metric == "sequence_accuracy"
    assert all(len(set(labels)) == 1 for labels in made.model_.predict(x))
    assert cross_val_score(crf(), x, y, cv=2, scoring="neg_log_loss").shape == (2,)
    weight = np.where(np.array(y) == "up", 1.0, 0.0)
    assert (crf(restarts=1).fit(x, y, sample_weight=weight).predict(x) == "up").all()


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({}, None, "y is missing"),
        ({}, ["up"], "X has 2 sequences, y has 1 labels"),
        ({}, "up", "expected a list with one label for each sequence"),
        ({}, [0.5, 1], r"y\[0\] is 0.5, of type float"),
        ({}, ["up", "up"], "y has one label only, 'up'"),
        ({"structure": Chain(constraints=[Forbid("up", "down")])}, ["up", "down"], "no steps to constrain"),
        ({"objective": "max-margin"}, ["up", "down"], "needs to know every state"),
    ],
)
def test_what_is_refused(options: dict[str, Any], y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        crf(**options).fit([[["a"]], [["b"]]], y)
