"""MEMM is ChainCRF with the structure and the objective of maximum-entropy Markov models."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit import MEMM, ChainCRF
from crfkit.objectives import Local
from crfkit.structures import LocalChain
from crfkit.structures.chains import local
from tests.cases.estimators import X_TEST, Y_TEST, X, Y


def test_it_is_a_chain_with_another_structure() -> None:
    memm = MEMM().fit(X, Y)
    same = ChainCRF(structure=LocalChain(), objective=Local()).fit(X, Y)
    assert memm.model_.w.tobytes() == same.model_.w.tobytes()
    assert memm.score(X_TEST, Y_TEST) == 1.0


def test_what_follows_a_label_does_not_change_it() -> None:
    memm = MEMM().fit(X, Y)
    x = next(x for x in X_TEST if len(x) > 2)
    whole, begin = (memm.predict_proba([part])[0] for part in (x, x[:2]))
    np.testing.assert_allclose(whole[:2], begin, rtol=1e-12)
    crf = ChainCRF().fit(X, Y)
    whole, begin = (crf.predict_proba([part])[0] for part in (x, x[:2]))
    assert not np.allclose(whole[:2], begin, rtol=1e-6)


def test_training_normalizes_only_the_steps_of_the_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(potentials: object) -> None:
        raise AssertionError("scores of all steps were made")

    with monkeypatch.context() as patched:
        patched.setattr(local, "normalized_by_step", refuse)
        model = MEMM().fit([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"], ["D", "N"]])
    assert model.predict([[["the"], ["dog"]]]) == [["D", "N"]]
