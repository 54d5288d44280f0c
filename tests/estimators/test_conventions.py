"""ChainCRF keeps the conventions of scikit-learn."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import crfkit
from crfkit import Chain, ChainCRF, FeatureSelection, Likelihood, Stop, metrics
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor, Recipe
from crfkit.linear.features import Likely
from crfkit.optimize import LBFGS
from crfkit.structures.constraints import Forbid
from tests.cases.estimators import W_TEST, X_TEST, Y_TEST, W, X, Y, crf, fitted


class Items(BaseEstimator):
    """Words to items, as a step of a pipeline."""

    def __init__(self, length: bool = True) -> None:
        self.length = length

    def fit(self, X: Any, y: Any = None) -> Items:
        return self

    def transform(self, X: Any) -> Any:
        return [[{"w": w, **({"long": len(w)} if self.length else {})} for w in s] for s in X]


# ---- parameters -----------------------------------------------------------------------------------


def test_parameters_are_stored_as_they_are_and_cloned() -> None:
    options = {"objective": Likelihood(l2=0.3), "optimizer": LBFGS(memory=3), "structure": Chain(order=2)}
    made = ChainCRF(**options)  # type: ignore[arg-type]
    for name, value in options.items():
        assert getattr(made, name) is value
    copied = clone(made)
    assert copied is not made
    assert copied.get_params() == made.get_params()
    assert not hasattr(clone(fitted()), "model_")
    ruled = Chain(constraints=(Forbid("a", "b"),))
    assert clone(ChainCRF(structure=ruled)).structure == ruled
    assert len(ChainCRF().get_params(deep=False)) <= 22  # three say how raw text is read


def test_nested_parameters_of_frozen_parts() -> None:
    made = ChainCRF(objective=Likelihood(), optimizer=LBFGS(memory=6), selection=FeatureSelection(Likely()))
    params = made.get_params()
    assert params["objective__l2"] == 1.0
    assert params["optimizer__memory"] == 6
    assert params["selection__which__epsilon"] == 0.01
    assert "objective__l2" not in made.get_params(deep=False)
    assert not any(
        name.startswith("features__") for name in ChainCRF(features=Recipe.parse("w[0]")).get_params()
    )
    before = made.objective
    assert made.set_params(objective__l2=2.0, optimizer__memory=9, structure__order=0) is made
    assert (made.objective, made.optimizer, made.structure) == (
        Likelihood(l2=2.0),
        LBFGS(memory=9),
        Chain(order=0),
    )
    assert before == Likelihood()
    assert ChainCRF().objective is None
    assert ChainCRF().set_params(objective__l2=2.0).objective == Likelihood(l2=2.0)
    made.set_params(objective__l1=1.0, objective=Likelihood(l2=7.0))  # the whole first, as in scikit-learn
    assert made.objective == Likelihood(l1=1.0, l2=7.0)
    assert made.set_params() is made


def test_nested_parameters_of_words_that_are_short_for_objects() -> None:
    made = ChainCRF(structure="chain", selection="all", objective="likelihood")
    made.set_params(structure__order=2, selection__min_count=3, objective__l2=0.5, stop__max_iterations=9)
    assert made.structure == Chain(order=2)
    assert made.selection == FeatureSelection("all", min_count=3)
    assert (made.objective, made.stop) == (Likelihood(l2=0.5), Stop(max_iterations=9))
    with pytest.raises(ValueError, match="min_count is -1, expected 0 or more"):
        made.set_params(selection__min_count=-1)
    with pytest.raises(ValueError, match="Invalid parameter 'ordr' of structure, a Chain"):
        made.set_params(structure__ordr=1)


def test_parameters_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="ChainCRF has no option 'l3'; the options are alignment, "):
        ChainCRF().set_params(l3=1.0)
    with pytest.raises(ValueError, match=r"ChainCRF has no option c2: write l2=2\.0"):
        ChainCRF().set_params(c2=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'c2' of objective, a Likelihood"):
        ChainCRF().set_params(objective__c2=1.0)
    with pytest.raises(ValueError, match="optimizer is 'auto', which has no parameters"):
        ChainCRF().set_params(optimizer__memory=1)
    with pytest.raises(TypeError, match="l3"):
        ChainCRF(l3=1.0)


def test_flat_parameters_are_fields_of_parts() -> None:
    flat = crf(l1=0.1, l2=0.5, order=2, min_count=1, max_iterations=20)
    parts = crf(
        objective=Likelihood(l1=0.1, l2=0.5),
        structure=Chain(order=2),
        selection=FeatureSelection(min_count=1),
        stop=Stop(max_iterations=20),
    )
    assert flat.fit(X, Y).model_.w.tobytes() == parts.fit(X, Y).model_.w.tobytes()
    assert flat.fit(X, Y).n_iter_ <= 20
    named = crf(objective="max-margin", l2=0.25, structure="chain", order=0, stop=Stop(max_iterations=5))
    assert named._part("objective").l2 == 0.25
    assert named.fit(X, Y).model_.layout.order == 0
    search = GridSearchCV(crf(), {"l2": [0.1, 1000.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"l2": 0.1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"l2": 2.0, "objective": Likelihood()},
            r"l2=2.0 is given beside objective=Likelihood\(...\), which has l2 too: write "
            r"objective=Likelihood\(l2=2.0\)",
        ),
        ({"order": 2, "structure": Chain()}, r"order=2 is given beside structure=Chain\(...\)"),
        (
            {"min_count": 2, "selection": FeatureSelection()},
            r"write selection=FeatureSelection\(min_count=2\)",
        ),
        ({"max_iterations": 2, "stop": Stop()}, r"write stop=Stop\(max_iterations=2\)"),
        ({"l2": 2.0, "objective": "perceptron"}, "l2 is 2.0, but Perceptron has no l2: leave it out"),
        ({"l1": 2.0, "optimizer": "pa"}, "l1 is 2.0, but Perceptron has no l1"),
    ],
)
def test_flat_parameters_beside_parts(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crf(**options).fit(X, Y)


def test_all_cores_and_random_states_are_spelled_as_in_scikit_learn() -> None:
    one = crf(n_jobs=1, optimizer="sgd", random_state=3, max_iterations=3).fit(X, Y)
    every = crf(n_jobs=-1, optimizer="sgd", random_state=3, max_iterations=3).fit(X, Y)
    assert one.model_.w.tobytes() == every.model_.w.tobytes()
    drawn = [crf(optimizer="sgd", random_state=None, max_iterations=1).fit(X, Y).model_.w for _ in range(2)]
    assert not np.array_equal(drawn[0], drawn[1])


def test_repr_shows_what_differs() -> None:
    assert repr(ChainCRF()) == "ChainCRF()"
    assert (
        repr(ChainCRF(structure=Chain(order=2), random_state=3))
        == "ChainCRF(random_state=3, structure=Chain(labels=(), order=2, constraints=()))"
    )
    assert "l2=0.5" in repr(ChainCRF(objective=Likelihood(l2=0.5)))
    assert "ChainCRF" in ChainCRF()._repr_html_()


def test_tags() -> None:
    tags = get_tags(ChainCRF())
    assert tags.target_tags.required
    assert not tags.input_tags.two_d_array
    assert not is_classifier(ChainCRF())


def test_fit_leaves_the_parameters_alone() -> None:
    made = crf()
    before = made.get_params()
    assert made.fit(X, Y) is made
    assert made.get_params() == before
    learned = {name for name in vars(made) if name.endswith("_")}
    assert learned == {"model_", "classes_", "n_iter_"}
    assert made.classes_.tolist() == list(made.model_.labels)
    assert made.n_iter_ > 0
    check_is_fitted(made)


# ---- scikit-learn's tools -------------------------------------------------------------------------


GRID = {
    "objective__l2": [0.1, 1000.0],
    "structure__order": [0, 1],
    "selection__min_count": [0, 1],
    "stop__max_iterations": [60],
}


def test_grid_search_over_the_penalty_in_processes() -> None:
    search = GridSearchCV(crf(), GRID, n_jobs=2, cv=2)
    search.fit(X, Y)
    assert search.best_params_["objective__l2"] == 0.1
    assert search.best_estimator_.objective.l2 == 0.1
    assert search.score(X_TEST, Y_TEST) == 1.0
    assert search.predict(X_TEST) == Y_TEST


def test_cross_validation_with_scorers_and_groups() -> None:
    scoring = {"sequences": metrics.scorer("sequence_accuracy"), "f1": metrics.scorer("f1_macro")}
    found = cross_validate(crf(), X, Y, cv=GroupKFold(3), groups=np.arange(24) % 3, scoring=scoring)
    assert np.mean(found["test_sequences"]) > 0.9
    assert np.mean(found["test_f1"]) > 0.9
    assert cross_val_score(crf(), X, Y, cv=2).shape == (2,)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_val_predict_keeps_sequences_whole(n_jobs: int | None) -> None:
    found = cross_val_predict(crf(), X, Y, cv=3, n_jobs=n_jobs)
    assert found.shape == (24,)
    assert [len(labels) for labels in found] == [len(labels) for labels in Y]
    assert metrics.token_scores(Y, found).accuracy > 0.9
    ends = [x[-1:] for x in X], [y[-1:] for y in Y]  # of equal length: plain lists would become a matrix
    assert cross_val_predict(crf(), *ends, cv=3).shape == (24,)
    pipe = make_pipeline(Items(), crf())
    assert cross_val_predict(pipe, W, Y, cv=2).shape == (24,)
    with pytest.raises(TypeError, match="array of objects"):
        np.asarray(fitted().predict(X), dtype=float)


def test_metadata_routing() -> None:
    weight, groups = np.ones(24), np.arange(24) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        asking = crf().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(
            asking, X, Y, cv=GroupKFold(3), params={"sample_weight": weight, "groups": groups}
        )
        assert np.mean(found["test_score"]) > 0.9
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(crf(), X, Y, cv=2, params={"sample_weight": weight})
    search = GridSearchCV(crf(), {"selection__start": [True]}, cv=2).fit(X, Y, sample_weight=weight)
    assert search.best_score_ > 0.9


def test_pipeline() -> None:
    pipe = make_pipeline(Items(), crf())
    pipe.set_params(chaincrf__objective__l2=0.5, items__length=False)
    assert pipe.named_steps["chaincrf"].objective.l2 == 0.5
    assert pipe.fit(W, Y).predict(W_TEST) == Y_TEST
    assert pipe.score(W_TEST, Y_TEST) == 1.0
    grid = GridSearchCV(Pipeline([("x", Items()), ("y", crf())]), {"y__objective__l2": [0.1, 1.0]}, cv=2)
    assert grid.fit(W, Y).predict(W_TEST) == Y_TEST


@pytest.mark.parametrize("template", [None, "w[-1..1]; suffix(w, 1)[0]; edge: w[0]"])
def test_pickle_deepcopy_and_joblib(template: str | None, tmp_path: Path) -> None:
    train, test = (X, X_TEST) if template is None else (W, W_TEST)
    made = crf(features=template).fit(train, Y)
    joblib.dump(made, tmp_path / "crf.joblib")
    copies = [pickle.loads(pickle.dumps(made)), copy.deepcopy(made)]
    copies += [joblib.load(tmp_path / "crf.joblib", mmap_mode=mode) for mode in (None, "r")]
    for other in copies:
        data = other.model_.dataset(test)
        assert data.attributes is other.model_.attributes  # no renaming at each prediction
        assert other.predict(test) == made.predict(test)
        np.testing.assert_array_equal(other.model_.w, made.model_.w)
        assert clone(other).get_params() == made.get_params()
    parts = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(made.predict)([x]) for x in test)
    assert [one for part in parts for one in part] == made.predict(test)


def test_lazy_name() -> None:
    assert crfkit.ChainCRF is ChainCRF
    assert "ChainCRF" in dir(crfkit)
    assert isinstance(ItemExtractor()(X), Dataset)
    assert isinstance(ItemExtractor()(X).batch, Batch)
