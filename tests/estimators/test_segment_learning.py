"""`SemiCRF`: recipes, dev sets, learning on, lengths from the data, alternatives against enumeration."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from crfkit import Likelihood, SemiCRF, SemiMarkov, Stop, inference
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel
from tests.cases.spans import bare

WORDS = [
    "in New York it rains",
    "York is old",
    "New cars in York",
    "Los Angeles New York",
    "it rains",
    "Los cars",
]
TAGS = ["O B I O O", "B O O", "O O O B", "B I B I", "O O", "O O"]
X = [sentence.split() for sentence in WORDS]
Y = [[tag if tag == "O" else f"{tag}-CITY" for tag in tags.split()] for tags in TAGS]


def crf(**options: Any) -> SemiCRF:
    return SemiCRF(**{"features": "w[-1..1]", "n_jobs": 1, "objective": Likelihood(l2=0.1), **options})


def test_lengths_are_found_in_the_tags() -> None:
    fitted = crf().fit(X, Y)
    structure: Any = fitted.model_.structure
    assert dict(zip(structure.labels, structure.max_length, strict=True)) == {"O": 1, "CITY": 2}
    assert fitted.predict(X) == Y
    assert fitted.score(X, Y) == 1.0
    assert bare(fitted.predict_spans(X))[3] == [(0, 2, "CITY"), (2, 4, "CITY")]
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(X) == Y


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES"])
def test_tags_come_back_in_their_scheme(scheme: str, tmp_path: Path) -> None:
    spelled = {"BIO": "B I", "IOB1": "I I", "BIOES": "B E"}[scheme].split()
    single = {"BIO": "B", "IOB1": "I", "BIOES": "S"}[scheme]
    y = [[f"{spelled[0]}-C", f"{spelled[1]}-C", "O"], [f"{single}-C", "O", "O"]]
    x = [["New", "York", "is"], ["York", "is", "old"]]
    fitted = crf(objective=Likelihood(l2=0.01)).fit(x, y)
    assert fitted.model_.scheme == scheme
    assert fitted.predict(x) == y
    fitted.model_.save(tmp_path / "m.crf")
    loaded = SequenceModel.load(tmp_path / "m.crf")
    assert loaded.scheme == scheme
    assert loaded.predict(x) == y
    assert bare(loaded.predict_spans(x)) == [[(0, 2, "C")], [(0, 1, "C")]]
    assert (
        float(loaded.evaluate(x, y, metric="span_f1"))
        == float(loaded.evaluate(x, y, metric="accuracy"))
        == 1.0
    )


def test_long_stretches_outside_are_segments() -> None:
    fitted = crf(outside="long").fit(X, Y)
    assert max(fitted.model_.structure.max_length) == 3  # type: ignore[attr-defined]
    assert fitted.predict(X) == Y


def test_alternatives_draws_and_marginals_agree_with_all_segmentations() -> None:
    fitted = crf(objective=Likelihood(l2=1.0)).fit(X, Y)
    (several,) = fitted.kbest(X[:1], 10_000)
    share = np.array([one.probability for one in several])
    np.testing.assert_allclose(np.exp([one.log_prob for one in several]), share)
    assert share.sum() == pytest.approx(1.0, rel=1e-9)
    assert len({tuple(one.spans) for one in several}) == len(several)
    assert several[0].spans == bare(fitted.predict_spans(X[:1]))[0]
    (probable,) = fitted.predict_segment_marginals(X[:1], min_probability=1e-12)
    cities = {(a, b): p for a, b, label, p in probable if label == "CITY"}
    expected = {
        span: sum(one.probability for one in several if (*span, "CITY") in one.spans) for span in cities
    }
    assert cities == pytest.approx(expected, rel=1e-9)
    assert {(a, b) for one in several for a, b, _ in one.spans} == cities.keys()
    draws = fitted.sample(X[:1], 4000, random_state=1)[0]
    best = share[[one.labels == several[0].labels for one in several]].sum()
    assert abs(draws.count(several[0].labels) / 4000 - best) < 5 * np.sqrt(best * (1 - best) / 4000)
    assert all(p >= 0.3 for one in fitted.predict_segment_marginals(X, min_probability=0.3) for *_, p in one)


def test_dev_set_stops_and_a_model_is_a_start() -> None:
    fitted = crf().fit(X, Y, dev=(X[:2], Y[:2]))
    assert fitted.model_.training is not None
    assert fitted.model_.training.metric == "span_f1"
    begun = crf(init=fitted.model_, stop=Stop(max_iterations=0), optimizer="lbfgs").fit(X, Y)
    np.testing.assert_allclose(begun.model_.w, fitted.model_.w)
    with pytest.raises(ValueError, match="dev is a list, expected a pair"):
        crf().fit(X, Y, dev=X)


def test_learning_goes_on_with_new_data() -> None:
    fitted = crf().partial_fit(X, Y)
    fitted.partial_fit([["in", "Rome", "it", "rains"]] * 3, [["O", "B-TOWN", "O", "O"]] * 3)
    assert fitted.classes_.tolist() == ["O", "CITY", "TOWN"]
    assert fitted.predict([["in", "Rome", "it", "rains"]]) == [["O", "B-TOWN", "O", "O"]]
    assert fitted.score(X, Y) > 0.5
    with pytest.raises(ValueError, match=r"segment of 3 positions; what was learned before .* at most 2"):
        fitted.partial_fit([["a", "b", "c", "d"]], [["B-CITY", "I-CITY", "I-CITY", "O"]])


@pytest.mark.parametrize(
    ("objective", "optimizer"),
    [
        ("perceptron", "auto"),
        ("perceptron", "pa"),
        ("perceptron", "arow"),
        ("max-margin", "auto"),
        (Likelihood(l1=0.05, l2=0.0), "auto"),
        ("likelihood", "lbfgs"),
    ],
)
def test_objectives_and_optimizers_by_name(objective: Any, optimizer: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = crf(objective=objective, optimizer=optimizer, stop=Stop(max_iterations=100)).fit(X, Y)
    assert fitted.score(X, Y) > 0.6


def test_scores_of_given_segmentations() -> None:
    fitted = crf().fit(X, Y)
    data = fitted.model_.dataset(X[:1], Y[:1])
    potentials = fitted.model_.potentials(fitted.model_.batch_of(data))
    path = [(0, 1, "O"), (1, 3, "CITY"), (3, 4, "O"), (4, 5, "O")]
    expected = inference.log_prob(potentials.sequence(0), path)
    assert fitted.log_prob(X[:1], Y[:1])[0] == pytest.approx(expected, rel=1e-12)
    assert fitted.log_prob(X[:1], [[(1, 3, "CITY")]])[0] == pytest.approx(expected, rel=1e-12)
    assert fitted.log_prob(X[:1], [["O", "B-TOWN", "O", "O", "O"]])[0] == -np.inf


@pytest.mark.parametrize(
    ("options", "x", "y", "message"),
    [
        ({}, [], [], "X has no sequences"),
        ({}, [[]], [[]], "empty|no labels"),
        ({}, [["a", "b"]], [["O", "O"]], "all 2 positions have the label 'O'"),
        ({}, [["a", "b", "c"]], [["B-A", None, "O"]], "give max_length, as in SemiMarkov"),
        (
            {"structure": SemiMarkov(max_length=2)},
            [["a"], ["a", "b", "c"]],
            [["O"], ["B-A", "I-A", "I-A"]],
            "sequence 1, position 0: the gold segment 'A' of 3 positions is longer than max_length allows",
        ),
        ({}, [["a", "b"]], [[{"O": 0.5, "B-A": 0.5}, {"O": 1.0}]], "not soft labels"),
    ],
)
def test_bad_gold_is_named(options: dict[str, Any], x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crf(**options).fit(x, y)


def test_lengths_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="max_length has 0, expected whole numbers of 1 or more"):
        SemiMarkov(max_length=0)


RECIPE = "w[0]; begin: w[-1]; end: w[1]; segment: w[..]; segment: shape(w)[..]; segment: square(length)"


def test_recipes_of_segments_stay_with_the_model(tmp_path: Path) -> None:
    fitted = crf(features=RECIPE).fit(X, Y, dev=(X[:2], Y[:2]))
    model = fitted.model_
    assert model.recipe is not None
    assert "square(length, 1.6)" in str(model.recipe)
    assert {"begin", "end", "segment"} <= {block.name for block in model.layout.blocks if len(block.cell)}
    assert fitted.predict(X) == Y
    model.save(tmp_path / "m.crf")
    again = SequenceModel.load(tmp_path / "m.crf")
    assert again.predict(X) == Y
    np.testing.assert_array_equal(again.predict_proba(X)[0], model.predict_proba(X)[0])
    bare = ItemExtractor()([[["w[0]=York"]]])
    with pytest.raises(ValueError, match=r"the model has weights of segments .* model.dataset"):
        again.predict(bare)
    with pytest.raises(ValueError, match="weights of segments"):
        again.predict(again.names.renamed(bare))


def test_learning_goes_on_with_recipes_of_segments() -> None:
    fitted = crf(features=RECIPE.replace("(length)", "(length, 2)")).partial_fit(X, Y)
    fitted.partial_fit([["in", "Rome", "it", "rains"]] * 3, [["O", "B-CITY", "O", "O"]] * 3)
    assert bare(fitted.predict_spans([["in", "Rome", "it", "rains"]])) == [[(1, 2, "CITY")]]
    assert bare(fitted.predict_spans([["in", "New", "York"]])) == [[(1, 3, "CITY")]]


def test_segments_of_one_label_are_learned() -> None:
    sentences = ["ab cd ab", "cd ab cd e", "e ab cd"]
    X = [list(text.replace(" ", "")) for text in sentences]
    y = [[tag for word in text.split() for tag in ["B-W", *["I-W"] * (len(word) - 1)]] for text in sentences]
    fitted = SemiCRF(features="c[-1..1]; segment: c[..]").fit(X, y)
    assert bare(fitted.predict_spans([list("abecd")])) == [[(0, 2, "W"), (2, 3, "W"), (3, 5, "W")]]
    with pytest.raises(ValueError, match="all 2 positions have the label 'W'"):
        SemiCRF(features="c[0]").fit([["a", "b"]], [["B-W", "B-W"]])
