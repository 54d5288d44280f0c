"""Options of other tools, given to ChainCRF and train: what to write instead, and that it works."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

import pytest
from sklearn.base import clone

import crfkit
from crfkit import Chain, ChainCRF, Graph, GraphCRF, Stop, optimize
from crfkit.estimators import ESTIMATORS
from crfkit.features import ItemExtractor
from tests.cases.estimators import X, Y

#: What is given, what to write to train, and to an estimator where that is another thing.
ADVICE: list[tuple[dict[str, Any], str, str]] = [
    ({"c2": 1}, "l2=2.0", ""),
    ({"c1": 0.1, "c2": 0.1}, "l1=0.1, l2=0.2", ""),
    ({"rho1": 0.5, "rho2": 0.01}, "l1=0.5, l2=0.01", ""),
    ({"C": 4.0}, "l2=0.25", ""),
    ({"c": 4.0, "f": 2, "p": 3}, "l2=0.25, min_count=2, n_jobs=3", ""),
    ({"a": "MIRA"}, "objective='perceptron', optimizer='mira-crfpp'", ""),
    ({"rho1": 1, "maxiter": 3, "period": 4}, "l1=1, max_iterations=3, optimizer=LBFGS(period=4)", ""),
    ({"gaussian_variance": 10}, "l2=0.1", ""),
    ({"algorithm": "lbfgs"}, "optimizer='lbfgs'", ""),
    ({"algorithm": "l2sgd", "c2": 0.5}, "optimizer='sgd', l2=1.0", ""),
    ({"algorithm": "ap"}, "objective='perceptron'", ""),
    ({"algorithm": "arow"}, "objective='perceptron', optimizer='arow'", ""),
    ({"all_possible_transitions": True}, "selection=FeatureSelection(transitions='all')", ""),
    ({"all_possible_states": True}, "selection=FeatureSelection(which='all')", ""),
    ({"min_freq": 2}, "min_count=2", ""),
    ({"num_memories": 3, "delta": 1e-3}, "optimizer=LBFGS(memory=3, delta=0.001)", ""),
    ({"algorithm": "pa", "c": 0.5}, "objective='perceptron', optimizer=PassiveAggressive(c=0.5)", ""),
    ({"variance": 2.0}, "objective='perceptron', optimizer=AROW(variance=2.0)", ""),
    ({"algorithm": "ap", "epsilon": 0.1}, "objective='perceptron'", ""),
    ({"max_iter": 5}, "max_iterations=5", ""),
    ({"calibration_eta": 0.2}, "optimizer=SGD(calibration_eta=0.2)", ""),
    ({"feature.minfreq": 2}, "min_count=2", ""),
    ({"feature.possible_transitions": 1}, "selection=FeatureSelection(transitions='all')", ""),
    ({"gaussian-variance": 10}, "l2=0.1", ""),
    ({"orders": 2}, "order=2", ""),
    ({"tol": 0.1, "n_iter_no_change": 3}, "stop=Stop(tolerance=0.1, patience=3)", ""),
    ({"nthread": 2}, "n_jobs=2", ""),
]


@pytest.mark.parametrize(("options", "to_train", "to_estimators"), ADVICE)
def test_options_of_other_tools_are_translated(
    options: dict[str, Any], to_train: str, to_estimators: str
) -> None:
    instead = to_estimators or to_train
    with pytest.raises(TypeError) as caught:
        ChainCRF(**options)
    assert f"write {instead}" in str(caught.value)
    with pytest.raises(TypeError) as caught:
        crfkit.train(ItemExtractor()(X, Y), **options)
    assert f"write {to_train}" in str(caught.value)
    names = {name: getattr(room, name) for room in (optimize, crfkit) for name in room.__all__}
    made = eval(f"ChainCRF({instead})", {"ChainCRF": ChainCRF, **names})  # what is advised exists
    made.set_params(stop=Stop(max_iterations=2), max_iterations=None, n_jobs=1).fit(X, Y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_constructor_and_set_params_have_hints(name: str) -> None:
    kind: Any = getattr(import_module(ESTIMATORS[name], "crfkit.estimators"), name)
    given = [Graph({"a": 2})] if "graph" in kind._get_param_names() else []
    with pytest.raises(TypeError, match=f"^{name} has no option threads: write n_jobs=2$"):
        kind(*given, threads=2)
    with pytest.raises(ValueError, match=f"^{name} has no option seed: write random_state=2$"):
        kind(*given).set_params(seed=2)
    with pytest.raises(TypeError, match=f"^{name} has no option 'n_jbs'; did you mean 'n_jobs'"):
        kind(*given, n_jbs=2)
    with pytest.raises(ValueError, match=f"^{name} has no option 'n_jbs'; did you mean 'n_jobs'"):
        kind(*given).set_params(n_jbs=2)


#: The table of the contract, section 8.
THERE: dict[str, Any] = {
    **{"c1": 1.0, "c2": 1.0, "feature.minfreq": 2, "feature.possible_transitions": 1, "num_memories": 6},
    **{"period": 3, "algorithm": "l2sgd", "min_freq": 2, "all_possible_states": True, "verbose": True},
    **{"X_dev": [], "c": 2.0, "f": 2, "a": "MIRA", "p": 4, "template": "t.txt", "rho1": 1.0, "rho2": 1.0},
    **{"nthread": 2, "maxiter": 5, "pattern": "p", "gaussian-variance": 10, "orders": 2, "num_tags": 3},
    **{"batch_first": True, "token_mean": True, "C": 2.0, "max_iter": 5, "inference_method": "ad3"},
    **{"neighborhood": 4, "tol": 0.1, "class_weight": {"a": 2}, "n_iter_no_change": 3},
}


@pytest.mark.parametrize("name", [*ESTIMATORS, "train"])
def test_whoever_is_asked_advises_what_it_has(name: str) -> None:
    if name == "train":
        made: Any = partial(crfkit.train, ItemExtractor()(X, Y))
        own = {*signature(crfkit.train).parameters}
    else:
        kind: Any = getattr(import_module(ESTIMATORS[name], "crfkit.estimators"), name)
        own = {*kind._get_param_names()}
        made = partial(kind, Graph({"a": 2})) if "graph" in own else kind
    for option, value in THERE.items():
        if option in own:
            continue
        with pytest.raises(TypeError, match=f"^{name} has no option {re.escape(option)}: ") as caught:
            made(**{option: value})
        advice = str(caught.value)
        assert re.search(r"write \w|leave it out: |fit\(X, y, ", advice), advice
        for written in re.findall(r"(?:write |, )(\w+)=", advice.partition("fit(")[0].partition("(")[0]):
            assert written in own, advice


def test_options_that_nothing_stands_for() -> None:
    with pytest.raises(TypeError, match=r"model_filename: leave it out: models stay in memory; model.save"):
        ChainCRF(model_filename="m")
    with pytest.raises(TypeError, match=r"write l2=\.\.\."):
        ChainCRF(c2=None)
    with pytest.raises(TypeError, match="'banana'; the options are alignment, constraints, features, init"):
        ChainCRF(banana=2)


def test_scikit_learn_sees_the_real_parameters_only() -> None:
    assert "unknown" not in ChainCRF().get_params()
    assert clone(ChainCRF(structure=Chain(order=2))).structure == Chain(order=2)


def test_parameters_have_names() -> None:
    with pytest.raises(TypeError, match=r"ChainCRF takes parameters by name, as in .*; Chain\(.* has none"):
        ChainCRF(Chain(order=2))
    with pytest.raises(TypeError, match=r"as in GraphCRF\(graph, n_jobs=1\); 2 has none"):
        GraphCRF(Graph({"token": ["D", "N"]}), 2)


def test_methods_of_sklearn_crfsuite_have_hints() -> None:
    with pytest.raises(AttributeError, match=r"write predict_proba\(X\).to_dicts\(\)$"):
        ChainCRF().predict_marginals  # noqa: B018
    with pytest.raises(AttributeError, match=r"ChainCRF has no predict_single: write tag\(x\)$"):
        ChainCRF().predict_single  # noqa: B018
    for name in ("X_dev", "num_tags", "batch_first", "neighborhood"):
        with pytest.raises(TypeError, match=f"ChainCRF has no option {name}: (leave|give) it "):
            ChainCRF(**{name: 2})  # type: ignore[arg-type]
