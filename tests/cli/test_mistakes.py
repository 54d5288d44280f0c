"""Mistakes at the command line, help, and how quickly it starts."""

from __future__ import annotations

import errno
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from crfkit.cli.commands import COMMANDS, command_named, reported
from crfkit.cli.plain_arguments import arguments_of
from tests.cases.cli import folder, run

__all__ = ["folder"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "{f}/train.txt", "-o", "{f}/no/m.crf"], "there is no folder .*no; make it first"),
        (["train", "{f}/train.txt", "-o", "{f}"], "is a folder"),
        (["train", "{f}/missing", "-o", "{f}/x"], "missing: No such file"),
        (["train", "{f}/train.txt", "-o", "{f}/x", "-a", "lbgfs"], "did you mean 'lbfgs'"),
        (["train", "{f}/train.txt", "-o", "{f}/x", "--selection", "most"], "'most', expected observed, all"),
        (["train", "{f}/train.txt", "-o", "{f}/x", "--scheme", "bioo"], "is 'bioo', expected one of bio"),
        (
            ["train", "{f}/train.txt", "-o", "{f}/x", "--label-column", "9"],
            "there is no column 9; .* 0, 1, 2",
        ),
        (["train", "{f}/train.txt", "-o", "{f}/x", "--columns", "a,b"], "3 columns but 2 names"),
        (["train", "{f}/train.txt", "-o", "{f}/x", "--columns", "a,,b"], "expected names between commas"),
        (["train", "{f}/train.txt", "-o", "{f}/x", "--metric", "f1"], "give one with --dev"),
        (["train", "{f}/train.txt", "-o", "{f}/x", "-f", "xml"], "there is no format 'xml'"),
        (["train", "{f}/train.txt", "{f}/items.jsonl", "-o", "{f}/x"], "give one kind"),
        (["train", "{f}/items.jsonl", "-o", "{f}/x", "-t", "{f}/template"], "--features is for columns"),
        (
            ["train", "{f}/train.txt", "-o", "{f}/x", "--init", "{f}/train.txt"],
            "is not a model that crfkit knows",
        ),
        (["tag", "{f}/train.txt", "{f}/test.txt"], "is not a model that crfkit knows"),
        (["tag", "{f}/m.crf", "{f}/items.jsonl"], "have attributes already"),
        (["tag", "{f}/i.crf", "{f}/m.crf"], "is a binary file"),
        (["tag", "{f}/m.crf", "{f}/test.txt", "--print", "proba", "-k", "2"], "give one of them"),
        (["tag", "{f}/m.crf", "{f}/test.txt", "-f", "xml"], "no format 'xml'; the formats are columns"),
        (["evaluate", "{f}/m.crf"], "give MODEL and DATA"),
        (["evaluate", "{f}/m.crf", "{f}/test.txt", "-m", "f2"], "f2"),
        (
            ["evaluate", "--predicted", "{f}/test.txt", "--predicted", "{f}/train.txt"],
            "differ in their gold labels",
        ),
        (["evaluate", "{f}/m.crf", "{f}/test.txt", "--scheme", "xyz"], "'xyz', expected one of lenient"),
        (["show", "{f}/m.crf", "--label", "B-NB"], "did you mean 'B-NP'"),
        (["convert", "{f}/m.crf", "{f}/x", "--to", "mallet"], "'mallet', expected one of crfkit, crfsuite"),
        (["convert", "{f}/m.crf", "{f}/x", "--to", "wapiti"], "and Wapiti knows only its own; train with a"),
        (["convert", "{f}/m.crf", "{f}/x.crfsuite", "--float32"], "--float32 is for models of crfkit"),
        (["convert", "{f}/train.txt", "{f}/x"], "is not a model that crfkit knows; .* with --from"),
        (["convert", "{f}/m.crf", "{f}"], "TARGET is .*, which is a folder"),
        (["tag", "{f}/m.crf", "{f}/test.txt", "-o", "{f}/no/x"], "--output is .*; make it first"),
        (["tag", "{f}/m.crf", "{f}"], "is a folder; give a file"),
        (["evaluate", "{f}/m.crf", "{f}/m.crf"], "binary file, such as a model"),
        (["evaluate", "{f}/m.crf", "{f}/test.txt", "--label-column", "7"], "no column 7; .* with --label"),
        (["features", "{f}/empty", "-t", "0[0]"], "holds no sequence; give data"),
        (["evaluate", "{f}/m.crf", "{f}/empty"], "holds no sequence; give labeled data"),
        (["tag", "{f}/i.crf", "{f}/test.txt", "--separator", "tab"], "no recipe that makes attributes"),
        (["cv", "{f}/items.jsonl", "--folds", "9"], "has only 2 sequences; give fewer parts"),
    ],
)
def test_mistakes_are_told(folder: Path, arguments: list[str], message: str) -> None:
    before = sorted(folder.iterdir())
    done = run(*[a.replace("{f}", str(folder)) for a in arguments], status=2)
    told = done.stderr.splitlines()[-1]
    assert told.startswith("crfkit: ")
    assert re.search(message, told), told
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [(os.strerror(errno.ENOSPC), "; make room, or write elsewhere"), ("not saved; make room", "")],
)
def test_one_remedy_is_enough(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), reported():
        raise OSError(errno.ENOSPC, words, "m.crf")
    assert capsys.readouterr().err == f"crfkit: m.crf: {words}{told}\n"


