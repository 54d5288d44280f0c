"""Every estimator has the verbs of one table, and what scikit-learn asks of estimators."""

from __future__ import annotations

import inspect
import json
import pickle
import re
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import crfkit
from crfkit import Chain, ChainCRF, FeatureSelection, HiddenSequenceCRF, Likelihood, Stop, estimators
from crfkit.constraints import START, STOP, AtMost, Forbid
from crfkit.estimators.classic import KernelChainCRF
from crfkit.estimators.saving import InFiles
from crfkit.features import ItemExtractor
from crfkit.inference.graphs import GraphLabeling, GraphMarginals
from crfkit.models import SequenceModel
from crfkit.models.files import write_model
from crfkit.optimize import LBFGS
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.tags import spans, to_tags
from tests.cases.estimator_matrix import ALWAYS, REASONS, TABLE, VERBS
from tests.cases.every_estimator import CASES, Case, same

NAMES = [*estimators.ESTIMATORS]


def kind(name: str) -> Any:
    return getattr(import_module(estimators.ESTIMATORS[name], "crfkit.estimators"), name)


def test_the_table_and_the_cases_have_every_estimator() -> None:
    assert {*TABLE} == {*NAMES} == {type(one.make()).__name__ for one in CASES.values()}
    assert {name for name in NAMES if kind(name).__name__ == name} == {*NAMES}
    assert all(len(row) == len(VERBS) and {*row} <= {"y", *REASONS} for row in TABLE.values())
    assert {*REASONS} == {letter for row in TABLE.values() for letter in row} - {"y"}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", NAMES)
def test_verbs_are_there_or_absent_for_a_reason(name: str, verb: str) -> None:
    expected = TABLE[name][VERBS.index(verb)] == "y"
    if verb == "dev":
        assert ("dev" in inspect.signature(kind(name).fit).parameters) == expected
    else:
        assert hasattr(CASES[name].fitted(), verb) == expected


@pytest.mark.parametrize("verb", ALWAYS)
@pytest.mark.parametrize("name", NAMES)
def test_verbs_of_all_estimators(name: str, verb: str) -> None:
    assert callable(getattr(CASES[name].fitted(), verb, None))


@pytest.mark.parametrize("name", NAMES)
def test_clones_have_the_parameters_and_nothing_learned(name: str) -> None:
    made = CASES[name].fitted()
    copied = clone(made)
    assert not hasattr(copied, "model_")
    assert repr(copied.get_params()) == repr(made.get_params())
    assert copied.set_params(**copied.get_params(deep=False)) is copied
    own = inspect.signature(type(made).__init__).parameters
    named = [each for each, p in own.items() if p.kind is not p.VAR_KEYWORD and each != "self"]
    assert sorted(named) == sorted(made.get_params(deep=False))


@pytest.mark.parametrize("name", NAMES)
def test_parts_have_nested_parameters_and_verbs_need_a_fit(name: str) -> None:
    one = CASES[name]
    made = one.make()
    if "objective" in made.get_params(deep=False):
        assert clone(made.set_params(objective__l2=0.25)).get_params()["objective__l2"] == 0.25
        assert made._part("objective").l2 == 0.25
    for ask in (made.predict, made.score, made.save):
        with pytest.raises(NotFittedError):
            ask(one.X)


@pytest.mark.parametrize("name", CASES)
def test_the_number_of_threads_does_not_matter(name: str) -> None:
    one = CASES[name]
    alone, both = (one.make().set_params(n_jobs=n).fit(one.X, one.y).model_.w for n in (1, 2))
    assert alone.tobytes() == both.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_pickles_and_joblib_files_predict_the_same(name: str, tmp_path: Path) -> None:
    one = CASES[name]
    made = one.fitted()
    joblib.dump(made, tmp_path / "crf.joblib")
    for again in (pickle.loads(pickle.dumps(made)), joblib.load(tmp_path / "crf.joblib")):
        assert same(made.predict(one.X), again.predict(one.X))


@pytest.mark.parametrize("name", NAMES)
def test_a_grid_search_finds_parameters(name: str) -> None:
    one = CASES[name]
    made = one.make()
    grid = {"random_state": [0, 1]}
    search = GridSearchCV(made, grid, cv=2, error_score="raise")
    search.fit(one.X, one.y)
    assert same(search.predict(one.X), search.best_estimator_.predict(one.X))


SAVED = [name for name in CASES if hasattr(CASES[name].make(), "save") and name != "SemiCRF of functions"]
#: Those whose files also say which estimator it was.
NAMED = [name for name in SAVED if isinstance(CASES[name].make(), InFiles)]


def answers(one: Case, made: Any) -> list[Any]:
    """Return what an estimator or a model says of the data of a case, in the form of the estimator."""
    found = [made.predict(one.X)]
    if isinstance(made, SequenceModel) and isinstance(one.make(), HiddenSequenceCRF):
        found = [np.array([labels[0] for labels in found[0]])]
    elif hasattr(made, "predict_proba"):
        found.append(made.predict_proba(one.X))
    return [dict(each.labels) if isinstance(each, GraphLabeling) else plain(each) for each in found]


