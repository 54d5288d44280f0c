"""Hidden Markov models: counts, Baum-Welch against enumeration, unknown words, and the chain model."""

from __future__ import annotations

import pickle
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from crfkit import HMM
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel, Tagger
from crfkit.training import Smoothing
from tests.cases.estimators import W_TEST, Y_TEST, W, Y

EVEN = Smoothing(start=0.5, transition=0.25, emission=0.125)
SETS: list[Any] = [["D", None, {"N", "V"}, None], None, ["D", "N"], [None, "N", None]]
SEEN = [["a", "b", "a", "c"], ["b", "b", "a"], ["a", "c"], ["c", "a", "b"]]


def symbols(hmm: HMM, words: list[str]) -> list[int]:
    """The column of emission_ of each word; unknown words have the last."""
    known = {name.removeprefix("w[0]="): s for s, name in enumerate(hmm.symbols_)}
    return [known.get(word, len(known) - 1) for word in words]


def joint(hmm: HMM, words: list[str]) -> dict[tuple[int, ...], float]:
    """log p(x, y) of every labeling, from the tables."""
    x, found = symbols(hmm, words), {}
    for y in product(range(len(hmm.classes_)), repeat=len(x)):
        p = np.log(hmm.start_[y[0]]) + np.log(hmm.end_[y[-1]])
        p += sum(np.log(hmm.emission_[label, s]) for label, s in zip(y, x, strict=True))
        found[y] = float(p + sum(np.log(hmm.transition_[a, b]) for a, b in pairwise(y)))
    return found


def allowed(hmm: HMM, y: Any, T: int) -> list[set[int]]:
    """The labels that an entry of y leaves open at each position."""
    names = hmm.classes_.tolist()
    each = [None] * T if y is None else y
    return [
        set(range(len(names)))
        if one is None
        else {names.index(label) for label in ([one] if isinstance(one, str) else one)}
        for one in each
    ]


def known_paths(hmm: HMM, words: list[str], y: Any) -> dict[tuple[int, ...], float]:
    sets = allowed(hmm, y, len(words))
    return {
        path: p
        for path, p in joint(hmm, words).items()
        if all(a in s for a, s in zip(path, sets, strict=True))
    }


def test_counts_are_smoothed_by_table() -> None:
    hmm = HMM(smoothing=EVEN).fit([["a", "b"], ["a"]], [["D", "N"], ["N"]])
    np.testing.assert_allclose(hmm.start_, [1.5 / 3, 1.5 / 3])
    np.testing.assert_allclose(hmm.transition_, np.array([[0.25, 1.25], [0.25, 0.25]]) / [[1.75], [2.75]])
    np.testing.assert_allclose(hmm.end_, [0.25 / 1.75, 2.25 / 2.75])
    np.testing.assert_allclose(  # a, b, unknown
        hmm.emission_, np.array([[1.125, 0.125, 0.125], [1.125, 1.125, 0.125]]) / [[1.375], [2.375]]
    )
    assert hmm.symbols_ == ["w[0]=a", "w[0]=b", "<unknown>"]
    assert hmm.n_iter_ == 0


@pytest.mark.parametrize("words", [["a", "b", "c"], ["new", "b"], ["c"]])
def test_the_chain_model_is_the_posterior(words: list[str]) -> None:
    hmm = HMM(smoothing=EVEN, labels=["D", "N", "V"], tolerance=0.1).fit(SEEN, SETS)
    scores = joint(hmm, words)
    total = logsumexp(list(scores.values()))
    assert hmm.log_likelihood([words])[0] == pytest.approx(total, rel=1e-12)
    for y, log_p in scores.items():
        names = [str(hmm.classes_[i]) for i in y]
        assert hmm.log_prob([words], [names])[0] == pytest.approx(log_p - total, abs=1e-10)
        assert hmm.log_likelihood([words], [names])[0] == pytest.approx(log_p, abs=1e-10)
    best = max(scores, key=lambda y: scores[y])
    assert hmm.predict([words]) == [[hmm.classes_[i] for i in best]]


