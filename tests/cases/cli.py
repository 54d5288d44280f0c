"""Running commands, and a folder with data and models, for the tests of the command line."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from typer.models import OptionInfo
from typer.testing import CliRunner

from crfkit.cli import app
from crfkit.cli.commands import command_named

TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB\n"


def run(*arguments: object, text: str | bytes | None = None, status: int | None = 0) -> Any:
    done = CliRunner().invoke(app, [str(a) for a in arguments], input=text)
    assert status is None or done.exit_code == status, (done.output, done.exception)
    if status == 2:
        assert "Traceback" not in done.output
    return done


def options_of(command: str) -> dict[str, tuple[str, OptionInfo]]:
    """Return the options of a command by each of their spellings, with the parameter they fill."""
    hints = get_type_hints(command_named(command), include_extras=True)
    made: dict[str, tuple[str, OptionInfo]] = {}
    for name, hint in hints.items():
        info = get_args(hint)[1] if len(get_args(hint)) > 1 else None
        if isinstance(info, OptionInfo):
            words = [info.default] if isinstance(info.default, str) else []
            made |= dict.fromkeys([*words, *(info.param_decls or ())], (name, info))
    return made


def on_a_terminal(columns: int, *arguments: object) -> str:
    """Return what a command prints where standard output and error are a terminal, without colors."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "dumb"}
    command = [sys.executable, "-m", "crfkit.cli", *map(str, arguments)]
    started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=environment)
    os.close(its)
    read = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        read += piece
    os.close(ours)
    started.wait()
    return re.sub(r"\x1b\[[0-9;]*m", "", read.decode()).replace("\r\n", "\n")


def written(count: int = 40, seed: int = 0) -> str:
    draw, lines = random.Random(seed), []
    for _ in range(count):
        for _ in range(draw.randint(1, 4)):
            noun = draw.choice(["dog", "cat", "Cats", "bird", "New York".replace(" ", "_")])
            lines += [f"{draw.choice(['the', 'a'])} DT B-NP", f"{noun} NN I-NP"]
            lines += [f"{draw.choice(['sees', 'ran'])} VB O"] * draw.randint(0, 2)
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cli")
    (made / "train.txt").write_text(written())
    (made / "test.txt").write_text(written(10, seed=5))
    (made / "template").write_text(TEMPLATE)
    (made / "empty").write_text("")
    items = [
        {"items": [{"w": w, "n": 0.5} for w in words], "labels": labels}
        for words, labels in [(["the", "dog"], ["D", "N"]), (["a", "cat", "ran"], ["D", "N", "V"])]
    ]
    (made / "items.jsonl").write_text("".join(json.dumps(one) + "\n" for one in items))
    options = ["-a", "lbfgs", "-q", "--jobs", "1"]
    run("train", made / "train.txt", "-o", made / "m.crf", "--columns", "word,pos,chunk", *options)
    run(
        "train",
        made / "train.txt",
        "-o",
        made / "t.crf",
        "-t",
        made / "template",
        "--notes",
        "hi",
        "--license",
        "CC0-1.0",
        *options,
    )
    run("train", made / "items.jsonl", "-o", made / "i.crf", *options)
    return made