def plain(found: Any) -> Any:
    return dict(found.node) if isinstance(found, GraphMarginals) else found


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_and_loaded_predicts_the_same(name: str, tmp_path: Path) -> None:
    one, path = CASES[name], tmp_path / "m.crf"
    made = one.fitted()
    made.save(path)
    again = type(made).load(path)
    model = crfkit.load(path)
    wanted = answers(one, made)
    for other in (again, model):
        found = answers(one, other)
        assert all(same(ours, theirs) for ours, theirs in zip(wanted, found, strict=False))
        assert len(found) == len(wanted) or isinstance(made, HiddenSequenceCRF)
    assert same(getattr(made, "classes_", None), getattr(again, "classes_", None))
    labels = () if one.y is None else (one.y,)
    assert made.score(one.X, *labels) == again.score(one.X, *labels)
    if name in NAMED and hasattr(made, "explain") and not isinstance(one.X, GraphBatch):
        assert str(made.explain(one.X[0])) == str(again.explain(one.X[0])) == str(model.explain(one.X[0]))


@pytest.mark.parametrize("name", NAMED)
def test_a_file_is_the_estimator(name: str, tmp_path: Path) -> None:
    one = CASES[name]
    made = one.fitted()
    made.save(tmp_path / "m.crf")
    data = (tmp_path / "m.crf").read_bytes()
    again = type(made).load(tmp_path / "m.crf")
    assert repr(again.get_params()) == repr(made.get_params())
    assert {*vars(made)} - {"_data_held", "_since", "experts_"} == {*vars(again)} - {"_data_held", "_since"}
    assert made.n_iter_ == again.n_iter_
    equal = one.make().fit(one.X) if one.y is None else one.make().fit(one.X, one.y)
    for other in (made.model_, again, again.model_, equal, crfkit.load(tmp_path / "m.crf")):
        other.save(tmp_path / "again.crf")
        assert (tmp_path / "again.crf").read_bytes() == data


@pytest.mark.parametrize("name", NAMED)
def test_another_class_in_the_file_is_named(name: str, tmp_path: Path) -> None:
    made = CASES[name].fitted()
    made.save(tmp_path / "m.crf")
    for other in {*NAMES} - {type(made).__name__}:
        if issubclass(kind(other), InFiles):
            held = rf"m\.crf holds a fitted {type(made).__name__}, .*crfkit\.load"
            with pytest.raises(TypeError, match=held):
                kind(other).load(tmp_path / "m.crf")


def test_functions_that_prediction_needs_are_refused_by_name(tmp_path: Path) -> None:
    kernel = KernelChainCRF(kernel=rbf_kernel).fit(CASES["KernelChainCRF"].X, CASES["KernelChainCRF"].y)
    for made, why in (
        (CASES["SemiCRF of functions"].fitted(), "segment_features are functions, which a file cannot keep"),
        (kernel, "kernel is a function, which a file cannot keep"),
    ):
        for save in (made.save, made.model_.save, partial(write_model, made.model_, kind="crfsuite")):
            with pytest.raises(ValueError, match=why):
                save(tmp_path / "m.crf")
        assert not (tmp_path / "m.crf").exists()


def test_functions_of_training_are_left_out_and_listed(tmp_path: Path) -> None:
    one = CASES["ChainCRF"]

    def right(gold: list[list[str]], found: list[list[str]]) -> float:
        return float(gold == found)

    made = ChainCRF(metric=right, init=one.fitted().model_, l2=0.5).fit(one.X, one.y)
    made.save(tmp_path / "m.crf")
    again = ChainCRF.load(tmp_path / "m.crf")
    assert (again.metric, again.init, again.l2) == ("auto", None, 0.5)
    assert again.predict(one.X) == made.predict(one.X)
    assert crfkit.load(tmp_path / "m.crf").estimator.left_out == ("init", "metric")


def test_parameters_of_all_kinds_come_back(tmp_path: Path) -> None:
    one = CASES["ChainCRF"]
    apart = Chain(constraints=[Forbid(re.compile("b|c"), STOP), Forbid(START, "b")])
    made = ChainCRF(
        structure=apart,
        objective=Likelihood(l2=0.5),
        optimizer=LBFGS(memory=4),
        selection=FeatureSelection(min_count=1),
        stop=Stop(max_iterations=7),
        constraints=[AtMost("a", 9)],
        random_state=None,
    )
    labels = [["a" if t in (0, len(y) - 1) else label for t, label in enumerate(y)] for y in one.y]
    made.fit(one.X, labels)
    made.save(tmp_path / "m.crf")
    assert repr(ChainCRF.load(tmp_path / "m.crf")) == repr(made)
    assert ChainCRF.load(tmp_path / "m.crf").get_params() == made.get_params()