def test_the_joint_distribution_sums_to_one() -> None:
    hmm = HMM(smoothing=EVEN).fit([["a", "b"], ["a"]], [["D", "N"], ["N"]])
    np.testing.assert_allclose(hmm.transition_.sum(axis=1) + hmm.end_, 1.0)
    words = [name.removeprefix("w[0]=") for name in hmm.symbols_]
    by_length = [
        sum(np.exp(hmm.log_likelihood([list(x)])[0]) for x in product(words, repeat=T)) for T in (1, 2, 3)
    ]
    start, ended = hmm.start_, []
    for _ in range(3):
        ended.append(start @ hmm.end_)
        start = start @ hmm.transition_
    np.testing.assert_allclose(by_length, ended)


def test_an_iteration_is_the_expected_counts_of_all_labelings() -> None:
    """The step of EM against sums over every labeling that the sets allow."""
    weight = [1.0, 2.0, 0.5, 1.0]
    options: dict[str, Any] = {"smoothing": EVEN, "labels": ["D", "N", "V"], "tolerance": 0.0}
    with pytest.warns(ConvergenceWarning, match="not converged in 2"):
        before = HMM(max_iterations=2, **options).fit(SEEN, SETS, sample_weight=weight)
    with pytest.warns(ConvergenceWarning, match="not converged in 3"):
        after = HMM(max_iterations=3, **options).fit(SEEN, SETS, sample_weight=weight)
    start, step, emission = np.full(3, 0.5), np.full((3, 4), 0.25), np.full((3, 4), 0.125)
    objective = sum(
        s * np.log(table).sum()
        for s, table in (
            (0.5, before.start_),
            (0.25, before.transition_),
            (0.25, before.end_),
            (0.125, before.emission_),
        )
    )
    for words, y, times in zip(SEEN, SETS, weight, strict=True):
        paths = known_paths(before, words, y)
        total = logsumexp(list(paths.values()))
        objective += times * total
        for path, log_p in paths.items():
            share = times * np.exp(log_p - total)
            start[path[0]] += share
            step[path[-1], 3] += share
            for a, b in pairwise(path):
                step[a, b] += share
            for label, s in zip(path, symbols(before, words), strict=True):
                emission[label, s] += share
    assert before.history_[-1] == pytest.approx(objective, rel=1e-12)
    np.testing.assert_allclose(after.start_, start / start.sum(), rtol=1e-10)
    steps = step / step.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.column_stack([after.transition_, after.end_]), steps, rtol=1e-10)
    np.testing.assert_allclose(after.emission_, emission / emission.sum(axis=1, keepdims=True), rtol=1e-10)


def test_every_iteration_raises_the_objective() -> None:
    hmm = HMM(labels=3, smoothing=Smoothing(1e-3, 1e-3, 1e-3), tolerance=1e-9).fit(W)
    assert len(hmm.history_) > 5
    assert np.diff(hmm.history_).min() > -1e-9
    assert hmm.n_iter_ == len(hmm.history_) - 1


def test_states_are_found_without_labels() -> None:
    """The toy grammar has three kinds of words: a right number of restarts finds them."""
    hmm = HMM(labels=3, restarts=8).fit(W)
    found = hmm.predict(W_TEST)
    pairs = {
        (a, b) for mine, gold in zip(found, Y_TEST, strict=True) for a, b in zip(mine, gold, strict=True)
    }
    assert len(pairs) == 3
    assert hmm.history_[-1] >= HMM(labels=3).fit(W).history_[-1]
    assert hmm.score(W_TEST) == pytest.approx(
        hmm.log_likelihood(W_TEST).sum() / sum(map(len, W_TEST)), rel=1e-12
    )


def test_labeled_sequences_name_the_states() -> None:
    some: list[Any] = [y if n < 4 else None for n, y in enumerate(Y)]
    hmm = HMM().fit(W, some)
    assert hmm.score(W_TEST, Y_TEST) == 1.0
    assert hmm.log_likelihood(W).sum() > HMM().fit(W[:4], Y[:4]).log_likelihood(W).sum()


def test_distributions_count_as_expectations() -> None:
    hmm = HMM(smoothing=EVEN).fit([["a", "b"]], [["D", {"D": 0.25, "N": 0.75}]])
    np.testing.assert_allclose(hmm.transition_[0], np.array([0.5, 1.0]) / 2.0)


