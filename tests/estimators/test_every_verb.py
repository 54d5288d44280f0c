"""Every verb of every estimator answers on data that it was fitted to, or says what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit.estimators.queries import ChainQueries
from tests.cases.every_estimator import CASES, Case

SEQUENCES = {name: one for name, one in CASES.items() if isinstance(one.make(), ChainQueries)}
VERBS: dict[str, tuple[Any, ...]] = {
    "predict": (),
    "predict_marginals": (),
    "uncertainty": ("least-confidence",),
    "predict_kbest": (2,),
    "sample": (2,),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", SEQUENCES)
def test_every_verb_has_an_answer_for_each_sequence(name: str, verb: str) -> None:
    one = CASES[name]
    if verb == "predict_kbest" and name.startswith("Hidden"):
        pytest.skip("a label sequence is a sum over many paths of states")
    assert len(getattr(one.fitted(), verb)(one.X, *VERBS[verb])) == len(one.X)


@pytest.mark.parametrize("one", SEQUENCES.values(), ids=SEQUENCES)
def test_scores_of_labels_are_finite(one: Case) -> None:
    made = one.fitted()
    found = made.log_proba(one.X, one.y)
    assert np.isfinite(found).all()
    assert (found <= 1e-12).all()
    assert 0.0 <= made.score(one.X, one.y) <= 1.0
    metric, made.metric = made.metric, "log_likelihood"
    try:
        positions = sum(map(len, one.X))
        assert made.score(one.X, one.y) == pytest.approx(found.sum() / positions, rel=1e-12)
    finally:
        made.metric = metric


def test_the_best_of_boosted_trees_is_what_they_predict() -> None:
    one = CASES["BoostedCRF"]
    made = one.fitted()
    best = made.predict_kbest(one.X, 3)
    assert [several[0][0] for several in best] == made.predict(one.X)
    assert [several[0][1] for several in best] == pytest.approx(
        made.log_proba(one.X, made.predict(one.X)).tolist(), abs=1e-9
    )
