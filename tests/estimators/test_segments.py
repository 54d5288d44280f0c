"""`SemiCRF`: forms of y, answers against enumeration, conventions of scikit-learn, mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from crfkit import Chain, Likelihood, SemiCRF, SemiMarkov
from crfkit.errors import DataWarning
from crfkit.features.segments import last_word, phrase, segment_features
from crfkit.models import SequenceModel
from crfkit.structures.constraints import Forbid
from tests.cases.spans import bare

WORDS = [
    "in New York it rains",
    "York is old",
    "New cars in York",
    "Los Angeles New York",
    "it rains in Los Angeles",
    "Los cars",
]
CITIES = [[(1, 3)], [(0, 1)], [(3, 4)], [(0, 2), (2, 4)], [(3, 5)], []]
X = [[[word] for word in sentence.split()] for sentence in WORDS]
Y = [[(a, b, "CITY") for a, b in cities] for cities in CITIES]
TAGS = [
    [
        next((("B-" if t == a else "I-") + "CITY" for a, b in cities if a <= t < b), "O")
        for t in range(len(sentence))
    ]
    for sentence, cities in zip(X, CITIES, strict=True)
]


def crf(**options: Any) -> SemiCRF:
    given = {"structure": SemiMarkov(max_length=2), "segment_features": [phrase, last_word], "n_jobs": 1}
    return SemiCRF(**{**given, "objective": Likelihood(l2=0.1), **options})


def test_segments_are_learned() -> None:
    fitted = crf().fit(X, Y)
    assert bare(fitted.predict_spans(X)) == Y
    assert fitted.predict([[["New"], ["York"], ["New"], ["cars"]]]) == [["CITY", "CITY", "O", "O"]]
    assert fitted.score(X, Y) == 1.0
    assert fitted.classes_.tolist() == ["O", "CITY"]
    assert fitted.score(X[:2], [[(1, 3, "CITY")], [(0, 2, "CITY")]]) == 0.5
    assert fitted.score(X[:2], [[(1, 3, "CITY")], [(0, 2, "CITY")]], sample_weight=[1, 0]) == 1.0
    with pytest.raises(ValueError, match=r"none of its entity types \(TOWN\) is one of the model \(CITY\)"):
        fitted.score(X[:1], [[(1, 3, "TOWN")]])
    with pytest.warns(DataWarning, match="TOWN"):
        assert fitted.score(X[:2], [[(1, 3, "TOWN")], [(0, 2, "CITY")]]) < 1.0


def test_tags_of_bio_are_the_same_segments_and_come_back() -> None:
    tagged, given = crf().fit(X, TAGS), crf().fit(X, Y)
    np.testing.assert_array_equal(tagged.model_.w, given.model_.w)
    assert tagged.predict(X) == TAGS
    assert bare(tagged.predict_spans(X)) == Y
    assert tagged.score(X, TAGS) == tagged.score(X, Y) == 1.0


def test_labels_make_segments_of_stretches() -> None:
    labels = [["CITY" if tag != "O" else "O" for tag in tags] for tags in TAGS[:3]]
    one = crf(structure=SemiMarkov(max_length={"CITY": 2})).fit(X[:3], labels)
    assert bare(one.predict_spans(X[:3])) == Y[:3]
    assert one.score(X[:3], labels) == 1.0
    two = crf(structure=SemiMarkov(max_length={"CITY": 2})).fit(X[:3], Y[:3])
    np.testing.assert_array_equal(one.model_.w, two.model_.w)


def segmentations(T: int, D: int, L: int) -> Iterator[list[tuple[int, int, int]]]:
    """All ways to cut T positions into labeled segments of at most D."""
    for begin in product([False, True], repeat=max(T - 1, 0)):
        cuts = [0, *(t + 1 for t, b in enumerate(begin) if b), T]
        spans = list(pairwise(cuts))
        if all(b - a <= D for a, b in spans):
            for labels in product(range(L), repeat=len(spans)):
                yield [(a, b, y) for (a, b), y in zip(spans, labels, strict=True)]


def test_answers_are_those_of_enumeration() -> None:
    fitted = crf(objective=Likelihood(l2=1.0)).fit(X, Y)
    model = fitted.model_
    places = [model.layout.describe(i) for i in range(model.layout.weights)]
    weight = {(p.kind, p.attribute, p.ngram): w for p, w in zip(places, model.w.tolist(), strict=True)}
    length = model.w[model.layout.parts["length"]].reshape(2, 2)  # [D, L]

    def score(x: Any, segments: list[tuple[int, int, int]]) -> float:
        total = 0.0
        for j, (a, b, y) in enumerate(segments):
            told = [*phrase(x, a, b), *last_word(x, a, b)]
            total += sum(
                weight.get(("segment", model.names.segment_attributes.find(s), (y,)), 0.0) for s in told
            )
            total += sum(weight.get(("node", model.attributes.find(x[t][0]), (y,)), 0.0) for t in range(a, b))
            total += length[b - a - 1, y]
            if j:
                total += weight[("transition", None, (segments[j - 1][2], y))]
        return total

    for x, y in zip(X[:3], Y[:3], strict=True):
        every = {
            tuple(s): score(x, s)
            for s in segmentations(len(x), 2, 2)
            if all(k or b - a == 1 for a, b, k in s)  # outside of segments each position is one
        }
        log_z = float(np.logaddexp.reduce(list(every.values())))
        best = max(every, key=every.__getitem__)
        names = fitted.classes_
        assert bare(fitted.predict_spans([x])) == [[(a, b, names[k]) for a, b, k in best if names[k] != "O"]]
        inside = {t for a, b, _ in y for t in range(a, b)}
        gold = sorted(
            [(a, b, 1) for a, b, _ in y] + [(t, t + 1, 0) for t in range(len(x)) if t not in inside]
        )
        assert fitted.log_prob([x], [y])[0] == pytest.approx(every[tuple(gold)] - log_z, rel=1e-9)
        (node,) = fitted.predict_proba([x])
        expected = sum(
            np.exp(value - log_z) for s, value in every.items() if any(a == 0 and k == 1 for a, _, k in s)
        )
        assert node[0, 1] == pytest.approx(expected, rel=1e-9)


def test_conventions_of_scikit_learn() -> None:
    made = crf()
    changed = made.set_params(structure__max_length=3, objective__l2=0.5).structure
    assert isinstance(changed, SemiMarkov)
    assert changed == SemiMarkov(max_length=3)
    again = crf().fit(iter(X), Y, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(again.model_.w, crf().fit(X, Y).model_.w)
    search = GridSearchCV(crf(), {"structure__max_length": [2, 3]}, cv=2, refit=False)
    assert np.isfinite(search.fit(X, TAGS).cv_results_["mean_test_score"]).all()


def test_a_saved_model_asks_for_its_functions(tmp_path: Path) -> None:
    fitted = crf().fit(X, Y)
    with pytest.raises(ValueError, match="segment_features are functions, which a file cannot keep"):
        fitted.model_.save(tmp_path / "m.crf")
    replace(fitted.model_, lacks="").save(tmp_path / "m.crf")  # as training on data with them gives it
    again = SequenceModel.load(tmp_path / "m.crf")
    data = segment_features(X, 2, [phrase, last_word], like=again)
    assert again.predict(data) == fitted.predict(X) == fitted.predict(data)
    with pytest.raises(ValueError, match=r"has weights of segments, .*segment_features\(X"):
        again.predict(X)


def test_constraints_hold() -> None:
    apart = SemiMarkov(max_length=2, constraints=[Forbid("CITY", "CITY")])
    fitted = crf(structure=apart).fit(X[:3], Y[:3])
    assert not np.isfinite(fitted.log_prob([X[3]], [Y[3]])).any()  # two cities side by side
    with pytest.raises(ValueError, match="may not follow the one before it under the constraints"):
        fitted.fit(X, Y)


def test_other_objectives_teach_segments_too() -> None:
    margin = crf(objective="max-margin").fit(X, Y)
    assert margin.model_.training is not None
    assert margin.model_.training.converged
    assert margin.score(X, Y) > 0.5


@pytest.mark.parametrize(
    ("options", "y", "error", "message"),
    [
        ({}, [[(0, 2, "CITY"), (1, 3, "CITY")]], ValueError, "begins before position 2, where the segment"),
        ({}, [[(2, 6, "CITY")]], ValueError, r"\(2, 6, 'CITY'\) does not lie within the 5 positions"),
        ({}, [[(2, 2, "CITY")]], ValueError, "does not lie within"),
        ({}, [[(0, 1, 7)]], TypeError, r"has the label 7; expected a string, or None"),
        ({}, [[(0, 1.5, "CITY")]], TypeError, r"is not a segment; expected \(start, end, label\)"),
        ({}, [[(0, 3, "CITY")]], ValueError, "sequence 0, position 0: .* longer than max_length allows"),
        ({}, [["CITY"] * 5], ValueError, "of 5 positions is longer than max_length allows"),
        ({}, [["CITY"] * 4], ValueError, "X has 5 positions, y has 4 labels"),
        ({}, [["B-CITY"] * 4], ValueError, "X has 5 positions, y has 4 labels"),
        ({}, [[(0, 1, "CITY")], []], ValueError, "X has 1 sequence, y has 2"),
        ({}, None, ValueError, "y is missing: SemiCRF requires y"),
        ({"structure": Chain()}, [[(0, 1, "CITY")]], TypeError, r"as in SemiCRF\(structure=SemiMarkov"),
        ({"outside": "none"}, [[(0, 1, "CITY")]], ValueError, 'outside is .none., expected "unit" or "long"'),
        ({"scheme": "BIX"}, [["B-CITY"] * 5], ValueError, "scheme 'BIX' is not known, expected one of BIO"),
        (
            {"structure": SemiMarkov(["O", "CITY"], max_length=2)},
            [[(0, 1, "TOWN")]],
            ValueError,
            "sequence 0, position 0: y has the label 'TOWN', which is not one of the structure's: O, CITY",
        ),
        (
            {"structure": SemiMarkov(["CITY"], max_length=2)},
            [[(0, 2, "CITY"), (3, 5, "CITY")]],
            ValueError,
            r"sequence 0, position 2: y has the label 'O' \(positions in no segment are O\), which is not",
        ),
        (
            {"structure": SemiMarkov(max_length={"TOWN": 2})},
            [[(0, 1, "CITY")]],
            ValueError,
            "max_length names 'TOWN', which is not a label",
        ),
    ],
)
def test_mistakes_are_named_in_one_sentence(
    options: dict[str, Any], y: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as found:
        crf(**options).fit(X[:1], y)
    assert "\n" not in str(found.value)


def test_a_missing_length_is_named() -> None:
    with pytest.raises(ValueError, match="no max_length yet: give it"):
        SemiMarkov(["A", "B"]).slots()
    with pytest.raises(ValueError, match="no labels yet: give them"):
        SemiMarkov(max_length=2).slots()
    with pytest.raises(ValueError, match="max_length has 0, expected whole numbers of 1 or more"):
        SemiMarkov(max_length={"A": 0})
    wrong: dict[str, Any] = {"order": 3}
    with pytest.raises(TypeError, match="SemiCRF"):
        SemiCRF(**wrong)


def test_functions_that_give_no_number_are_named() -> None:
    def broken(x: Any, start: int, end: int) -> dict[str, float]:
        return {"share": float("nan") if end - start == 2 else 1.0}

    with pytest.raises(TypeError, match=r"sequence 0, segment 0 to 2: broken returned"):
        crf(segment_features=[broken]).fit(X, Y)