def test_rare_and_new_words_go_by_their_class() -> None:
    X = [["the", "dog", "Rex"], ["the", "cat", "Tom"], ["the", "dog"]]
    y = [["D", "N", "P"], ["D", "N", "P"], ["D", "N"]]
    hmm = HMM(features="w[0]; shape(w)[0]", min_count=2).fit(X, y)
    assert set(hmm.symbols_) == {"w[0]=the", "w[0]=dog", "shape(w)[0]=Aa+", "shape(w)[0]=a+", "<unknown>"}
    assert hmm.predict([["Max"], ["the", "fox"]]) == [["P"], ["D", "N"]]
    assert hmm.log_likelihood([["Rex"]]) == hmm.log_likelihood([["Max"]])  # the same pseudo-word
    unseen = {s: hmm.emission_[:, i] for i, s in enumerate(hmm.symbols_)}
    shares = [unseen["shape(w)[0]=Aa+"], unseen["<unknown>"], unseen["w[0]=dog"]]
    for word, emitted in zip(["Max", "7", "dog"], shares, strict=True):
        assert np.exp(hmm.log_likelihood([[word]])[0]) == pytest.approx(hmm.start_ @ (emitted * hmm.end_))


def test_a_word_may_lack_a_class() -> None:
    """A suffix of two letters is something that the word "a" does not have."""
    hmm = HMM(features="w[0]; suffix(w, 2)[0]").fit([["a", "dog"], ["a", "hen"]], [["D", "N"]] * 2)
    assert hmm.predict([["a", "hog"]]) == [["D", "N"]]
    emitted = hmm.emission_[:, hmm.symbols_.index("w[0]=a")]
    assert np.exp(hmm.log_likelihood([["a"]])[0]) == pytest.approx(hmm.start_ @ (emitted * hmm.end_))


def test_the_model_is_saved_and_tags(tmp_path: Path) -> None:
    hmm = HMM().fit(W, Y)
    hmm.model_.save(tmp_path / "hmm.crf")
    model = SequenceModel.load(tmp_path / "hmm.crf")
    assert Tagger(model).tag(W_TEST[0]) == hmm.predict(W_TEST)[0]
    found = model.predict_proba(model.dataset([["new"]]))
    np.testing.assert_array_equal(found[0], hmm.predict_proba([["new"]])[0])


def test_generated_sequences_follow_the_tables() -> None:
    hmm = HMM(smoothing=EVEN).fit(W, Y)
    X, y = hmm.generate(4000, random_state=3)
    assert (X, y) == hmm.generate(4000, random_state=3)
    again = HMM(smoothing=Smoothing(1e-9, 1e-9, 1e-9), labels=hmm.classes_.tolist()).fit(X, y)
    np.testing.assert_allclose(again.start_, hmm.start_, atol=0.03)
    np.testing.assert_allclose(again.transition_, hmm.transition_, atol=0.04)
    order = symbols(again, [name.removeprefix("w[0]=") for name in hmm.symbols_[:-1]])
    np.testing.assert_allclose(again.emission_[:, order], hmm.emission_[:, :-1], atol=0.04)
    assert max(len(x) for x in hmm.generate(50, max_length=2)[0]) == 2


def test_results_do_not_depend_on_threads_and_repeat() -> None:
    one, two = (HMM(labels=3, restarts=2, n_jobs=t).fit(W) for t in (1, 3))
    assert one.history_ == two.history_
    assert one.model_.w.tobytes() == two.model_.w.tobytes()
    assert HMM(labels=3, restarts=2, random_state=1).fit(W).history_ != one.history_


def test_conventions() -> None:
    hmm = clone(HMM(smoothing=EVEN).set_params(smoothing__emission=0.5))
    assert hmm.smoothing == Smoothing(0.5, 0.25, 0.5)
    search = GridSearchCV(HMM(), {"smoothing__emission": [0.01, 1.0], "min_count": [1, 2]}, cv=2)
    assert search.fit(W, Y).best_score_ > 0.9
    with pytest.raises(NotFittedError):
        HMM().generate()


def test_items_with_one_feature_need_no_template() -> None:
    data = ItemExtractor()([[[w] for w in s] for s in W], Y)
    hmm = HMM(features=None).fit(data)
    assert hmm.model_.w.tobytes() == HMM().fit(W, Y).model_.w.tobytes()
    assert hmm.predict([[["the"], ["dog"]]]) == [["D", "N"]]


