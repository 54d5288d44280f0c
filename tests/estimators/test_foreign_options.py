"""Options of other tools, given to ChainCRF and train: what to write instead, and that it works."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone

import crfkit
from crfkit import Chain, ChainCRF, optimize
from crfkit.features import ItemExtractor
from tests.cases.estimators import X, Y

ADVICE = [
    ({"l2": 0.5}, "objective=Likelihood(l2=0.5)"),
    ({"c2": 1}, "objective=Likelihood(l2=2.0)"),
    ({"c1": 0.1, "c2": 0.1}, "objective=Likelihood(l1=0.1, l2=0.2)"),
    ({"rho1": 0.5, "rho2": 0.01}, "objective=Likelihood(l1=0.5, l2=0.01)"),
    ({"C": 4.0}, "objective=Likelihood(l2=0.25)"),
    ({"gaussian_variance": 10}, "objective=Likelihood(l2=0.1)"),
    ({"algorithm": "lbfgs"}, "optimizer='lbfgs'"),
    ({"algorithm": "l2sgd", "c2": 0.5}, "optimizer='sgd', objective=Likelihood(l2=1.0)"),
    ({"algorithm": "ap"}, "objective='perceptron'"),
    ({"algorithm": "arow"}, "objective='perceptron', optimizer='arow'"),
    ({"algorithm": "mira"}, "objective='perceptron', optimizer='mira-crfpp'"),
    ({"all_possible_transitions": True}, "features=Features(transitions='all')"),
    ({"all_possible_states": True, "min_freq": 2}, "features=Features(which='all', min_count=2)"),
    ({"num_memories": 3, "delta": 1e-3}, "optimizer=LBFGS(memory=3, delta=0.001)"),
    ({"algorithm": "pa", "c": 0.5}, "objective='perceptron', optimizer=PassiveAggressive(c=0.5)"),
    ({"variance": 2.0}, "objective='perceptron', optimizer=AROW(variance=2.0)"),
    ({"algorithm": "ap", "epsilon": 0.1}, "objective='perceptron'"),
    ({"max_iter": 5, "order": 0}, "stop=Stop(max_iterations=5), structure=Chain(order=0)"),
    ({"calibration_eta": 0.2}, "optimizer=SGD(calibration_eta=0.2)"),
]


@pytest.mark.parametrize(("options", "instead"), ADVICE)
def test_options_of_other_tools_are_translated(options: dict[str, Any], instead: str) -> None:
    for call in (lambda: ChainCRF(**options), lambda: crfkit.train(ItemExtractor()(X, Y), **options)):
        with pytest.raises(TypeError) as caught:
            call()
        assert f"write {instead}" in str(caught.value)
    names = {name: getattr(room, name) for room in (optimize, crfkit) for name in room.__all__}
    made = eval(f"ChainCRF({instead})", {"ChainCRF": ChainCRF, **names})  # what is advised exists
    made.set_params(stop__max_iterations=2, threads=1).fit(X, Y)


def test_options_that_nothing_stands_for() -> None:
    with pytest.raises(TypeError, match=r"model_filename: leave it out: models stay in memory; model.save"):
        ChainCRF(model_filename="m")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Likelihood\(l2=\.\.\.\)"):
        ChainCRF(c2=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ChainCRF has no option 'sede'; did you mean 'seed'"):
        ChainCRF(sede=2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'banana'; the options are constraints, encoding, features, init"):
        ChainCRF(banana=2)  # type: ignore[arg-type]


def test_scikit_learn_sees_the_real_parameters_only() -> None:
    assert "unknown" not in ChainCRF().get_params()
    assert clone(ChainCRF(structure=Chain(order=2))).structure == Chain(order=2)
