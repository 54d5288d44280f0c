"""Commands and options that README, docs and help name exist, and every command is in the docs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from crfkit.cli.commands import COMMANDS, command_named
from tests.cases.cli import options_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CALL = re.compile(r"(?<![\w/.-])crfkit ([a-z]+)((?: (?!\| )[^`\n;#)]*)?)")


def calls(text: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a text, each with its options."""
    found = []
    for name, rest in CALL.findall(text):
        if name in COMMANDS or " -" in rest:
            found.append((name, re.findall(r"(?<=\s)(--?[a-z][a-z0-9-]*)", rest.partition("|")[0])))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_pages_name_exists(page: Path) -> None:
    for name, options in calls(page.read_text()):
        assert name in COMMANDS
        known = {word for words in options_of(name) for word in words.split("/")} | {
            "--help",
            "-h",
            "--no-header",
        }
        assert {*options} <= known, name


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_the_help_have_options_that_exist(command: str) -> None:
    found = calls(inspect.getdoc(command_named(command)) or "")
    assert found
    for name, options in found:
        assert {*options} <= {*options_of(name)}, name


def test_every_command_is_in_the_docs() -> None:
    text = "".join(page.read_text() for page in PAGES)
    assert [name for name in COMMANDS if not re.search(rf"crfkit {name}\b", text)] == []


def test_a_page_with_an_old_option_would_fail() -> None:
    ((name, options),) = calls("as `crfkit tag m.crf --labels-only` does")
    assert (name, options) == ("tag", ["--labels-only"])
    assert "--labels-only" not in options_of(name)
