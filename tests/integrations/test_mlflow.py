"""Folders for MLflow are written without it, and answer as the model does."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from crfkit.integrations.mlflow import save
from tests.cases.web import NAMES, words_model

pd = pytest.importorskip("pandas")


def test_a_folder_is_loaded_by_its_own_words(tmp_path: Path) -> None:
    save(words_model(), tmp_path / "names")
    about = json.loads((tmp_path / "names/MLmodel").read_text())["flavors"]["python_function"]
    served = import_module(about["loader_module"])._load_pyfunc(str(tmp_path / "names" / about["data"]))
    texts = pd.DataFrame({"text": ["Ana lives in New York", ""]})
    found = served.predict(texts)
    assert [[span["text"] for span in row] for row in found] == [["Ana", "New York"], []]
    assert found[0][0]["probability"] == pytest.approx(words_model()(texts["text"][0]).spans[0].probability)
    assert served.predict(pd.DataFrame({"tokens": [NAMES[0], ["lives"]]})) == [NAMES[1], ["O"]]
    assert served.predict({"tokens": [NAMES[0]]}) == [NAMES[1]]
    with pytest.raises(ValueError, match="expected text or tokens"):
        served.predict(pd.DataFrame({"words": [1]}))
    with pytest.raises(FileExistsError):
        save(words_model(), tmp_path / "names")


def test_mlflow_loads_it(tmp_path: Path) -> None:
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    save(words_model(), tmp_path / "names")
    found = pyfunc.load_model(str(tmp_path / "names")).predict(pd.DataFrame({"text": ["in New York"]}))
    assert [span["label"] for span in found[0]] == ["LOC"]
