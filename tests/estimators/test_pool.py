"""OpinionPool: subsets of features, weights of experts, and what it refuses."""

from __future__ import annotations

import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Likelihood, Stop
from crfkit.estimators.classic import OpinionPool
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel
from crfkit.structures import LocalChain
from crfkit.structures.constraints import Forbid
from crfkit.training.classic import subsets
from tests.cases.estimators import W_TEST, X_TEST, Y_TEST, W, X, Y


def pool(**options: Any) -> OpinionPool:
    return OpinionPool(**{"n_jobs": 2, "held_out": 0.25, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"experts": 3},
        {"subsets": "label"},
        {"subsets": "label", "experts": 2},
        {"subsets": [lambda name: name.startswith("w"), lambda name: not name.startswith("w")]},
        {"objective": Likelihood(l2=0.0), "weights": "equal"},
        {"fraction": 1.0, "experts": 1, "held_out": 0.0},
    ],
)
def test_learns_and_answers_as_one_chain(options: dict[str, Any], tmp_path: Path) -> None:
    made = pool(**options).fit(X, Y)
    assert made.score(X_TEST, Y_TEST) > 0.9
    assert len(made.experts_) == len(made.weights_) == len(made.subsets_)
    assert made.weights_.sum() == pytest.approx(1.0)
    made.model_.save(tmp_path / "pool.crf")
    again = SequenceModel.load(tmp_path / "pool.crf")
    assert again.predict(again.dataset(X_TEST)) == made.predict(X_TEST)
    assert again.training is not None
    assert "a pool of" in again.training.notes[0]
    assert [len(one) for one in made.predict_proba(X_TEST)] == [len(x) for x in X_TEST]


def test_one_expert_with_everything_is_the_chain() -> None:
    from crfkit import ChainCRF

    one = pool(experts=1, fraction=1.0, held_out=0.0).fit(X, Y)
    np.testing.assert_array_equal(one.model_.w, ChainCRF(n_jobs=1).fit(X, Y).model_.w)


def test_an_expert_that_has_everything_may_be_added() -> None:
    made = pool(experts=2, whole=True, weights="equal").fit(X, Y)
    assert made.subsets_ == ["random 1", "random 2", "everything"]
    assert made.experts_[2].layout.weights == made.model_.layout.weights > made.experts_[0].layout.weights


def test_positional_by_template_and_by_name() -> None:
    made = pool(subsets="positional", features="w[-1..1]; suffix(w, 1)[0]; w[-1] & w[1]; edge: w[0]")
    made.fit(W, Y)
    assert made.subsets_ == ["current", "before", "after"]
    assert made.predict(W_TEST) == Y_TEST
    for name, expert in zip(made.subsets_, made.experts_, strict=True):
        own = {attribute.split("=")[0] for attribute, _ in _weighted(expert)}
        expected = {
            "current": {"w[0]", "suffix(w, 1)[0]"},
            "before": {"w[-1]", "w[-1]&w[1]"},
            "after": {"w[1]", "w[-1]&w[1]"},
        }
        assert own == expected[name]
        assert bool(expert.layout.rows_of("edge") and expert.layout.has("edge")) == (name == "current")
    named = [[{"w": w, "-1:w": s[i - 1] if i else ""} for i, w in enumerate(s)] for s in W]
    assert pool(subsets="positional").fit(named, Y).subsets_ == ["current", "before"]
    crfpp = pool(subsets="positional", features="U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[1,0]/%x[2,0]\nB")
    assert crfpp.fit(W, Y).subsets_ == ["current", "before", "after"]


def _weighted(model: SequenceModel) -> list[tuple[str, str]]:
    from crfkit.models.explain import state_weights

    return [pair for pair, weight in state_weights(model).items() if weight != 0.0]


def test_weights_are_learned_from_other_data_where_given() -> None:
    fitted = pool(experts=2).fit(X, Y, dev=(X_TEST, Y_TEST))
    assert not np.allclose(fitted.weights_, 0.5)
    other = pool(experts=2).fit(X, Y, dev=(X[:4], Y[:4]))
    assert not np.array_equal(fitted.weights_, other.weights_)
    for a, b in zip(fitted.experts_, other.experts_, strict=True):
        np.testing.assert_array_equal(a.w, b.w)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subsets": "rows"}, 'subsets is \'rows\', expected "random", "positional", "label" or a list'),
        ({"subsets": "positional"}, "all attributes are of one place; give a template"),
        ({"subsets": [lambda name: False]}, r"subsets\[0\] accepts none of the attributes"),
        ({"subsets": []}, "subsets is empty"),
        ({"subsets": [lambda name: True], "experts": 3}, "the subsets are 1: leave experts out"),
        ({"subsets": "label", "experts": 9}, "experts is 9, but there are 3 labels"),
        ({"fraction": 1.5}, "fraction is 1.5, expected a share of 1"),
        ({"held_out": 1.0}, "held_out is 1.0, expected a share of 1"),
        ({"weights": "any"}, "weights is 'any', expected"),
        ({"structure": LocalChain()}, "a pool of local chains is not a local chain; use structure=Chain"),
    ],
)
def test_what_cannot_be_done_is_refused_before_training(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pool(**options).fit(X, Y)


def test_other_refusals() -> None:
    with pytest.raises(TypeError, match=r"subsets\[0\] is 'w', expected a function"):
        pool(subsets=["w"]).fit(X, Y)
    with pytest.raises(ValueError, match=r"held_out=0.1 leaves no sequence of 1 for the experts"):
        OpinionPool().fit(X[:1], Y[:1])
    hashed = ItemExtractor(hashed=64)(X, Y)
    with pytest.raises(ValueError, match='ids without names; use subsets="random"'):
        pool(subsets="positional").fit(hashed)
    assert pool().fit(hashed).score(hashed) > 0.9
    assert pool(structure=LocalChain).get_params()["structure"] is LocalChain


def test_constraints_hold_in_the_pool() -> None:
    from crfkit import Chain

    single = [[x] for s in X for x in s], [[y] for s in Y for y in s]
    made = pool(structure=Chain(constraints=(Forbid("D", "N"),))).fit(*single)
    assert not any(pair == ("D", "N") for y in made.predict(X_TEST) for pair in pairwise(y))
    assert made.model_.structure.constraints == (Forbid("D", "N"),)


def test_ctrl_c_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before, calls = subsets.SubsetData.layout, []

    def layout(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return before(self, *args, **options)

    monkeypatch.setattr(subsets.SubsetData, "layout", layout)
    made = pool(experts=4, n_jobs=1, stop=Stop(max_iterations=3))
    with pytest.raises(KeyboardInterrupt):
        made.fit(X, Y)
    assert made.weights_.tolist() == [0.25] * 4
    assert np.any(made.experts_[0].w)
    assert not np.any(made.experts_[3].w)
    assert made.model_.training is not None
    assert made.model_.training.end == "interrupted"
