"""Every estimator has the verbs of one table, and what scikit-learn asks of estimators."""

from __future__ import annotations

import inspect
import json
import pickle
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from crfkit import estimators
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.tags import spans, to_tags
from tests.cases.estimator_matrix import ALWAYS, NOT_YET, REASONS, TABLE, VERBS
from tests.cases.every_estimator import CASES, same

NAMES = [*estimators.ESTIMATORS]


def params(*subjects: str) -> list[Any]:
    """Return all estimators with these subjects; those that are not so yet are expected to fail."""
    made = []
    for subject in subjects:
        exempt, reason = NOT_YET.get(subject, ("", ""))
        for name in NAMES:
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if name in exempt.split() else []
            made.append(pytest.param(name, subject, marks=marks, id=f"{name}-{subject}"))
    return made


def kind(name: str) -> Any:
    return getattr(import_module(estimators.ESTIMATORS[name], "crfkit.estimators"), name)


def test_the_table_and_the_cases_have_every_estimator() -> None:
    assert {*TABLE} == {*NAMES} == {type(one.make()).__name__ for one in CASES.values()}
    assert {name for name in NAMES if kind(name).__name__ == name} == {*NAMES}
    assert all(len(row) == len(VERBS) and {*row} <= {"y", *REASONS} for row in TABLE.values())
    assert {*REASONS} == {letter for row in TABLE.values() for letter in row} - {"y"}
    assert all({*exempt.split()} <= {*NAMES} for exempt, _ in NOT_YET.values())


@pytest.mark.parametrize(("name", "verb"), params(*VERBS))
def test_verbs_are_there_or_absent_for_a_reason(name: str, verb: str) -> None:
    expected = TABLE[name][VERBS.index(verb)] == "y"
    if verb == "dev":
        assert ("dev" in inspect.signature(kind(name).fit).parameters) == expected
    else:
        assert hasattr(CASES[name].fitted(), verb) == expected


@pytest.mark.parametrize(("name", "verb"), params(*ALWAYS))
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


@pytest.mark.parametrize("name", CASES)
def test_pickles_and_joblib_files_predict_the_same(name: str, tmp_path: Path) -> None:
    one = CASES[name]
    made = one.fitted()
    joblib.dump(made, tmp_path / "crf.joblib")
    for again in (pickle.loads(pickle.dumps(made)), joblib.load(tmp_path / "crf.joblib")):
        assert same(made.predict(one.X), again.predict(one.X))


@pytest.mark.parametrize(("name", "subject"), params("grid search"))
def test_a_grid_search_finds_parameters(name: str, subject: str) -> None:
    one = CASES[name]
    made = one.make()
    grid = {"random_state": [0, 1]}
    search = GridSearchCV(made, grid, cv=2, error_score="raise")
    search.fit(one.X, one.y)
    assert same(search.predict(one.X), search.best_estimator_.predict(one.X))


SAVED = [name for name in CASES if hasattr(CASES[name].make(), "save") and name != "SemiCRF of functions"]


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_and_loaded_predicts_the_same(name: str, tmp_path: Path) -> None:
    one = CASES[name]
    made = one.fitted()
    made.save(tmp_path / "m.crf")
    again = type(made).load(tmp_path / "m.crf")
    assert same(made.predict(one.X), again.predict(one.X))
    assert same(getattr(made, "classes_", None), getattr(again, "classes_", None))
    labels = () if one.y is None else (one.y,)
    assert made.score(one.X, *labels) == again.score(one.X, *labels)


def test_files_of_others_and_functions_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.crf"
    CASES["ChainCRF"].fitted().save(path)
    for name in ("SemiCRF", "MEMM", "HiddenChainCRF", "GraphCRF", "HiddenSequenceCRF"):
        with pytest.raises(TypeError, match=r"m\.crf holds .*: use crfkit\.load"):
            kind(name).load(path)
    with pytest.raises(ValueError, match="segment_features are functions, which a file cannot keep"):
        CASES["SemiCRF of functions"].fitted().save(path)


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
    assert str(report).endswith(f"{report.metric} {report.score:.4f}")
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