def test_files_that_no_estimator_wrote_are_opened_too(tmp_path: Path) -> None:
    one = CASES["ChainCRF"]
    trained = crfkit.train(ItemExtractor()(one.X, one.y), structure=Chain(order=2))
    trained.save(tmp_path / "m.crf")
    write_model(CASES["ChainCRF"].fitted().model_, tmp_path / "m.crfsuite", "crfsuite")
    own = ChainCRF.load(tmp_path / "m.crf")
    assert own.predict(one.X) == trained.predict(one.X)
    assert own.structure == Chain(order=2)
    assert ChainCRF.load(tmp_path / "m.crfsuite").predict(one.X) == crfkit.load(
        tmp_path / "m.crfsuite"
    ).predict(one.X)
    for name in ("SemiCRF", "MEMM", "HiddenChainCRF", "GraphCRF", "HiddenSequenceCRF", "BoostedCRF"):
        with pytest.raises(TypeError, match=r"m\.crf holds .*: use crfkit\.load"):
            kind(name).load(tmp_path / "m.crf")


@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name][VERBS.index("entropy")] == "y"])
def test_entropies_are_those_of_each_sample(name: str) -> None:
    one = CASES[name]
    found = np.asarray(one.fitted().entropy(one.X))
    assert found.shape == (one.X.graphs if isinstance(one.X, GraphBatch) else len(one.X),)
    assert (found >= 0.0).all()
    assert found.max() > 0.0


def flat(y: Any, one: Any) -> list[list[Any]]:
    """Return gold or predicted labels of each sequence, as reports spell them."""
    if isinstance(one.X, GraphBatch):
        named = one.fitted().model_.labels
        kinds, names = [*named], [[*each, None] for each in named.values()]
        labels = [[known[i] for i in y[k].tolist()] for known, k in zip(names, kinds, strict=True)]
        made: list[list[Any]] = [[] for _ in range(one.X.graphs)]
        for kind, each in zip(kinds, labels, strict=True):
            for n, name in zip(one.X.by_kind(one.X.graph_of)[kind].tolist(), each, strict=True):
                made[n].append(name)
        return made
    if isinstance(y, dict):
        return [[label for column in y.values() for label in column[n]] for n in range(len(one.X))]
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return [[str(a) if label else "none" for a, label in enumerate(row)] for row in y.tolist()]
    if isinstance(y[0], list) and isinstance(y[0][0], tuple):
        return [[*chain(*zip(*labels, strict=True))] for labels in y]
    if not isinstance(y[0], list):
        return [[str(label) for label in np.ravel(labels)] for labels in y]
    return [[*labels] for labels in y]


def some_of(data: Any, which: Any) -> Any:
    """Return some of the samples, as often as they are named."""
    if isinstance(data, dict):
        return {name: some_of(column, which) for name, column in data.items()}
    return [data[n] for n in which.tolist()] if isinstance(data, list) else data[which]


@pytest.mark.parametrize("name", CASES)
def test_reports_are_of_the_score_and_of_real_mistakes(name: str) -> None:
    one = CASES[name]
    made, labels = one.fitted(), () if one.y is None else (one.y,)
    N = one.X.graphs if isinstance(one.X, GraphBatch) else len(one.X)
    report = made.evaluate(one.X, *labels, groups=[n % 2 for n in range(N)])
    assert float(report) == report.score == made.score(one.X, *labels)
    assert str(report).splitlines()[-1].startswith(f"{report.metric} {report.score:.4f}")
    assert json.loads(json.dumps(report.to_dict()))["score"] == report.score
    assert report.n == N == sum(group.n for group in report.groups.values())
    assert len(report.to_frame()) == len(report.rows) + 3
    assert report.confusion.matrix.sum() == report.labels
    assert np.trace(report.confusion.matrix) == pytest.approx(report.accuracy * report.labels)
    gold = flat(one.X.by_kind(one.X.label) if one.y is None else one.y, one)
    if name in ("ChainCRF of another encoding", "SemiCRF", "SemiCRF of functions"):
        gold = [to_tags(spans(y), len(y)) for y in gold]  # an I that follows nothing begins a span
    found = flat(made.predict(one.X), one)
    wrong = [
        sum(a is not None and a != b for a, b in zip(y, z, strict=True))
        for y, z in zip(gold, found, strict=True)
    ]
    errors = report.errors(3)
    assert [error.wrong for error in errors] == sorted(filter(None, wrong), reverse=True)[:3]
    for error in errors:
        both = (error.gold, error.predicted)
        told = [[*chain(*each.values())] if isinstance(each, dict) else each for each in both]
        assert told == [gold[error.sequence - 1], found[error.sequence - 1]]
        assert str(error).startswith(f"{error.unit} {error.sequence}: {error.wrong} of ")
    times = np.arange(N) % (2 if isinstance(one.X, GraphBatch) else 3)
    often = np.repeat(np.arange(N), times)
    some, told_y = some_of(one.X, often), [some_of(y, often) for y in labels]
    weighted = made.score(one.X, *labels, sample_weight=times)
    assert weighted == pytest.approx(made.score(some, *told_y))
