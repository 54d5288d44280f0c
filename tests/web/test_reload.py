"""Models are replaced while requests run; a bad file leaves the old one serving."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from crfkit.web.models import Models
from crfkit.web.running import reload_all
from tests.cases.web import Client, client_of, items_model, saved, words_model

BODY = {"json": {"tokens": [["New", "York"]]}}
PATH = "/v1/models/words"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return client_of(saved(tmp_path, words=words_model()))


def labels(client: Client) -> tuple[str, str]:
    answer = client.post(f"{PATH}/tag", **BODY).json()
    return answer["model"]["version"], answer["results"][0]["labels"][0]


def test_a_new_file_by_renaming(client: Client, tmp_path: Path) -> None:
    models = client.state.models
    before = labels(client)
    assert models.changed() == []
    words_model(("GPE", "HUM")).save(tmp_path / "words.crf")  # renames
    assert models.changed() == ["words"]
    told: list[str] = []
    asyncio.run(reload_all(client.state, models.changed(), told.append))
    after = labels(client)
    assert (before[1], after[1]) == ("B-LOC", "B-GPE")
    assert told == [f"model words is now {after[0]}"]
    assert models.changed() == []
    assert client.state.metrics.reloads == {"new": 1}


@pytest.mark.parametrize("wrong", ["damaged", "empty", "gone", "not a model"])
def test_a_bad_file_leaves_the_old_model(client: Client, tmp_path: Path, wrong: str) -> None:
    before, path = labels(client), tmp_path / "words.crf"
    data = path.read_bytes()
    os.remove(path)
    if wrong != "gone":
        path.write_bytes({"damaged": data[:-9], "empty": b"", "not a model": b"hello"}[wrong])
    told: list[str] = []
    asyncio.run(reload_all(client.state, say=told.append))
    assert told[0].endswith("; the old model words serves on")
    assert labels(client) == before
    assert client.post(f"{PATH}/reload").status_code == 409
    assert client.state.metrics.reloads == {"failed": 2}
    assert client.state.models.changed() == []  # a bad file is tried but once
    path.write_bytes(data)
    assert client.post(f"{PATH}/reload").json()["new"] is False
    assert client.get("/health/ready").status_code == 200


def test_a_model_that_disagrees_with_itself_is_not_taken(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crfkit.web.models.Tagger.tag", lambda self, x: ["O"] * len(x))
    answer = client.post(f"{PATH}/reload")
    assert answer.status_code == 409
    assert "labels a sequence in two ways" in answer.json()["detail"]


def test_models_of_any_input_pass_the_test(tmp_path: Path) -> None:
    assert Models(saved(tmp_path, items=items_model()))["items"].reads == ["items"]


def test_models_of_graphs_are_refused(tmp_path: Path) -> None:
    from crfkit import Graph, train

    graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    batch = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    train(batch).save(tmp_path / "g.crf")
    with pytest.raises(ValueError, match="the service is for models of sequences"):
        Models({"g": str(tmp_path / "g.crf")})
