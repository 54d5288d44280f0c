"""Files that cannot be written, or must not be, are refused before anything is learned or read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.cli import folder, run

__all__ = ["folder"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with links that lead nowhere, and a file."""
    (tmp_path / "file").write_text("x")
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    os.symlink(tmp_path / "no" / "m.crf", tmp_path / "dangling")
    os.symlink(tmp_path / "new.crf", tmp_path / "link")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loop", "loop: Too many levels of symbolic links; remove the links that lead to each other"),
        ("dangling", "there is no folder .*/no; make it first"),
        ("n" * 256, "n: File name too long; give a shorter one"),
        ("file/m.crf", "there is no folder .*/file; make it first"),
    ],
)
@pytest.mark.parametrize("command", ["train", "tag", "convert"])
def test_a_place_that_cannot_be_written(
    folder: Path, place: Path, command: str, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: object, **named: object) -> None:
        raise AssertionError("the place was not tried before")

    monkeypatch.setattr("crfkit.training.train.train", never)
    monkeypatch.setattr("crfkit.models.model.SequenceModel.predict", never)
    out = place / name
    given: list[object] = {
        "train": ["train", folder / "train.txt", "-o", out],
        "tag": ["tag", folder / "m.crf", folder / "test.txt", "-o", out],
        "convert": ["convert", folder / "m.crf", out],
    }[command]
    before = sorted(os.listdir(place))
    said = run(*given, status=2).stderr
    assert re.search(words, said.replace("\n", " ")), said
    assert sorted(os.listdir(place)) == before


def test_a_link_to_a_new_file_is_written_through(folder: Path, place: Path) -> None:
    run("train", folder / "train.txt", "-o", place / "link", "--max-iterations", 2, "-q")
    assert (place / "link").is_symlink()
    assert (place / "new.crf").is_file()


@pytest.mark.parametrize(
    "given",
    [
        ["train", "data", "-o", "data"],
        ["train", "other", "data", "-o", "data"],
        ["train", "data", "-o", "again"],  # a link to it
        ["train", "data", "--dev", "other", "-o", "other"],
        ["train", "data", "-t", "template", "-o", "template"],
        ["train", "data", "--induce", "-o", "data"],
        ["tag", "m.crf", "data", "-o", "data"],
        ["tag", "m.crf", "data", "-o", "m.crf"],
        ["calibrate", "m.crf", "data", "-o", "data"],
    ],
)
def test_what_is_read_is_not_written_over(folder: Path, tmp_path: Path, given: list[str]) -> None:
    for name, copied in (("data", "train.txt"), ("other", "test.txt"), ("m.crf", "m.crf")):
        shutil.copy(folder / copied, tmp_path / name)
    shutil.copy(folder / "template", tmp_path)
    os.link(tmp_path / "data", tmp_path / "again")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    names = {*before, "new.crf"}
    said = run(*[tmp_path / one if one in names else one for one in given], status=2).stderr
    assert "which is read too; give the name of another file" in said.replace("\n", " ")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["file", "loop", "dangling", "file/below"])
def test_checkpoints_need_a_folder(folder: Path, place: Path, name: str) -> None:
    given = ["train", folder / "train.txt", "-o", place / "m.crf", "--checkpoint", place / name]
    said = run(*given, status=2).stderr.replace("\n", " ")
    assert f"{place / name}: is not a folder; give the name of one" in said
    assert not (place / "m.crf").exists()


@pytest.mark.parametrize("options", [["-o", "m.crf"], ["-o", "m.crf", "--block-positions", "50"]])
def test_a_folder_that_is_gone(folder: Path, tmp_path: Path, options: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os; os.rmdir({str(gone)!r}); from crfkit.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "train", str(folder / "train.txt"), *options],
        cwd=gone,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stderr == "crfkit: the folder that crfkit was started in is gone; change to another\n"
    assert done.returncode == 2
