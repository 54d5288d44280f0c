"""A real Label Studio asks the service, stores what it says, and trains it (`make test-integrations`).

Where its program is not installed, this is skipped; tests/web/test_tools.py has its recorded requests.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crfkit import ChainCRF, Doc
from crfkit.text import write
from tests.cases.web import served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("label-studio"), reason="no Label Studio"),
]

TOKEN = "t" * 40
CONFIG = (
    '<View><Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>'
    '<Text name="text" value="$text"/></View>'
)
TEXTS = ["\U0001f469\u200d\U0001f680 Ana lives in New York", "Oslo sings in Bo"]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("label-studio")
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "LABEL_STUDIO_USERNAME": "a@b.co",
        "LABEL_STUDIO_PASSWORD": "throwaway-1",
        "LABEL_STUDIO_USER_TOKEN": TOKEN,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "ML_BLOCK_LOCAL_IP": "false",
        "SSRF_PROTECTION_ENABLED": "false",
    }
    command = ["label-studio", "start", "--no-browser", "--port", str(port)]
    with open(folder / "log", "wb") as log:
        running = subprocess.Popen(command, env={**os.environ, **settings}, stdout=log, stderr=log)
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Token {TOKEN}"}, timeout=120
    )
    try:
        until = time.monotonic() + 600  # the first start makes its database
        while True:
            try:
                assert client.get("/api/version").status_code == 200
                break
            except httpx.HTTPError:
                assert running.poll() is None, (folder / "log").read_text()[-2000:]
                assert time.monotonic() < until, "Label Studio did not start"
                time.sleep(1)
        yield client
    finally:
        client.close()
        running.terminate()
        running.wait(30)


def wait_for(what: Any, seconds: float = 60.0) -> Any:
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.5)
    return found


def spans_of(address: str, text: str) -> list[tuple[int, int, str]]:
    answer = httpx.post(f"{address}/v1/models/names/tag", json={"text": text}).json()
    return [(one["start"], one["end"], one["label"]) for one in answer["results"][0]["spans"]]


def test_predictions_and_training(studio: httpx.Client, tmp_path: Path) -> None:
    docs = [Doc("Ana lives in New York", spans=[(0, 3, "PER"), (13, 21, "LOC")])] * 9
    docs += [Doc("\U0001f469\u200d\U0001f680 Ana lives", spans=[(4, 7, "PER")])] * 9
    ChainCRF(tokenizer="words", features="w[-1..0]").fit(docs).save(tmp_path / "names.crf")
    write(docs, tmp_path / "data.jsonl", "doccano")
    more = ["--train-folder", tmp_path / "kept", "--train-data", tmp_path / "data.jsonl"]
    with served(tmp_path / "names.crf", "--label-studio", *more) as (_, address):
        project = studio.post("/api/projects", json={"title": "names", "label_config": CONFIG}).json()["id"]
        imported = studio.post(f"/api/projects/{project}/import", json=[{"text": text} for text in TEXTS])
        assert imported.status_code == 201, imported.text
        backend = {"project": project, "url": f"{address}/label-studio", "title": "crfkit"}
        connected = studio.post("/api/ml", json=backend)
        assert connected.status_code == 201, connected.text
        listed = studio.get("/api/tasks", params={"project": project}).json()
        tasks = listed["tasks"] if isinstance(listed, dict) else listed
        studio.post(
            "/api/dm/actions",
            params={"id": "retrieve_tasks_predictions", "project": project},
            json={"selectedItems": {"all": True, "excluded": []}},
        )
        found = wait_for(lambda: [*studio.get("/api/predictions", params={"project": project}).json()])
        assert len(found) == len(TEXTS)
        by_task = {one["task"]: one for one in found}
        ids = {one["data"]["text"]: one["id"] for one in tasks}
        first = by_task[ids[TEXTS[0]]]
        assert [one["value"]["text"] for one in first["result"]] == ["Ana", "New York"]
        for one in first["result"]:
            value = one["value"]
            assert TEXTS[0][value["start"] : value["end"]] == value["text"]
        assert 0.0 < first["score"] <= 1.0
        before = httpx.get(f"{address}/v1/models/names").json()["version"]
        assert (14, 16, "PER") not in spans_of(address, TEXTS[1])
        assert first["model_version"] == before
        places = ((0, 4, "LOC"), (14, 16, "PER"))
        result = [
            {
                "from_name": "label",
                "to_name": "text",
                "type": "labels",
                "value": {"start": a, "end": b, "text": TEXTS[1][a:b], "labels": [label]},
            }
            for a, b, label in places
        ]
        made = studio.post(f"/api/tasks/{ids[TEXTS[1]]}/annotations/", json={"result": result})
        assert made.status_code == 201, made.text
        after = wait_for(
            lambda: (v := httpx.get(f"{address}/v1/models/names").json()["version"]) != before and v
        )
        assert after, "the annotation did not come"
        assert (14, 16, "PER") in spans_of(address, TEXTS[1])
