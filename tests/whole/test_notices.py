"""The wheel brings the notices of all code that is linked into it, and of data."""

from __future__ import annotations

import re
from importlib.metadata import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTICES = ROOT / "licenses"
nanobind = pytest.importorskip("nanobind")


def test_the_wheel_is_told_to_hold_all_notices() -> None:
    line = re.search(r"^license-files = \[(.*)\]", (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    assert line
    listed = {path for glob in re.findall(r'"(.*?)"', line[1]) for path in ROOT.glob(glob)}
    assert listed == {
        ROOT / "LICENSE",
        NOTICES / "htmx.txt",
        NOTICES / "nanobind.txt",
        NOTICES / "robin_map.txt",
        NOTICES / "unicode.txt",
        NOTICES / "usaddress.txt",
    }
    assert set(NOTICES.iterdir()) < listed


def test_the_installed_package_holds_them() -> None:
    names = {path.name for path in files("crfkit") or () if ".dist-info" in str(path)}
    assert {"LICENSE", "nanobind.txt", "robin_map.txt"} <= names


def test_the_notice_of_nanobind_is_its_own() -> None:
    own = [path for path in files("nanobind") or () if path.name == "LICENSE"]
    assert (NOTICES / "nanobind.txt").read_text() == own[0].read_text()


def test_the_notices_of_what_nanobind_brings_are_there() -> None:
    """Each folder of ``ext`` is the code of somebody else."""
    folder = Path(nanobind.__file__).parent / "ext"
    assert [path.name for path in folder.iterdir()] == ["robin_map"]
    header = (folder / "robin_map" / "include" / "tsl" / "robin_map.h").read_text()
    comment = header[: header.index("*/")]
    own = " ".join(line.strip(" /*") for line in comment.splitlines()).split()
    assert (NOTICES / "robin_map.txt").read_text().split() == own
