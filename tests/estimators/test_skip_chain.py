"""SkipChainCRF: a chain with edges between tokens that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Likelihood, SkipChainCRF, Stop
from crfkit.data.formats.columns import Columns
from crfkit.features import ItemExtractor
from crfkit.graphs.text_pairs import equal_pairs, field_values
from crfkit.inference.methods import Enumeration

FEW = Stop(max_iterations=30)


def documents(seed: int, n: int = 40) -> tuple[list[list[str]], list[list[str]]]:
    """Return documents in which a name is a person's where "Mr." stands before one of its mentions."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        person = rng.random() < 0.5
        first = ["Mr." if person else "the", "Green"]
        X.append([*first, *["was", "there"] * int(rng.integers(1, 4)), "so", "Green", "left"])
        y.append(["N" if person and word == "Green" else "O" for word in X[-1]])
    return X, y


def test_edges_carry_evidence_that_a_chain_cannot() -> None:
    X, y = documents(0)
    crf = SkipChainCRF(features="w[-1..0]", objective=Likelihood(l2=0.1)).fit(X, y)
    assert crf.score(X, y) == 1.0
    assert crf.inference_info_ is not None
    assert crf.inference_info_.exact.all()
    alone = SkipChainCRF(features="w[-1..0]", objective=Likelihood(l2=0.1), pairs=lambda x: [(0, 1)]).fit(
        X, y
    )
    assert alone.score(X, y) < 0.97, "a chain of order 1 forgets Mr."


def test_marginals_are_those_of_enumeration() -> None:
    X, y = documents(1, 6)
    crf = SkipChainCRF(features="w[-1..0]", stop=FEW).fit(X, y)
    found = crf.predict_proba(X)
    crf.method = Enumeration()
    for one, other, labels in zip(found, crf.predict_proba(X), y, strict=True):
        assert one.shape == (len(labels), 2)
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_attributes_of_an_edge_are_those_of_either_end() -> None:
    X = [[{"a": 2.0, "w": "A"}, {"b": 1.0, "w": "x"}, {"a": 3.0, "c": 1.0, "w": "A"}]]
    y = [["p", "q", "p"]]
    both = SkipChainCRF(equal="w", stop=FEW).fit(X, y)
    rows = both.batch(X).features["skip"]
    assert rows.rows is not None
    assert rows.names is not None
    assert rows.rows.value is not None
    spelled = dict(zip([rows.names[i] for i in rows.rows.id.tolist()], rows.rows.value.tolist(), strict=True))
    assert spelled == {"a": 3.0, "c": 1.0, "w:A": 1.0}
    for skip, names in (("first", ["a", "w:A"]), ("last", ["a", "c", "w:A"])):
        found = SkipChainCRF(equal="w", stop=FEW).set_params(skip=skip).fit(X, y).batch(X).features["skip"]
        assert found.rows is not None
        assert found.names is not None
        assert sorted(found.names[i] for i in found.rows.id.tolist()) == names
    plain = SkipChainCRF(equal="w", skip="none", stop=FEW).fit(X, y)
    assert plain.model_.tables()["skip"].shape == (2, 2)


def test_what_is_equal_and_where() -> None:
    X, y = [["Ann", "ann", "Bob", "Ann", "bob"]], [["x", "y", "x", "y", "x"]]

    def edges(**options: Any) -> list[list[int]]:
        crf = SkipChainCRF(features="w[0]", stop=FEW).set_params(**options).fit(X, y)
        found: list[list[int]] = crf.batch(X).scopes["skip"].tolist()
        return found

    assert edges() == [[0, 3]]
    assert edges(equal="lower(w)") == [[0, 3]], "where looks at the token"
    assert edges(equal="lower(w)", where=None) == [[0, 1], [0, 3], [1, 3], [2, 4]]
    assert edges(equal=str.lower, where=lambda value: value == "bob") == [[2, 4]]
    assert edges(pairs=lambda words: [(0, len(words) - 1)]) == [[0, 4]]


def test_pairs_are_counted_before_they_are_made() -> None:
    ptr = np.array([0, 40_000, 50_000])
    value = np.zeros(50_000, dtype=np.int32)
    with pytest.raises(
        ValueError, match=r"make 849,975,000 pairs.*40,000 times in sequence 0, makes 799,980,000"
    ):
        equal_pairs(value, ptr)
    assert len(equal_pairs(value, ptr, nearest=1)) == 49_998
    assert len(equal_pairs(value, ptr, most=10)) == 0
    rng = np.random.default_rng(0)
    small, ends = rng.integers(-1, 3, 30).astype(np.int32), np.array([0, 12, 12, 30])
    for nearest in (None, 1, 2):
        for most in (None, 3):
            made = equal_pairs(small, ends, nearest=nearest, most=most)
            with pytest.raises(ValueError, match=f"make {len(made):,} pairs"):
                equal_pairs(small, ends, nearest=nearest, most=most, limit=len(made) - 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"equal": "color"}, "no column 'color'"),
        ({"equal": "ngrams(w, 2, 3)"}, "several values"),
        ({"equal": "w[0]; w"}, "is not a field"),
        ({"where": "often"}, "where"),
        ({"skip": "some"}, "skip"),
        ({"where": lambda token: False}, "no two tokens of a sequence are joined"),
        ({"pairs": lambda words: [(0, 9)]}, "two different positions from 0 to 2"),
        ({"pairs": lambda words: [(1, 1)]}, "two different positions"),
        ({"pairs": lambda words: [0, 1]}, "expected pairs of positions"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SkipChainCRF(features="w[0]").set_params(**options).fit([["A", "b", "A"]], [["x", "y", "x"]])


def test_wrong_data_are_refused() -> None:
    with pytest.raises(ValueError, match="equal is not given"):
        SkipChainCRF().fit([[["A"], ["A"]]], [["x", "y"]])
    with pytest.raises(ValueError, match="equal is 'w', but the item"):
        SkipChainCRF(equal="w").fit([[["A"], ["A"]]], [["x", "y"]])
    with pytest.raises(ValueError, match="y has no labels"):
        SkipChainCRF(features="w[0]").fit([["A", "A"]], [[None, None]])
    crf = SkipChainCRF(features="w[0]", stop=FEW).fit([["A", "A"]], [["x", "y"]])
    with pytest.raises(ValueError, match="no tokens to compare"):
        crf.predict(ItemExtractor()([[["A"]]]))
    assert crf.predict([]) == []
    assert crf.predict_proba([]) == []
    ids, _, _ = field_values(Columns.from_rows([[("ab",), ("a",)]], ["w"]), "prefix(w, 1)")
    assert ids.tolist() == [0, -1]
