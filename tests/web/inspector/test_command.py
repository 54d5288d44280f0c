"""``crfkit inspect`` as a process: what it answers, what it refuses, and what a kill leaves."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from crfkit.web.inspector.store import Store
from tests.cases.cli import run
from tests.cases.inspector import named

RAW = ["Mia Stone went to Oslo .", "In Porto Alegre lives Leo .", "York is far from Oslo ."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    one, (X, y) = named()
    one.save(tmp_path / "names.crf")
    lines = ["".join(f"{w}\t{t}\n" for w, t in zip(*both, strict=True)) for both in zip(X, y, strict=True)]
    (tmp_path / "dev.txt").write_text("\n".join(lines))
    (tmp_path / "raw.txt").write_text("\n".join(RAW))
    return tmp_path


@contextmanager
def started(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command in a folder; yield it and its address."""
    command = [sys.executable, "-m", "crfkit", "inspect", "names.crf", "--port", "0", *more]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line + process.stderr.read()
        yield process, found[0]
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


ALL = ("--data", "dev.txt", "--columns", "w,label", "--pool", "raw.txt", "--edit")


def test_it_serves_all_pages_and_ends_by_ctrl_c(folder: Path) -> None:
    with started(folder, *ALL) as (process, address):
        for page in ("sentence?n=1", "errors", "queue", "model", "compare"):
            assert httpx.get(f"{address}/{page}", timeout=20).status_code == 200
        assert "Server" not in httpx.get(f"{address}/model").headers
        process.send_signal(signal.SIGINT)
        assert process.wait(15) in (0, 130)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_kill_9_in_the_middle_of_labeling_loses_nothing(folder: Path) -> None:
    given = []
    with started(folder, *ALL) as (process, address):
        for _ in range(2):
            page = httpx.get(f"{address}/queue", timeout=20).text
            key = re.findall(r'name="key" value="(\w+)"', page)[0]
            words = json.loads(html.unescape(re.findall(r'data-sentence="([^"]*)"', page)[0]))["words"]
            form = {"key": key, "seen": "0", "spans": json.dumps([[0, 1, "LOC"]]), "open": "[1]"}
            assert httpx.post(f"{address}/queue/label", data=form).status_code == 200
            given.append(words)
            if len(given) == 2:
                os.kill(process.pid, signal.SIGKILL)
    store = Store(folder / "raw.labels.sqlite")
    assert [(one.words, one.spans, one.open) for one in store.latest().values()] == [
        (words, [(0, 1, "LOC")], [1]) for words in given
    ]
    store.close()
    with started(folder, *ALL) as (_, address):
        page = httpx.get(f"{address}/queue", timeout=20).text
        assert "2 labeled" in page
        assert "1 sentences in the pool" in page


def test_a_port_in_use_is_said(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = run("inspect", folder / "names.crf", "--port", str(port), status=2)
    assert f"port {port} is in use, perhaps by another inspector; give another one" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.crf"], "none.crf: No such file or directory"),
        (["names.crf", "none.crf"], "none.crf: No such file or directory"),
        (["names.crf", "--data", "none.txt"], "none.txt: No such file or directory"),
        (["names.crf", "--pool", "none.txt"], "none.txt: No such file or directory"),
        (["names.crf", "--data", "raw.txt"], "raw.txt"),
        (
            ["names.crf", "--labels", "a.sqlite"],
            "--labels is where labels of a --pool are kept; give the pool too",
        ),
        (["names.crf", "--pool", "raw.txt", "--labels", "dev.txt"], "dev.txt is not a file of labels"),
        (["names.crf", "--pool", "empty.txt"], "empty.txt holds no sentence; give unlabeled text"),
        (["dev.txt"], "dev.txt"),
    ],
)
def test_wrong_arguments_are_refused(
    folder: Path, arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "empty.txt").write_text("\n\n")
    monkeypatch.chdir(folder)
    found = run("inspect", *arguments, "--port", "0", status=2)
    assert told in found.stderr
    assert "http://" not in found.stderr