@pytest.mark.parametrize(
    ("options", "X", "y", "says"),
    [
        ({}, W, None, "hidden states"),
        ({}, [["a"]], [[None]], "y has no label at all"),
        ({"labels": 2, "features": None}, [[]], None, "nothing to learn from"),
        ({"labels": 0}, W, None, "labels is 0, expected 1 or more"),
        ({"labels": 2}, W, Y, "labels is the number 2, but y has the label 'D': give names"),
        ({"restarts": 0}, W, Y, "restarts is 0"),
        ({"features": "w[-1..1]"}, W, Y, "sequence 0, position 0 has 3 attributes"),
        ({"features": "w[0]; w[1]"}, [["a", "b", "a"]], [["D", "D", "D"]], "not a class of the first"),
        ({"features": None}, [[{"w": 2.0}]], [["D"]], "values other than 1"),
        ({"labels": ["A"]}, ItemExtractor()([[["a"]]], [["D"]]), None, "leave labels out"),
    ],
)
def test_what_is_refused(options: dict[str, Any], X: Any, y: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        HMM(**options).fit(X, y)


@pytest.mark.parametrize("wrong", [{"labels": "AB"}, {"labels": True}, {"smoothing": 0.5}])
def test_what_has_a_wrong_type(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(wrong))} is "):
        HMM(**wrong).fit(W)


def test_learning_on_is_learning_from_all() -> None:
    several: list[dict[str, Any]] = [
        {},
        {"min_count": 2},
        {"features": "w[0]; shape(w)[0]", "min_count": 2},
        {"smoothing": EVEN},
    ]
    for options, half in product(several, (1, 3)):
        weight = np.random.default_rng(1).uniform(0.5, 2.0, len(W))
        whole = HMM(**options).fit(W, Y, sample_weight=weight)
        made = HMM(**options)
        for part in (slice(0, half), slice(half, half + 1), slice(half + 1, None)):
            made.partial_fit(W[part], Y[part], sample_weight=weight[part])
            made = pickle.loads(pickle.dumps(made))
        assert made.symbols_ == whole.symbols_
        assert made.classes_.tolist() == whole.classes_.tolist()
        for name in ("start_", "transition_", "end_", "emission_"):
            np.testing.assert_allclose(getattr(made, name), getattr(whole, name), rtol=1e-12)
        assert made.history_ == pytest.approx(whole.history_, rel=1e-12)
        assert made.predict(W_TEST) == whole.predict(W_TEST)
        np.testing.assert_allclose(made.log_likelihood(W_TEST), whole.log_likelihood(W_TEST), rtol=1e-10)


def test_a_rare_word_becomes_known_when_it_comes_again() -> None:
    made = HMM(min_count=2).fit([["a", "b"], ["a"]], [["D", "N"], ["D"]])
    assert made.symbols_ == ["w[0]=a", "<unknown>"]
    made.partial_fit([["b", "c"]], [["X", "N"]], classes=["Y"])
    assert made.symbols_ == ["w[0]=a", "w[0]=b", "<unknown>"]
    assert made.classes_.tolist() == ["D", "N", "X", "Y"]
    added = made.smoothing.emission
    right = (np.array([0.0, 1.0, 1.0]) + added) / (2.0 + 3 * added)  # of N: b and c
    np.testing.assert_allclose(made.emission_[1], right)


def test_distributions_of_labels_add_up_too() -> None:
    X, y = [["a", "b"], ["b", "a"]], [[{"D": 0.25, "N": 0.75}, "N"], ["D", "N"]]
    made = HMM().partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    np.testing.assert_allclose(made.emission_, HMM().fit(X, y).emission_)


def test_learning_on_is_absent_where_it_is_not_exact(tmp_path: Path) -> None:
    hidden = HMM(labels=2).fit([["a", "b", "a"]])
    assert not hasattr(hidden, "partial_fit")
    with pytest.raises(AttributeError, match="HMM has no partial_fit: counts of labeled data are not there"):
        hidden.partial_fit([["a"]], [["0"]])
    made = HMM().fit(W, Y)
    with pytest.raises(ValueError, match="partial_fit needs the label of each position"):
        made.partial_fit([["a", "b"]], [["D", None]])
    made.save(tmp_path / "m.crf")
    assert not hasattr(HMM.load(tmp_path / "m.crf"), "partial_fit")
    assert hasattr(HMM.load(tmp_path / "m.crf").fit(W, Y), "partial_fit")
    assert hasattr(clone(hidden), "partial_fit")
