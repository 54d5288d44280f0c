"""Every format that train reads, all commands that read data read too, named or guessed."""

from __future__ import annotations

import io
import json
import typing
from pathlib import Path

import pytest

import crfkit
from crfkit import data
from crfkit.cli.commands import COMMANDS, command_named
from crfkit.cli.groups.data import Data
from crfkit.data.formats.registry import find
from tests.cases.cli import run

ROWS = [[("the", "B-W"), ("dog", "I-W")], [("a", "B-W"), ("cat", "I-W"), ("ran", "B-W")]] * 6
CONLLU = "".join(
    "".join(f"{i}\t{word}\t_\t{tag}\t_\t_\t0\t_\t_\t_\n" for i, (word, tag) in enumerate(rows, 1)) + "\n"
    for rows in ROWS
)
ITEMS = "".join(
    json.dumps({"items": [[f"w={word}"] for word, _ in rows], "labels": [tag for _, tag in rows]}) + "\n"
    for rows in ROWS
)
TRAINED = ["-a", "lbfgs", "--max-iterations", "5", "-q"]


def _columns(format: str, ending: str, names: typing.Sequence[str] = ("token", "label")) -> tuple[str, bytes]:
    out = io.BytesIO()
    rows = ROWS
    if format == "segmented":
        rows = [[(word[0], tag) for word, tag in sequence] for sequence in ROWS]
    data.write(out, data.Columns.from_rows(rows, names), format)
    return f"data{ending}", out.getvalue()


def _attributes(format: str) -> tuple[str, bytes]:
    out = io.BytesIO()
    data.write(out, crfkit.read(io.BytesIO(ITEMS.encode()), "jsonl"), format)
    return "data.txt", out.getvalue()


#: The name and the content of a file in each format.
CASES: dict[str, typing.Callable[[], tuple[str, bytes]]] = {
    "columns": lambda: _columns("columns", ".txt"),
    "crfpp": lambda: _columns("crfpp", ".txt"),
    "wapiti": lambda: _columns("wapiti", ".txt"),
    "segmented": lambda: _columns("segmented", ".seg"),
    "csv": lambda: _columns("csv", ".csv"),
    "mallet": lambda: _attributes("mallet"),
    "crfsuite": lambda: _attributes("crfsuite"),
    "conllu": lambda: ("data.conllu", CONLLU.encode()),
    "parquet": lambda: _columns("parquet", ".parquet"),
    "jsonl": lambda: _columns("jsonl", ".jsonl"),
}

#: Formats whose files are not taken for columns or for CRFsuite's text where none is named.
GUESSED = {"columns", "segmented", "csv", "crfsuite", "conllu", "parquet", "jsonl"}

#: The arguments of each command: DATA, MODEL (trained on such data) and OUT are put in.
COMMAND_LINES = {
    "train": ["DATA", "-o", "OUT", *TRAINED],
    "forecast": ["DATA"],
    "tag": ["MODEL", "DATA"],
    "evaluate": ["MODEL", "DATA"],
    "cv": ["DATA", "--folds", "2", *TRAINED],
    "explain": ["MODEL", "DATA"],
    "rank": ["MODEL", "DATA"],
    "calibrate": ["MODEL", "DATA", "-o", "OUT"],
    "check": ["DATA"],
    "features": ["DATA", "-t", "COLUMN[0]"],
    "convert-data": ["DATA", "OUT"],
    "inspect": ["MODEL", "--data", "DATA", "--port", "0"],
    "card": ["MODEL", "DATA"],
}


def _reads_data(command: str) -> bool:
    hints = typing.get_type_hints(getattr(command_named(command), "__wrapped__", None) or print)
    return any(isinstance(kind, type) and issubclass(kind, Data) for kind in hints.values())


READERS = [command for command in COMMANDS if _reads_data(command)]


def test_every_format_and_every_command_has_a_case() -> None:
    assert set(CASES) == set(data.FORMATS)
    assert set(COMMAND_LINES) == set(READERS)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each format, with data and a model that was trained on them."""
    made = {}
    for format, case in CASES.items():
        folder = tmp_path_factory.mktemp(format)
        try:
            name, content = case()
        except ImportError:
            continue
        (folder / name).write_bytes(content)
        run("train", folder / name, "-f", format, "-o", folder / "m.crf", *TRAINED)
        made[format] = folder / name
    return made


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("format", data.FORMATS)
def test_a_command_reads_a_format(
    format: str, command: str, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crfkit.cli.inspect._serve", lambda *given: None)  # it would wait for Ctrl-C
    if format not in models:
        pytest.skip(f"{format} needs a package that is not here")
    path = models[format]
    column = {"segmented": "character", "conllu": "form"}.get(
        format, "token" if find(format).names_columns else "0"
    )
    words = {
        "DATA": path,
        "MODEL": path.parent / "m.crf",
        "OUT": tmp_path / "out",
        "COLUMN[0]": f"{column}[0]",
    }
    given = [words.get(word, word) for word in COMMAND_LINES[command]]
    attributes = find(format).holds == "attributes"
    status = 2 if command == "features" and attributes else 0
    named = run(command, *given, "-f", format, status=status)
    if status:
        assert "has attributes already" in named.stderr
        return
    if command == "train":
        assert (tmp_path / "out").stat().st_size
    if command == "tag":
        tagged = [line.split("\t")[-1] for line in named.stdout.split("\n")]
        gold = [label for rows in ROWS for label in [*(tag for _, tag in rows), ""]]
        assert tagged == [*gold, ""]
    if command == "rank":
        assert len(named.stdout.splitlines()) == len(ROWS)
    if command in ("tag", "rank", "explain", "features") and format in GUESSED:
        assert run(command, *given).stdout == named.stdout, "as it is guessed"


@pytest.mark.parametrize("format", [name for name in data.FORMATS if "docstart" not in find(name).options])
def test_marks_of_documents_are_skipped_only_where_there_are_some(format: str) -> None:
    with pytest.raises(ValueError, match=f"format {format} has no option 'docstart'"):
        crfkit.read(io.BytesIO(b"a"), format, docstart="skip")
