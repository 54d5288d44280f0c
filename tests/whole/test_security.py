"""The bounds that SECURITY.md states are those of the code."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "SECURITY.md").read_text()
UNITS = {"": 1, "MiB": 1 << 20, "GiB": 1 << 30}
BOUNDS = re.findall(r"^\| [^|]+ \| ([\d,]+) ?(MiB|GiB|) \| `([\w.]+)\.(\w+)` \|$", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize(("number", "unit", "module", "name"), BOUNDS)
def test_a_bound_is_that_of_the_code(number: str, unit: str, module: str, name: str) -> None:
    assert int(number.replace(",", "")) * UNITS[unit] == getattr(import_module(module), name)


def test_every_row_is_read() -> None:
    rows = PAGE.split("| --- | --- | --- |\n")[1].split("\n\n")[0].splitlines()
    assert len(rows) == len(BOUNDS) > 5
