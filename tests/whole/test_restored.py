"""Copies and pickles are as good as what they were made of."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest

import crfkit
from tests.cases.restored import MADE, SCORES, X, graph_batch


def by_joblib(made: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(made, file)
    file.seek(0)
    return joblib.load(file)


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "joblib": by_joblib,
}


def used(name: str, made: Any) -> Any:
    """Return answers that depend on all of an object."""
    if name in ("Model", "ChainCRF"):
        return made.predict(X)
    if name == "Tagger":
        return [made.tag(items) for items in X], made.predict_proba(X[1]).tolist()
    if name == "CRF":
        return list(map(list, made.predict(X)))
    if name in ("GraphModel", "GraphCRF"):
        return str(made.predict(graph_batch()))
    if name == "GraphBatch":
        return str(crfkit.inference.decode(made.potentials(word=[0.0, 1.0]), threads=1))
    if name == "Dataset":
        return used("Model", crfkit.train(made, n_jobs=1))
    if name == "Batch":
        return str((made.seq_ptr, made.attr_ptr, made.attr, made.label))
    if name == "Layout":
        return made.weights, [(place.kind, place.label) for place in map(made.describe, range(made.weights))]
    if name == "Tree":
        scores = made.potentials([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0, 1.0]])
        return crfkit.inference.decode(scores).labels.tolist()
    if name in SCORES:
        found = crfkit.inference.marginals(made, threads=1)
        return str(found), str(crfkit.inference.decode(made, threads=1))
    if name == "GraphMarginals":
        return str(made), str(made.info), str(made.log_partition)
    if name in ("Number", "Numbers"):
        return np.asarray(made).tolist(), str(made.info)
    return str(made)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
def test_copies_and_pickles_answer_alike(name: str, way: str) -> None:
    made = MADE[name]()
    expected = used(name, made)
    assert used(name, WAYS[way](made)) == expected


def public() -> dict[str, type]:
    """Return the public classes that can be made without arguments."""
    found = {}
    for name in crfkit.__all__:
        kind = getattr(crfkit, name)
        if isinstance(kind, type):
            try:
                kind()
            except (TypeError, ValueError):
                continue
            found[name] = kind
    return found


@pytest.mark.parametrize("name", public())
def test_what_is_public_can_be_copied_and_pickled(name: str) -> None:
    made = public()[name]()
    for way in WAYS.values():
        assert repr(way(made)) == repr(made)


def test_weights_of_a_pickle_stay_mapped(tmp_path: Path) -> None:
    joblib.dump(MADE["Model"](), tmp_path / "m.joblib")
    assert isinstance(joblib.load(tmp_path / "m.joblib", mmap_mode="r").w, np.memmap)
