"""``crfkit serve`` as a process: start, tag, reload, end; and what it says when it cannot start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from crfkit.web import SETTINGS, Settings
from tests.cases.cli import options_of, run
from tests.cases.web import ask, saved, served, words_model


def test_start_tag_reload_end(tmp_path: Path) -> None:
    saved(tmp_path, words=words_model())
    with served(tmp_path / "words.crf", "--drain", "0.2", "--watch", "0.1") as (process, address):
        body = {"text": "Ana lives in New York"}
        first = ask(address, "/v1/models/words/tag", body).json()
        assert [span["label"] for span in first["results"][0]["spans"]] == ["PER", "LOC"]
        assert ask(address, "/health/ready").status_code == 200
        words_model(("GPE", "HUM")).save(tmp_path / "words.crf")
        until = time.monotonic() + 20
        again: Any = first
        while again["model"] == first["model"] and time.monotonic() < until:
            time.sleep(0.05)
            again = ask(address, "/v1/models/words/tag", body).json()
        assert [span["label"] for span in again["results"][0]["spans"]] == ["HUM", "GPE"]
        os.remove(tmp_path / "words.crf")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        while "serves on" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def refused(*arguments: object) -> str:
    """Return what ``crfkit serve`` says where it does not start."""
    said: str = run("serve", *arguments, status=2).stderr
    return said


def test_what_cannot_be_served(tmp_path: Path) -> None:
    model = saved(tmp_path, words=words_model())["words"]
    (tmp_path / "bad").write_text("hello")
    (tmp_path / "tokens").write_text("# none\n")
    assert "no.crf" in refused(tmp_path / "no.crf", "--port", 0)
    assert "is not a model" in refused(f"bad={tmp_path / 'bad'}", "--port", 0)
    assert "give --token-file or --insecure" in refused(model, "--host", "0.0.0.0")
    assert "has no token" in refused(model, "--token-file", tmp_path / "tokens")
    assert "--max-tokens is 0, expected 1 or more" in refused(model, "--max-tokens", 0)
    assert "--port is 70000" in refused(model, "--port", 70000)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot serve on 127.0.0.1:{port}: Address already in use; give another" in refused(
            model, "--port", port
        )


def test_a_missing_extra_is_one_sentence(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv[1:] = ['serve', 'x.crf']\n"
        "from importlib import util; find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'uvicorn' else find(name, *more)\n"
        "from crfkit.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "crfkit: crfkit serve needs more packages; install them with: pip install 'crfkit[serve]'\n"
    )


def test_settings_are_options_and_documented() -> None:
    options = {word for word in options_of("serve") if word.startswith("--")}
    assert options - {"--quiet"} == {one.flag for one in SETTINGS}
    page = (Path(__file__).parents[2] / "docs/how-to/serve.md").read_text()
    assert [one.flag for one in SETTINGS if f"`{one.flag}" not in page] == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("127.0.0.1", "::1", "localhost")),
        ({"host": "0.0.0.0", "insecure": True}, ("*",)),
        ({"host_names": "crf.example.org, *"}, ("crf.example.org", "*")),
    ],
)
def test_hosts_that_are_meant(given: Any, expected: tuple[str, ...]) -> None:
    assert Settings(**given).allowed_hosts == expected


def test_importing_the_command_line_loads_nothing_of_the_service() -> None:
    code = "import sys, crfkit, crfkit.cli, crfkit.cli.commands; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"crfkit.web", "starlette", "uvicorn", "msgspec"} & {*loaded.split()}
