"""Every verb of every estimator answers on data that it was fitted to, or says what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit.estimators.queries import SequenceQueries
from tests.cases.every_estimator import CASES, Case

SEQUENCES = {name: one for name, one in CASES.items() if isinstance(one.make(), SequenceQueries)}
VERBS: dict[str, tuple[Any, ...]] = {
    "predict": (),
    "predict_proba": (),
    "predict_spans": (),
    "entropy": (),
    "uncertainty": ("least-confidence",),
    "kbest": (2,),
    "sample": (2,),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", SEQUENCES)
def test_every_verb_has_an_answer_for_each_sequence(name: str, verb: str) -> None:
    one = CASES[name]
    made = one.fitted()
    if verb in made._absent():
        with pytest.raises(AttributeError, match=f"^{type(made).__name__} has no {verb}: "):
            getattr(made, verb)
    else:
        assert len(getattr(made, verb)(one.X, *VERBS[verb])) == len(one.X)


@pytest.mark.parametrize("name", CASES)
def test_a_notebook_shows_it_and_completes_its_names(name: str) -> None:
    made = CASES[name].fitted()
    assert {"fit", "predict"} <= {*dir(made)}  # asks for every attribute
    assert type(made).__name__ in made._repr_html_()


SURE = {name: one for name, one in SEQUENCES.items() if "log_prob" not in one.make()._absent()}


@pytest.mark.parametrize("one", SURE.values(), ids=SURE)
def test_scores_of_labels_are_finite(one: Case) -> None:
    made = one.fitted()
    found = made.log_prob(one.X, one.y)
    assert np.isfinite(found).all()
    assert (found <= 1e-12).all()
    assert 0.0 <= made.score(one.X, one.y) <= 1.0
    metric, made.metric = made.metric, "log_prob"
    try:
        positions = sum(map(len, one.X))
        assert made.score(one.X, one.y) == pytest.approx(found.sum() / positions, rel=1e-12)
    finally:
        made.metric = metric


LISTED = {name: one for name, one in SURE.items() if "kbest" not in one.make()._absent()}


@pytest.mark.parametrize("one", LISTED.values(), ids=LISTED)
def test_the_best_of_several_is_what_is_predicted(one: Case) -> None:
    made = one.fitted()
    best = made.kbest(one.X, 3)
    assert [several[0].labels for several in best] == made.predict(one.X)
    if made.model_.encoding is None:  # else several label sequences spell the same
        found = made.log_prob(one.X, made.predict(one.X))
        assert [several[0].log_prob for several in best] == pytest.approx(found.tolist(), abs=1e-9)
    assert [span[:3] for several in made.predict_spans(one.X) for span in several] == [
        span for several in best for span in several[0].spans
    ]


@pytest.mark.parametrize("one", SURE.values(), ids=SURE)
def test_probabilities_have_the_labels_of_answers_and_add_up_to_one(one: Case) -> None:
    made = one.fitted()
    found = made.predict_proba(one.X)
    assert found.labels == tuple(made.classes_)
    np.testing.assert_allclose(np.concatenate(found).sum(axis=1), 1.0, atol=1e-9)
    likely = [[max(row, key=row.__getitem__) for row in rows] for rows in found.to_dicts()]
    if not made.model_.segmental and made.model_.encoding in (None, "hidden"):
        assert made.predict(one.X, method="posterior") == likely


@pytest.mark.parametrize("one", SURE.values(), ids=SURE)
def test_labels_that_are_given_are_kept(one: Case) -> None:
    made = one.fitted()
    if made.model_.segmental or made.model_.encoding not in (None, "hidden"):
        pytest.skip("tags in part are read as segments in part")
    given = [[labels[0], *[None] * (len(labels) - 1)] for labels in one.y]
    assert [labels[0] for labels in made.predict(one.X, given=given)] == [labels[0] for labels in one.y]
