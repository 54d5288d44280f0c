"""crfkit train --block-positions: the same models as from memory, and nothing left behind."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from crfkit.models import SequenceModel
from tests.cases.cli import folder, run

__all__ = ["folder"]


@pytest.mark.parametrize("options", [["--columns", "word,pos,chunk"], ["-t", "{f}/template"]])
def test_gradients(folder: Path, tmp_path: Path, options: list[str]) -> None:
    options = [
        *(o.replace("{f}", str(folder)) for o in options),
        "-a",
        "lbfgs",
        "--tolerance",
        "1e-9",
        "--json",
    ]
    read = ["train", folder / "train.txt", *options, "--dev", folder / "test.txt"]
    whole = json.loads(run(*read, "-o", tmp_path / "whole.crf").stdout)
    told = json.loads(run(*read, "-o", tmp_path / "parts.crf", "--block-positions", 50).stdout)
    assert told["optimizer"] == "LBFGS"
    assert told["weights"] == whole["weights"]
    assert told["loss"] == pytest.approx(whole["loss"], rel=1e-6)
    assert any("blocks on disk" in note for note in told["notes"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["parts.crf", "whole.crf"]
    tagged = [run("tag", tmp_path / name, folder / "test.txt").stdout for name in ("whole.crf", "parts.crf")]
    assert tagged[0] == tagged[1]


@pytest.mark.parametrize(
    ("name", "strengths"), [("sgd", []), ("adagrad", []), ("sgd-l1", ["--l1", "1", "--l2", "0"])]
)
def test_stochastic(folder: Path, tmp_path: Path, name: str, strengths: list[str]) -> None:
    read = ["train", folder / "train.txt", "-a", name, "--max-iterations", 5, "-q", *strengths]
    run(*read, "-o", tmp_path / "whole.crf")
    run(*read, "-o", tmp_path / "one.crf", "--block-positions", 10**6)
    run(*read, "-o", tmp_path / "parts.crf", "--block-positions", 50)
    again = [*read, "-o", tmp_path / "again.crf", "--block-positions", 50, "--checkpoint", tmp_path / "run"]
    run(*again, "--max-iterations", 2)
    run(*again)
    w = {name: SequenceModel.load(tmp_path / f"{name}.crf").w for name in ("whole", "one", "parts", "again")}
    assert w["one"].tobytes() == w["whole"].tobytes()
    assert w["parts"].tobytes() == w["again"].tobytes()
    assert w["parts"].tobytes() != w["whole"].tobytes()
    np.testing.assert_allclose(w["parts"], w["whole"], atol=1.5)


def test_several_files_and_a_pipe(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "train.txt").read_text().split("\n\n")
    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_text("\n\n".join(lines[:20]) + "\n\n")
    second.write_bytes(gzip.compress("\n\n".join(lines[20:]).encode()))
    options = ["-q", "-a", "lbfgs", "--block-positions", 50, "--columns", "word,pos,chunk"]
    run("train", first, second, "-o", tmp_path / "ab.crf", *options)
    run("train", "-", "-o", tmp_path / "pipe.crf", *options, text=(folder / "train.txt").read_text())
    whole = SequenceModel.load(folder / "m.crf")
    for name in ("ab.crf", "pipe.crf"):
        made = SequenceModel.load(tmp_path / name)
        assert made.attributes.strings() == whole.attributes.strings()
        np.testing.assert_allclose(made.w, whole.w, atol=2e-2)
    twice = [folder / "items.jsonl", folder / "items.jsonl"]
    run("train", *twice, "-o", tmp_path / "i.crf", "-q", "-a", "lbfgs", "--block-positions", 2)
    run("train", *twice, "-o", tmp_path / "j.crf", "-q", "-a", "lbfgs")
    i, j = SequenceModel.load(tmp_path / "i.crf"), SequenceModel.load(tmp_path / "j.crf")
    assert i.attributes.strings() == j.attributes.strings()
    np.testing.assert_allclose(i.w, j.w, atol=2e-2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{f}/train.txt", "-a", "gis"], "gis needs all data in memory; blocks .* for lbfgs, .* sgd, "),
        (["{f}/missing", "-a", "bcd"], "bcd needs all data in memory"),
        (["{f}/train.txt", "{f}/items.jsonl"], "give one kind"),
        (["{f}/items.jsonl", "{f}/train.txt"], "give one kind"),
        (["{f}/items.jsonl", "-t", "{f}/template"], "--features is for columns"),
        (["{f}/train.txt", "--label-column", "9"], "there is no column 9"),
        (["-", "-"], "- is given twice"),
        (["{f}/train.txt", "--block-positions", "0"], "--block-positions.*greater than or equal"),
    ],
)
def test_mistakes(folder: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    given = [a.replace("{f}", str(folder)) for a in arguments]
    if "--block-positions" not in given:
        given += ["--block-positions", "50"]
    done = run("train", *given, "-o", tmp_path / "m.crf", status=2)
    assert re.search(message, " ".join(done.stderr.split())), done.stderr
    assert not list(tmp_path.iterdir())
