"""Strangers' text in whatever commands print: it cannot steer a terminal, break a line or crash a table."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from crfkit._safe.printable import cut, safe, shown
from crfkit.cli.commands import reported
from crfkit.cli.streams import Safe, json_line
from crfkit.metrics import span_scores, token_scores
from crfkit.training.runs.progress import Display
from tests.cases.cli import on_a_terminal, run
from tests.cases.nasty import NASTY, is_safe

NOTES = "".join(NASTY.values()).replace("\x00", "")[:500]
QUERIES = [
    ["show", "{f}/items.crf"],
    ["explain", "{f}/items.crf", "{f}/items.jsonl", "--top", "3"],
    ["evaluate", "{f}/items.crf", "{f}/items.jsonl"],
    ["rank", "{f}/columns.crf", "{f}/columns.txt"],
    ["show", "{f}/columns.crf", "--top", "2"],
    ["explain", "{f}/columns.crf", "{f}/columns.txt", "--top", "2"],
    ["features", "{f}/columns.txt", "-t", "{f}/template"],
    ["tag", "{f}/columns.crf", "{f}/columns.txt", "--json"],
    ["tag", "{f}/items.crf", "{f}/items.jsonl", "--json", "--kbest", "2"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shown")
    rows = [
        {"items": [{"w": text, text: 1.0}, ["a\tb\n" + text]], "labels": [text, "O\t\n"]}
        for text in NASTY.values()
    ]
    (made / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    texts = [text for text in NASTY.values() if not set(text) & set(" \t\n\x00\x85\u2029")]
    (made / "columns.txt").write_text("".join(f"{text}\tX\t{text}\n\n" for text in texts), newline="\n")
    (made / "template").write_text("U00:%x[0,0]\nB01:%x[0,0]\n")
    options = ["-q", "--max-iterations", "3", "--jobs", "1", "--notes", NOTES]
    options += ["--license", "\x1b[/]"]
    run("train", made / "items.jsonl", "-o", made / "items.crf", *options)
    run("train", made / "columns.txt", "-o", made / "columns.crf", *options)
    return made


def filled(words: list[str], folder: Path) -> list[str]:
    return [word.format(f=folder) for word in words]


@pytest.mark.parametrize("words", QUERIES, ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_that_is_printed_steers_a_terminal(words: list[str], as_json: bool, folder: Path) -> None:
    more = ["--json"] if as_json and "--json" not in words else []
    done = run(*filled(words, folder), *more)
    assert is_safe(done.stdout)
    assert is_safe(done.stderr)
    if as_json or "--json" in words:
        lines = done.stdout.splitlines()
        assert lines
        assert all(json.loads(line) is not None for line in lines)


def test_json_holds_the_very_text(folder: Path) -> None:
    labels = json.loads(run("show", folder / "items.crf", "--json").stdout)["labels"]
    assert {*NASTY.values()} <= {*labels}


def test_names_stay_in_their_line(folder: Path) -> None:
    lines = run("explain", folder / "items.crf", folder / "items.jsonl", "--top", "1").stdout.splitlines()
    tokens = [line for line in lines if line and not line.startswith(" ")]
    assert len(tokens) == 2 * len(NASTY)


def test_answers_for_programs_are_the_bytes_of_the_input(folder: Path) -> None:
    command = [sys.executable, "-m", "crfkit.cli", "tag", "-q", str(folder / "columns.crf")]
    done = subprocess.run([*command, str(folder / "columns.txt")], capture_output=True, check=True)
    given = (folder / "columns.txt").read_bytes().splitlines()
    assert [line.rsplit(b"\t", 1)[0] for line in done.stdout.splitlines()] == [*given[:-1], b""][: len(given)]


def test_a_terminal_sees_answers_spelled_out(folder: Path) -> None:
    seen = on_a_terminal(80, "tag", folder / "columns.crf", folder / "columns.txt")
    assert is_safe(seen)
    assert r"\u001b[2J\u001b[H" in seen


@pytest.mark.parametrize("name", NASTY)
def test_errors_show_names_of_files_spelled_out(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / NASTY[name].replace("\x00", "").replace("/", "_")[:60])
    for words in (["tag", path, path], ["show", path], ["train", path, "-o", str(tmp_path / "m.crf")]):
        said = run(*words, status=2).stderr
        assert is_safe(said)
        assert len(said.splitlines()) == 1


def test_a_file_name_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\x1b[31m"
    command = [sys.executable, "-m", "crfkit.cli", "show"]
    done = subprocess.run([*command, path], capture_output=True, check=False)
    assert done.returncode == 2
    said = done.stderr.decode().rstrip()
    assert said.endswith(r"\udcff\u001b[31m: No such file or directory; check the name")


def test_a_long_error_is_cut(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("a b\n" + "x" * 10_000_000 + "\n")
    for words in (["features", "{}", "-t", "word"], ["train", "{}", "-o", "m.crf"], ["show", "{}"]):
        said = run(*[word.format(tmp_path / "long.txt") for word in words], status=2).stderr
        assert len(said) < 2500
    said = run("train", tmp_path / "long.txt", "-o", tmp_path / "m.crf", "--objective", "y" * 10**6, status=2)
    assert len(said.stderr) < 2500


def test_an_unexpected_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from typer import Exit

    with pytest.raises(Exit) as ended, reported():
        raise KeyError("a\x1b[31m\nb")
    said = capsys.readouterr().err
    assert ended.value.exit_code == 1
    assert said.startswith("crfkit: KeyError: ")
    assert len(said.splitlines()) == 1
    assert is_safe(said)


# ---- the pieces --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NASTY)
def test_shown_is_one_safe_line_and_spells_nothing_else(name: str) -> None:
    text = NASTY[name] + "\tend\n"
    assert is_safe(shown(text))
    assert shown(text).isprintable()
    assert json.loads(json_line(text)) == text
    plain = "é 漢字 \u200d\U0001f469 \\ [x] b\u0301"
    assert shown(plain) == safe(plain) == plain


def test_a_text_is_cut_in_the_middle() -> None:
    assert len(cut("x" * 10**6, 100)) == 100
    assert cut("x" * 100, 100) == "x" * 100


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_letters_that_an_encoding_lacks_are_spelled_out(encoding: str) -> None:
    kept = io.BytesIO()
    below = io.TextIOWrapper(kept, encoding=encoding, newline="\n")
    Safe(below).write(json.dumps("é→\U0001f469", ensure_ascii=False))
    below.flush()
    assert json.loads(kept.getvalue().decode(encoding)) == "é→\U0001f469"


def test_rich_keeps_its_colors_below_safe_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    below: Any = io.StringIO()
    monkeypatch.setattr(sys, "stdout", Safe(below))
    Console(force_terminal=True, color_system="standard").print("[red]x[/red]")
    assert "\x1b[31mx" in below.getvalue()


def test_progress_shows_names_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    below: Any = io.StringIO()
    monkeypatch.setattr(sys, "stderr", Safe(below))
    Display().say("checkpoint: \x1b[2J[/]")
    assert below.getvalue() == "checkpoint: \\u001b[2J[/]\n"


def test_reports_keep_a_line_for_each_label() -> None:
    gold = [["B-a\x1b[31m\n", "I-x\ty"]]
    for report in (token_scores(gold, gold).report(), span_scores(gold, gold).report()):
        assert is_safe(report)
    assert len(token_scores(gold, gold).report().splitlines()) == 1 + 2 + 3 + 1
