"""FactorialCRF: several label columns at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from crfkit import ChainCRF, FactorialCRF, Likelihood, Stop, inference
from crfkit.inference.methods import Enumeration

TIGHT = Stop(tolerance=1e-12, max_iterations=2000)


def sentences(seed: int, n: int = 30) -> tuple[list[list[list[str]]], list[list[tuple[str, str]]]]:
    """Return items and pairs of labels: words show the first label, and the second goes with the first."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        first = rng.integers(0, 3, rng.integers(1, 6)).tolist()
        word = [a if rng.random() < 0.8 else int(rng.integers(0, 3)) for a in first]
        X.append([[f"w{a}", "bias"] for a in word])
        y.append([(f"p{a}", "even" if a % 2 == 0 else "odd") for a in first])
    return X, y


def test_without_links_every_column_is_a_chain() -> None:
    X, y = sentences(0)
    crf = FactorialCRF(links="none", stop=TIGHT).fit(X, y)
    for c in range(2):
        alone = ChainCRF(stop=TIGHT).fit(X, [[labels[c] for labels in each] for each in y])
        expected = alone.predict_proba(X)
        for found, wanted in zip(crf.predict_proba(X)[str(c)], expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_marginals_are_those_of_enumeration_and_links_join_columns() -> None:
    X, y = sentences(1)
    crf = FactorialCRF().fit(X, y)
    short = [each[:3] for each in X]
    found = crf.predict_proba(short)
    counted = FactorialCRF.predict_proba(clone_with(crf, Enumeration()), short)
    for name in ("0", "1"):
        np.testing.assert_allclose(np.concatenate(found[name]), np.concatenate(counted[name]), atol=1e-9)
    assert crf.inference_info_ is not None
    assert crf.inference_info_.exact.all()
    rung = crf.model_.tables()["0 1"]
    even = crf.classes_["1"].tolist().index("even")
    for a, label in enumerate(crf.classes_["0"]):
        assert rung[a].argmax() == (even if int(label[1]) % 2 == 0 else 1 - even)


def test_links_to_neighbors_are_exact_and_kept(tmp_path: Path) -> None:
    """Chunks that begin where the word before was odd: links at one position cannot say so."""
    rng = np.random.default_rng(0)
    pos = [rng.choice(["a", "b"], 6).tolist() for _ in range(60)]
    chunk = [["no", *("yes" if label == "b" else "no" for label in each[:-1])] for each in pos]
    X, y = [[[f"x{label}"] for label in each] for each in pos], {"pos": pos, "chunk": chunk}
    silent: Any = [[[]] * 6] * 60
    links = [("pos", "chunk"), ("chunk[1]", "pos")]
    crf = FactorialCRF(links=links, features=None, stop=TIGHT).fit(X, y)
    assert "pos[-1] chunk" in crf.model_.tables()
    short = [each[:3] for each in X[:5]]
    found = crf.predict_proba(short)
    counted = FactorialCRF.predict_proba(clone_with(crf, Enumeration()), short)
    for name in ("pos", "chunk"):
        np.testing.assert_allclose(np.concatenate(found[name]), np.concatenate(counted[name]), atol=1e-9)
    assert crf.predict(silent, given={"pos": pos})["chunk"] == chunk
    without = FactorialCRF(features=None).fit(silent, y)
    assert without.predict(silent, given={"pos": pos})["chunk"] != chunk
    crf.save(tmp_path / "m.crf")
    again = FactorialCRF.load(tmp_path / "m.crf")
    assert again.links == [("pos", "chunk"), ("chunk[1]", "pos")]
    assert again.predict(X) == crf.predict(X)
    foreign = FactorialCRF._params_of_model(crf.model_)
    assert foreign is not None
    assert foreign["links"] == [("pos", "chunk"), ("pos[-1]", "chunk")]


def clone_with(crf: FactorialCRF, method: Any) -> FactorialCRF:
    """Return a fitted estimator that asks another method."""
    other: FactorialCRF = clone(crf)
    other.__dict__.update(vars(crf) | {"method": method})
    return other


def test_given_labels_decide_about_the_other_column() -> None:
    X, y = sentences(2)
    pos = [[a for a, _ in each] for each in y]
    other = [[b for _, b in each] for each in y]
    crf = FactorialCRF(objective=Likelihood(l2=0.1)).fit(X, {"pos": pos, "kind": other})
    assert crf.columns_ == ["pos", "kind"]
    guessed = crf.predict(X)["kind"]
    assert guessed != other, "words are wrong in a fifth of the places"
    found = crf.predict(X, given={"pos": pos})
    assert found["kind"] == other
    assert found["pos"] == pos
    some = [[None, *labels[1:]] for labels in pos]
    assert crf.predict(X, given={"pos": some})["pos"][0][1:] == pos[0][1:]


def test_predictions_look_like_y_and_hidden_labels_are_summed_out() -> None:
    X, y = sentences(3)
    hidden = [[(a, None if t == 0 else b) for t, (a, b) in enumerate(each)] for each in y]
    crf = FactorialCRF().fit(X, hidden)
    assert all(isinstance(labels, tuple) and len(labels) == 2 for labels in crf.predict(X[:2])[1])
    full = FactorialCRF().fit(X, y)
    assert crf.score(X, y) == pytest.approx(full.score(X, y), abs=0.1)
    doubled = FactorialCRF().fit(X, y, sample_weight=[2.0] * len(X))
    twice = FactorialCRF().fit(X + X, y + y)
    np.testing.assert_allclose(doubled.model_.w, twice.model_.w, atol=1e-3)
    assert doubled.score(X, y, sample_weight=[1.0] * len(X)) == doubled.score(X, y)


def test_a_template_reads_rows_of_tokens() -> None:
    X = [[("the", "x"), ("dog", "y")], [("dogs", "y")]]
    crf = FactorialCRF(features="0[0]; 1[0]").fit(X, [[("D", "B"), ("N", "I")], [("N", "B")]])
    assert crf.predict([[("the", "x"), ("hog", "y")]]) == [[("D", "B"), ("N", "I")]]
    assert inference.log_partition(crf.model_.potentials(crf.batch(X))).shape == (2,)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([[("a", "b"), ("a",)]], r"y: sequence 0, position 1 is \('a',\), expected 2 labels"),
        ([["a", "b"]], "y: the first label is 'a', expected a tuple with a label of each column"),
        ([[("a", "b")]], "column '0': sequence 0: X has 2 positions, y has 1 label"),
        ({"pos": [["a", "b"]], "chunk": [[None, None]]}, "column 'chunk' has no labels"),
        ({"pos": [["a", "b"]], "chunk": [["a"]]}, "column 'chunk': sequence 0: X has 2 positions"),
        ({"pos": [["a", {"a", "b"}]]}, "column 'pos': labels of graphs are strings"),
        ({}, "y is an empty dict"),
        ("ab", "y is 'ab', expected a list of sequences of tuples"),
    ],
)
def test_wrong_y_is_refused(y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FactorialCRF().fit([[["x"], ["y"]]], y)


def test_wrong_options_are_refused() -> None:
    X, y = sentences(6, 3)
    with pytest.raises(ValueError, match=r"links: \('0', '7'\) is not a pair of two columns"):
        FactorialCRF(links=[("0", "7")]).fit(X, y)
    with pytest.raises(ValueError, match="links"):
        FactorialCRF().set_params(links="some").fit(X, y)
    for same in (("0", "0[-1]"), ("0", "1", "0"), ("0",)):
        with pytest.raises(ValueError, match="is not a pair of two columns"):
            FactorialCRF(links=[same]).fit(X, y)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"joins labels 2 positions apart, expected 1 at most"):
        FactorialCRF(links=[("0[-1]", "1[1]")]).fit(X, y)
    crf = FactorialCRF().fit(X, y)
    with pytest.raises(ValueError, match="given: 'pos' is not a column; the columns are 0, 1"):
        crf.predict(X, given={"pos": y})
    with pytest.raises(ValueError, match="given: column '0' has the label 'new'"):
        crf.predict(X, given={0: [["new"] * len(each) for each in X]})
    with pytest.raises(ValueError, match="edge:"):
        FactorialCRF(features="edge: 0[0]").fit([[("a",)]], [[("x", "y")]])
