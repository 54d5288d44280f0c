"""Chains with hidden states: against enumeration, against the plain chain, and on labels with phases."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from crfkit import Chain, ChainCRF, HiddenChainCRF, Likelihood, inference
from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import labeled
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.models import Tagger
from crfkit.models.states import States, state_names
from crfkit.structures.constraints import Forbid, SegmentLength
from tests.cases.estimators import NEAR, X_TEST, X, Y
from tests.cases.hidden import turning

LABELS, NUMBERS = ["A", "B", "C"], {"A": 2, "B": 3}
SETS: list[list[Any]] = [["A", "B", None, "C"], ["C"], ["B", {"A", "C"}, "A"]]


def small() -> tuple[Any, States]:
    """A loss over six states, with a plain label, a set and nothing among the gold."""
    data = ItemExtractor()([[["x", "y"], ["y"], ["z"], ["x"]], [["z"]], [["y"], ["x", "z"], ["x"]]])
    states = States(state_names(LABELS, NUMBERS), None)
    made = states.sets(labeled(data, SETS, Alphabet(LABELS)))
    chain = Chain(states.labels)
    layout = Layout.all_pairs(made.batch, chain, start=True, stop=True)
    return Likelihood().bind(layout, chain, made.batch, threads=1), states


def test_likelihood_is_the_sum_over_states() -> None:
    loss, states = small()
    w = np.random.default_rng(0).normal(size=loss.size)
    scores, expected, begin = loss.potentials(w), 0.0, 0
    for n, gold in enumerate(SETS):
        total, within = -np.inf, -np.inf
        for path in product(range(6), repeat=len(gold)):
            score = inference.score(scores.sequence(n), list(path))
            total = np.logaddexp(total, score)
            labels = [states.labels[h][0] for h in path]
            if all(y is None or h in y for h, y in zip(labels, gold, strict=True)):
                within = np.logaddexp(within, score)
        expected += total - within
        begin += len(gold)
    gradient = np.empty(loss.size)
    assert loss.value_and_grad(w, gradient) == pytest.approx(expected, rel=1e-10)
    direction = np.random.default_rng(1).normal(size=loss.size)
    up, down = (loss.value_and_grad(w + s * 1e-6 * direction, np.empty(loss.size)) for s in (1, -1))
    assert (up - down) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-6)


def test_one_state_for_each_label_is_a_chain() -> None:
    hidden = HiddenChainCRF(states=1, optimizer=NEAR, n_jobs=1).fit(X, Y)
    plain = ChainCRF(optimizer=NEAR, n_jobs=1).fit(X, Y)
    np.testing.assert_allclose(hidden.model_.w, plain.model_.w, atol=1e-6)
    assert hidden.model_.training is not None
    assert plain.model_.training is not None
    assert hidden.model_.training.loss == pytest.approx(plain.model_.training.loss, rel=1e-9)
    assert hidden.predict(X_TEST) == plain.predict(X_TEST)
    assert hidden.classes_.tolist() == plain.classes_.tolist()
    same = HiddenChainCRF(states=1, restarts=3, n_jobs=1).fit(X, Y)  # nothing is hidden: one start, at zero
    assert same.model_.w.tobytes() == ChainCRF(n_jobs=1).fit(X, Y).model_.w.tobytes()


def turned(**options: Any) -> HiddenChainCRF:
    return HiddenChainCRF(**{"states": 3, "restarts": 3, "n_jobs": 1, **options}).fit(*turning(80))


def test_phases_that_a_chain_cannot_see() -> None:
    test = turning(60, seed=1)
    assert ChainCRF(n_jobs=1).fit(*turning(80)).score(*test) < 0.65
    crf = turned()
    assert crf.score(*test) > 0.9
    best = crf.set_params(decoding="viterbi").score(*test)
    assert best > 0.9


def test_the_best_start_is_kept() -> None:
    each = [turned(restarts=1, random_state=0), turned(restarts=3, random_state=0)]
    losses = [crf.model_.training.loss for crf in each if crf.model_.training is not None]
    assert losses[1] <= losses[0]
    again = turned(restarts=3, random_state=0)
    assert again.model_.w.tobytes() == each[1].model_.w.tobytes()


def test_queries_agree_with_sums_over_states() -> None:
    crf, (x, y) = turned(), turning(5, seed=2)
    model = crf.model_
    states = model.states
    assert states is not None
    shares = crf.predict_proba(x)
    by_state = inference.marginals(model.potentials(model.batch_of(x))).node
    np.testing.assert_allclose(np.concatenate(shares), by_state.reshape(-1, 2, 3).sum(axis=2), atol=1e-12)
    best = [[model.answers[i] for i in share.argmax(axis=1)] for share in shares]
    assert crf.predict(x) == model.predict(x) == best
    assert model.predict(x, method="viterbi") == clone(crf).set_params(decoding="viterbi").fit(
        *turning(80)
    ).predict(x)
    log_p: Floats = crf.log_prob(x, y)
    clamped = model.potentials(model.batch_of(x)).clamped(
        np.array([[s[0] == label for s in states.labels] for one in y for label in one])
    )
    total = inference.log_partition(model.potentials(model.batch_of(x)))
    np.testing.assert_allclose(log_p, inference.log_partition(clamped) - total, atol=1e-10)
    assert crf.log_prob([x[0]], [["?"] * len(x[0])])[0] == -np.inf
    tagger = Tagger(model)
    assert tagger.tag(x[0]) == crf.predict(x)[0]
    assert tagger.labels == model.answers
    assert tagger.log_prob(x[0], y[0]) == pytest.approx(float(log_p[0]), rel=1e-9)
    draws = crf.sample(x[:1], 400)[0]
    first = np.mean([draw[0] == "A" for draw in draws])
    assert first == pytest.approx(shares[0][0, crf.classes_.tolist().index("A")], abs=0.1)
    only = [[model.answers[1]] * len(one) for one in x]
    assert model.predict(x, given=only) == crf.predict(x, given=only) == only


def test_answers_are_labels_and_reasons_states() -> None:
    crf, (x, y) = turned(restarts=1), turning(5, seed=2)
    model = crf.model_
    assert crf.classes_.tolist() == list(model.answers)
    assert sorted(model.answers) == ["A", "B"]
    assert model.score(x, y=y) == crf.score(x, y)
    assert model.explain(x[0])[0].label in model.structure.labels


def test_constraints_hold_for_all_states() -> None:
    x, y = turning(30)
    y = [["A" if "A" in labels[: t + 1] else label for t, label in enumerate(labels)] for labels in y]
    crf = HiddenChainCRF(states=2, structure=Chain(constraints=[Forbid("A", "B")]), n_jobs=1).fit(x, y)
    rules = crf.model_.structure.resolved
    assert rules is not None
    names = crf.model_.structure.labels
    for i, j in product(range(4), repeat=2):
        assert rules.transition[i, j] == (names[i][0] + names[j][0] != "AB")
    found = crf.set_params(decoding="viterbi").predict(turning(9, seed=5)[0])
    assert not any("AB" in "".join(labels) for labels in found)


def test_dev_sets_choose_the_start() -> None:
    crf = HiddenChainCRF(states=2, restarts=2, n_jobs=1).fit(*turning(30), dev=turning(20, seed=3))
    assert crf.model_.training is not None
    assert crf.model_.training.metric == "accuracy"
    assert crf.model_.training.score == pytest.approx(crf.score(*turning(20, seed=3)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 0}, "states is 0 for the label"),
        ({"states": {"Z": 2}}, "states names 'Z', which is not a label of y"),
        ({"restarts": 0}, "restarts is 0"),
        ({"objective": "perceptron"}, "needs to know every state"),
        ({"objective": Likelihood(label_weights={"A": 2.0})}, "label_weights are not for hidden states"),
        ({"structure": "semi-markov"}, "hidden states are those of a chain"),
        (
            {"structure": Chain(constraints=[SegmentLength("A", 1, 2)])},
            "cannot limit the lengths of segments",
        ),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HiddenChainCRF(**options).fit(*turning(5))


def test_more_that_is_refused() -> None:
    x, y = turning(5)
    with pytest.raises(ValueError, match="not soft labels"):
        HiddenChainCRF().fit([[["x"]]], [[{"A": 0.5, "B": 0.5}]])
    with pytest.raises(ValueError, match="'A/0' has the name of a state of 'A'; rename it"):
        HiddenChainCRF().fit([[["x"], ["y"]]], [["A", "A/0"]])
    with pytest.raises(ValueError, match="decoding is 'best'"):
        HiddenChainCRF(decoding="best").fit(x, y)  # type: ignore[arg-type]
    crf = HiddenChainCRF().fit(x, y)
    with pytest.raises(ValueError, match="decoding is 'best'"):
        crf.set_params(decoding="best")
    with pytest.raises(AttributeError, match=r"has no kbest: a label sequence is a sum over many paths"):
        crf.kbest(x, 2)
    with pytest.raises(ValueError, match="kbest is not for models with hidden states"):
        crf.model_.kbest(x, 2)
