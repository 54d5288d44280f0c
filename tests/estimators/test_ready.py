"""Ready-made estimators of graphs: every verb answers in the form of y, and as enumeration does."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from crfkit import FactorialCRF, SkipChainCRF, Stop, inference
from crfkit.training.events import History
from tests.cases.ready_made import CASES, KINDS, LENGTHS, TAGS, WORDS


def one_of(y: Any, n: int) -> Any:
    """Return the labels of a sample."""
    return {name: column[n] for name, column in y.items()} if isinstance(y, dict) else y[n]


def all_of(several: list[Any]) -> Any:
    """Return labels of samples as one y."""
    if isinstance(several[0], dict):
        return {name: [one[name] for one in several] for name in several[0]}
    return several


def plain(labels: Any) -> Any:
    """Return labels of a sample as lists, to be compared."""
    return labels.tolist() if isinstance(labels, np.ndarray) else labels


def labelings(labels: Any) -> list[Any]:
    """Return every labeling of a sample, in the form of one of them."""
    if isinstance(labels, dict):
        a, b = (labelings_of(len(labels["tag"]), choices) for choices in ("pq", "ef"))
        return [{"tag": one, "kind": two} for one, two in product(a, b)]
    if isinstance(labels, np.ndarray):
        choices = (3, 7) if labels.ndim == 2 else (0, 1)
        return [np.array(one).reshape(labels.shape) for one in product(choices, repeat=labels.size)]
    if isinstance(labels[0], tuple):
        return [list(one) for one in product([*product("pq", "ef")], repeat=len(labels))]
    return labelings_of(len(labels), "pq")


def labelings_of(T: int, choices: str) -> list[Any]:
    return [list(one) for one in product(choices, repeat=T)]


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    made, X, y = CASES[request.param]
    return made.fit(X, y), X, y


def counted(made: Any, X: Any, y: Any, n: int) -> dict[str, tuple[Any, float]]:
    """Return each labeling of sample n with its log probability, by the scores of the graph."""
    every = labelings(one_of(y, n))
    batch = made.batch([X[n]] * len(every), all_of(every))
    scores = made.model_.potentials(batch)
    score = np.asarray(inference.score(scores, batch.by_kind(batch.label)))
    log_p = score - logsumexp(score)
    return {str(plain(one)): (one, float(p)) for one, p in zip(every, log_p, strict=True)}


def test_log_prob_kbest_and_entropy_are_those_of_enumeration(case: tuple[Any, Any, Any]) -> None:
    made, X, y = case
    found, entropy, listed = made.log_prob(X, y), made.entropy(X), made.kbest(X, 5)
    assert found.info.exact.all()
    best = made.predict(X)
    for n in range(len(X)):
        every = counted(made, X, y, n)
        assert found[n] == pytest.approx(every[str(plain(one_of(y, n)))][1], abs=1e-9)
        p = np.exp([log_p for _, log_p in every.values()])
        assert entropy[n] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-9)
        right = sorted((log_p for _, log_p in every.values()), reverse=True)[:5]
        assert [each.log_prob for each in listed[n]] == pytest.approx(right, abs=1e-9)
        for each in listed[n]:
            assert every[str(plain(each.labels))][1] == pytest.approx(each.log_prob, abs=1e-9)
            assert each.probability == pytest.approx(np.exp(each.log_prob))
        assert str(plain(listed[n][0].labels)) == str(plain(one_of(best, n)))
    assert len(listed) == len(X)


def test_draws_have_the_probabilities(case: tuple[Any, Any, Any]) -> None:
    made, X, y = case
    draws = 4000
    found = made.sample(X[:2], draws, random_state=5)
    assert [len(each) for each in found] == [draws, draws]
    assert str(made.sample(X[:2], 3, random_state=5)) == str(made.sample(X[:2], 3, random_state=5))
    for n, several in enumerate(found):
        every = counted(made, X, y, n)
        names = [str(plain(one)) for one in several]
        for name, (_, log_p) in every.items():
            assert names.count(name) / draws == pytest.approx(np.exp(log_p), abs=0.04)


def test_unknown_labels_are_summed_and_foreign_ones_impossible(case: tuple[Any, Any, Any]) -> None:
    made, X, y = case
    every = counted(made, X, y, 0)
    first = one_of(y, 0)
    part, foreign = hidden(first)
    known = [log_p for one, log_p in every.values() if agrees(one, part)]
    assert 1 < len(known) < len(every)
    rest = [one_of(y, n) for n in range(1, len(X))]
    assert made.log_prob(X, all_of([part, *rest]))[0] == pytest.approx(logsumexp(known), abs=1e-9)
    given = made.predict(X, given=all_of([part, *rest]))
    assert agrees(one_of(given, 0), part)
    assert every[str(plain(one_of(given, 0)))][1] == pytest.approx(max(known), abs=1e-9)
    if foreign is None:
        return
    found = made.log_prob(X, all_of([foreign, *rest]))
    assert found[0] == -np.inf
    assert np.isfinite(found[1:]).all()
    with pytest.raises(ValueError, match="which the model does not know"):
        made.predict(X, given=all_of([foreign, *rest]))
    with pytest.raises(ValueError, match="y of sample 0 has a label that the model does not know"):
        made.batch(X, all_of([foreign, *rest]))


def hidden(labels: Any) -> tuple[Any, Any]:
    """Return labels of a sample of which the first is known alone, and with a first one that is foreign."""
    if isinstance(labels, dict):
        known = {"tag": labels["tag"], "kind": [None] * len(labels["kind"])}
        return known, {**labels, "tag": ["new", *labels["tag"][1:]]}
    if isinstance(labels, np.ndarray):
        some, other = np.full(labels.shape, -1), labels.copy()
        some.flat[0], other.flat[0] = labels.flat[0], 5
        return some, None if labels.ndim == 1 else other  # y of scikit-learn has no other labels
    if isinstance(labels[0], tuple):
        return [(labels[0][0], None), *[(None, None)] * (len(labels) - 1)], [("new", "e"), *labels[1:]]
    return [labels[0], *[None] * (len(labels) - 1)], ["new", *labels[1:]]


def agrees(one: Any, part: Any) -> bool:
    """Return whether a labeling has the labels that are known."""
    if isinstance(part, dict):
        return all(agrees(one[name], part[name]) for name in part)
    if isinstance(part, np.ndarray):
        return bool(((part == -1) | (np.asarray(one) == part)).all())
    if isinstance(part[0], tuple):
        return all(agrees(a, b) for a, b in zip(one, part, strict=True))
    return all(b is None or a == b for a, b in zip(one, part, strict=True))


PLACES: dict[str, Any] = {
    "columns": [(1, "kind"), (0, "tag")],
    "tuples": [(1, "0"), (0, 1)],
    "skip-chain": [1, 0],
    "grid": [(1, 0), (0, 1)],
    "multi-label": [2, 0],
}


@pytest.mark.parametrize("name", CASES)
def test_explanations_are_differences_of_scores(name: str) -> None:
    made, X, y = CASES[name]
    made.fit(X, y)
    every = counted(made, X, y, 0)
    share = made.predict_proba(X)
    for at in PLACES[name]:
        (one,) = made.explain(X[0], at=at)
        best = max(every.values(), key=lambda pair: pair[1])
        won = at_place(best[0], at)
        assert one.label == str(won)
        assert one.runner_up is not None
        assert one.label in str(one)
        others: dict[str, list[float]] = {}
        for labels, log_p in every.values():
            others.setdefault(str(at_place(labels, at)), []).append(log_p)
        assert one.probability == pytest.approx(np.exp(logsumexp(others[one.label])), abs=1e-9)
        assert one.runner_up_probability == pytest.approx(np.exp(logsumexp(others[one.runner_up])), abs=1e-9)
        assert one.difference == pytest.approx(best[1] - max(others[one.runner_up]), abs=1e-9)
    assert len(made.explain(X[0])) == sum(1 for _ in flat(one_of(y, 0)))
    assert len(share) > 0


def at_place(labels: Any, at: Any) -> Any:
    if isinstance(labels, dict):
        return labels[at[1]][at[0]]
    if isinstance(labels, np.ndarray):
        return labels[at]
    return labels[at[0]][int(at[1])] if isinstance(at, tuple) else labels[at]


def flat(labels: Any) -> Any:
    """Yield every label of a sample."""
    if isinstance(labels, dict):
        for column in labels.values():
            yield from column
    elif isinstance(labels, np.ndarray):
        yield from labels.ravel()
    else:
        for one in labels:
            yield from one if isinstance(one, tuple) else [one]


@pytest.mark.parametrize(
    ("name", "at", "said"),
    [
        ("columns", 0, r"expected \(position, column\)"),
        ("columns", (0, "pos"), "is not a column; the columns are tag, kind"),
        ("columns", (9, "tag"), "9 is not one of them"),
        ("skip-chain", (0, "tag"), "expected the number of a position"),
        ("skip-chain", 5, "the sequence has 2 positions"),
        ("grid", 3, r"expected a pixel: \(row, column\)"),
        ("grid", (2, 0), "the image is 2 x 2"),
        ("multi-label", 3, "there are 3 labels"),
        ("multi-label", "3", "expected the number of a label"),
    ],
)
def test_places_that_are_none_are_refused(name: str, at: Any, said: str) -> None:
    made, X, y = CASES[name]
    with pytest.raises((TypeError, ValueError), match=said):
        made.fit(X, y).explain(X[0], at=at)


def test_a_dev_set_is_scored_as_score_does(case: tuple[Any, Any, Any]) -> None:
    made, X, y = case
    history = History()
    again = type(made)(**made.get_params(deep=False)).set_params(stop=Stop(max_iterations=4, patience=2))
    again.fit(X, y, dev=(X, y), listeners=[history])
    assert again.model_.training.score == again.score(X, y) == float(again.evaluate(X, y))
    assert again.model_.training.metric == getattr(again, "metric", "auto")
    with pytest.raises(ValueError, match=r"dev is a list, expected a pair, as in fit\(X, y, dev="):
        again.fit(X, y, dev=[X])


def test_labels_of_dev_that_training_lacks_are_errors() -> None:
    made = SkipChainCRF(features="w[0]", stop=Stop(max_iterations=3), metric="accuracy")
    new = [["new" for _ in tags] if n == 0 else tags for n, tags in enumerate(TAGS)]
    with pytest.warns(UserWarning, match="has labels that the model does not know: new"):
        made.fit(WORDS, TAGS, dev=(WORDS, new))
    with pytest.warns(UserWarning, match="has labels that the model does not know: new"):
        right = made.score(WORDS, new)
    assert made.model_.training is not None
    assert made.model_.training.score == pytest.approx(right)


def test_the_log_probability_judges_too() -> None:
    made = FactorialCRF(features="w[0]", stop=Stop(max_iterations=4), metric="log_prob")
    y = {"tag": TAGS, "kind": KINDS}
    made.fit(WORDS, y, dev=(WORDS, y))
    labels = 2 * sum(LENGTHS)
    assert made.model_.training is not None
    assert made.score(WORDS, y) == pytest.approx(made.log_prob(WORDS, y).sum() / labels)
    assert made.model_.training.score == pytest.approx(made.score(WORDS, y))
    one = made.evaluate(WORDS, y, kind="kind")
    assert one.score == pytest.approx(made.log_prob(WORDS, {"kind": KINDS}).sum() / sum(LENGTHS))
    assert (one.metric, one.labels) == ("log_prob", sum(LENGTHS))
    batch = made.batch(WORDS, y)
    assert made.evaluate(batch).score == pytest.approx(made.score(WORDS, y))
    assert made.evaluate(batch, kind="kind").score == pytest.approx(one.score)


def test_reports_are_of_labels_that_are_known(case: tuple[Any, Any, Any]) -> None:
    made, X, y = case
    part, foreign = hidden(one_of(y, 0))
    rest = [one_of(y, n) for n in range(1, len(X))]
    whole, some = made.evaluate(X, y), made.evaluate(X, all_of([part, *rest]), metric="accuracy")
    assert some.labels == whole.labels - sum(1 for _ in flat(one_of(y, 0))) + len(known_in(part))
    assert some.n == whole.n == len(X)
    if foreign is not None:
        with pytest.warns(UserWarning, match="has labels that the model does not know"):
            wrong = made.evaluate(X, all_of([foreign, *rest]), metric="accuracy")
        assert wrong.accuracy <= whole.accuracy
        assert wrong.labels == whole.labels


def known_in(part: Any) -> list[Any]:
    return [label for label in flat(part) if label is not None and label != -1]


def test_one_column_of_several_is_judged_alone() -> None:
    made, X, y = CASES["columns"]
    made.fit(X, y)
    each = [made.score(X, y, kind=name) for name in y]
    assert made.score(X, y) == pytest.approx(np.mean(each))
    assert made.evaluate(X, y).parts["kind"].score == made.evaluate(X, y, kind="kind").score == each[1]
    with pytest.raises(ValueError, match="'pos' is not a kind of the graph: 'tag', 'kind'"):
        made.score(X, y, kind="pos")
    with pytest.raises(ValueError, match="y has the columns tag; the model has tag, kind"):
        made.score(X, {"tag": TAGS})
    many, rows, labels = CASES["multi-label"]
    many.fit(rows, labels)
    right = many.predict(rows)[:, 1] == labels[:, 1]
    assert many.score(rows, labels, kind="1") == right.mean()


def test_what_is_given_helps_the_score() -> None:
    made, X, y = CASES["columns"]
    made.fit(X, y)
    assert made.score(X, y, given={"kind": KINDS}) >= made.score(X, y)
    assert made.score(X, y, given=y) == 1.0


def test_models_answer_about_samples_as_estimators_do(case: tuple[Any, Any, Any]) -> None:
    made, X, y = case
    again = pickle.loads(pickle.dumps(made.model_))
    assert str(again.predict(X)) == str(made.predict(X))
    assert str(again.predict_proba(X)) == str(made.predict_proba(X))
    assert str(again.kbest(X, 2)) == str(made.kbest(X, 2))
    assert again.log_prob(X, y) == pytest.approx(np.asarray(made.log_prob(X, y)))
