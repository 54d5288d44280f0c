"""Test files share makers through tests/cases and know nothing of each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py"))
IMPORT = re.compile(r"\b(?:from|import) +(tests\b[.\w]*)(?: +import +(\w+))?")


def foreign(text: str, file: str) -> list[str]:
    """What a file imports of tests and must not, in its own lines or in programs that it quotes.

    It may import tests.cases, and a program that lies beside it, such as tests.whole.stubs.
    """
    found = [f"{module}.{name}" if name else module for module, name in IMPORT.findall(text)]
    beside = re.compile(rf"tests\.{Path(file).parent.name}\.(?!test_)")
    return [module for module in found if not (module.startswith("tests.cases.") or beside.match(module))]


def test_a_file_imports_cases_and_never_another_test_file() -> None:
    found = {file: foreign((TESTS / file).read_text(), file) for file in {*FILES} - {"whole/test_rooms.py"}}
    assert {file: names for file, names in found.items() if names} == {}, "move what is shared to tests/cases"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("from tests.cases.items import one", []),
        ("from tests.cases import items", []),
        ("from tests.whole.stubs import run", []),
        ("from tests.whole.test_stubs import run", ["tests.whole.test_stubs.run"]),
        ("from tests.whole import test_stubs", ["tests.whole.test_stubs"]),
        ("from tests.cli.programs import run", ["tests.cli.programs.run"]),
        ('CHILD = "import sys; import tests.cli.test_tag"', ["tests.cli.test_tag"]),
        ("from tests import cases", ["tests.cases"]),
    ],
)
def test_the_rule_can_fail(line: str, wrong: list[str]) -> None:
    assert foreign(line, "whole/test_x.py") == wrong


def test_every_file_has_a_room() -> None:
    assert [file for file in FILES if "/" not in file] == ["conftest.py"]