def test_pickles_are_named(folder: Path, tmp_path: Path) -> None:
    given = tmp_path / "m.pkl"
    given.write_bytes(pickle.dumps({"w": 1.0}))
    for command in (["convert", given, tmp_path / "x"], ["tag", given, folder / "test.txt"]):
        assert "m.pkl is a Python pickle, not a model file; if you trust" in run(*command, status=2).stderr


def test_a_missing_column(folder: Path) -> None:
    done = run("tag", folder / "m.crf", status=2, text="the\ndog\n")
    assert "standard input, line 1: has 1 column, but" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name: str) -> None:
    assert f"crfkit {name} " in run(name, "--help").stdout.split("For example")[1]


def test_wrong_usage() -> None:
    run("nothing", status=2)
    run("tag", status=2)
    run("tag", "m", "--kbest", "0", status=2)


def test_plain_command_lines_are_read_alike() -> None:
    tag, train = command_named("tag"), command_named("train")
    assert arguments_of(tag, ["m", "-k", "3", "--given"]) == {"model": "m", "kbest": 3, "given": True}
    made = arguments_of(train, ["a", "b", "--output", "m", "--l2", "0.5", "--optimizer", "sgd"])
    assert made == {"data": ["a", "b"], "output": "m", "l2": 0.5, "optimizer": "sgd"}
    for given in (["m", "-k", "0"], ["m", "-k"], ["--help"], [], ["m", "d", "e"], ["m", "--kbest=2"]):
        assert arguments_of(tag, given) is None
    assert arguments_of(train, ["a"]) is None


#: What `crfkit tag` has no use for with columns and a model of its own.
NOT_FOR_TAGGING = {
    *("rich", "pydantic", "scipy", "sklearn", "safetensors", "pandas", "pyarrow", "matplotlib"),
    *("crfkit.optimize", "crfkit.objectives", "crfkit.training.train", "crfkit.estimators", "crfkit.metrics"),
    *(
        "crfkit.models.files.crfsuite",
        "crfkit.models.files.crfpp",
        "crfkit.models.files.wapiti",
        "crfkit.models.files.mallet",
    ),
    *("crfkit.data.formats.tables", "crfkit.data.formats.jsonlines", "crfkit.data.formats.crfsuite_text"),
    *("crfkit.data.formats.csv_text", "crfkit.data.formats.json_array", "crfkit.data.formats.json_written"),
    *("crfkit.data.formats.mallet_text", "crfkit.features.items", "crfkit.cli.train", "crfkit.cli.evaluate"),
    *(
        "crfkit.inference.constrained.kinds",
        "crfkit.inference.constrained.decoding",
        "crfkit.training.events",
    ),
    *("crfkit.structures.tree", "crfkit.structures.graphs.potentials", "crfkit.text.alignment", "secrets"),
}


def test_tag_loads_what_it_needs(folder: Path) -> None:
    command = [sys.executable, "-m", "crfkit.cli", "tag", str(folder / "m.crf"), "--print", "labels"]
    code = "import sys, crfkit.cli.commands; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "rich", "pydantic"} & set(loaded.stdout.split())
    code = "import sys; from crfkit.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    tagging = [sys.executable, "-c", code, *command[3:]]
    tagged = subprocess.run(tagging, input="the DT\n", capture_output=True, text=True, check=True)
    assert tagged.stdout == "B-NP\n\n"
    loaded_by_tag = set(tagged.stderr.split())
    assert {"numpy", "crfkit.models.model"} <= loaded_by_tag
    assert not loaded_by_tag & NOT_FOR_TAGGING
