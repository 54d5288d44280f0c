"""``crfkit new``: a project that trains, tests itself, becomes a wheel, and tags."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cases.cli import run


def call(folder: Path, *words: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_project_trains_and_tags(tmp_path: Path) -> None:
    made = tmp_path / "house-numbers"
    run("new", made)
    assert "accuracy" in call(made, "train.py")
    source = {"PYTHONPATH": os.pathsep.join([str(made / "src"), os.environ.get("PYTHONPATH", "")])}
    assert "2 passed" in call(made, "-m", "pytest", "-q", "-p", "no:cacheprovider", **source)
    assert "NAME" not in (made / "pyproject.toml").read_text()
    run("check", made / "data/train.txt", made / "data/dev.txt")


def test_it_becomes_a_wheel(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    if tuple(map(int, version("setuptools").split(".")[:2])) < (70, 1):
        pytest.skip("this setuptools makes no wheels by itself")
    made = tmp_path / "our-parser"
    run("new", made, "-q")
    call(made, "train.py")
    install = ("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    call(made, *install, "--target", str(tmp_path / "site"), ".")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    told = call(
        tmp_path, "-c", "import our_parser as p; print(p.__file__, p.tag('12 Main St'))", PYTHONPATH=path
    )
    assert str(tmp_path / "site") in told
    assert "('12', 'number')" in told


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no name", "expected letters, digits"),
        ("-x", "there is no option -x"),
        ("json", "a module of Python is called json"),
        ("class", "a module of Python is called class"),
        ("crfkit", "a module of Python is called crfkit"),
        ("there", "File exists"),
        ("nowhere/x", "No such file or directory"),
    ],
)
def test_names_that_are_none(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    assert message.lower() in run("new", name, status=2).stderr.lower()
    assert not [*(tmp_path / "there").iterdir()]
