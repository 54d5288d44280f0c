"""Words that a reader of the field should not have to learn, and British spellings, are not used in public.

Public are the pages of the documentation, messages, help texts and docstrings: strings in the source.
Spellings are looked for everywhere, in names and comments too. The design page stays short.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src/crfkit").rglob("*.py"))
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "cpp/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

#: British spelling -> American.
SPELLINGS = {
    r"optimis\w*": "optimiz-",
    r"(?<!para)labell(?!ikelihood)\w*": "label-",  # MALLET has a LabelLikelihood
    r"licence\w*": "license",
    r"neighbour\w*": "neighbor",
    r"colour\w*": "color",
    r"behaviour\w*": "behavior",
    r"favour\w*": "favor",
    r"centre\w*": "center",
    r"model[l](?:ed|ing)\w*": "model-",
    r"analys(?:e|ed|es|ing)\b": "analyz-",
    r"(?:normal|regular|minim|maxim|penal|initial|capital|synchron|token|factor)is(?:e|a|i)\w*": "-iz-",
    r"learnt\b": "learned",
    r"spelt\b": "spelled",
    r"artefact\w*": "artifact",
    r"\bgreys?\b": "gray",
}
#: Phrase -> what to write.
PHRASES = {
    r"\bso many\b": "a number: n, `count`, this many",
    r"\btold\b(?! apart)": "detected, given, said by",
    r"\bmay be given again\b": "repeatable",
    r"\blearn(?:s|ing|ed)? on\b": "continue training, learn from new data",
    r"\brungs?\b": "links",
    r"\bkin\b": "variants",
    r"\bwho sums\b": "inference method",
    r"\bdear\b": "expensive",
    r"(?-i:^Of [a-z][\w ]*)": "name the thing first: weights of the model, for graphs ...",
    r"(?-i:^Who [a-z]+s\b)": "what answers, the inference method",
    r"\bof now\b": "present",
}


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """Return the strings of a source, line by line; those of tests and programs in docstrings too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for i, line in enumerate(node.value.splitlines()):
                yield node.lineno + i, line.strip()


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    yield from enumerate(path.read_text().splitlines(), 1)


@cache
def pattern(table: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(table), re.IGNORECASE)


def found(lines: Iterator[tuple[int, str]], path: Path, table: dict[str, str]) -> list[str]:
    """Return where a banned word stands, and what to write instead."""
    wrong = []
    for number, line in lines:
        for match in pattern((*table,)).finditer(line):
            instead = next(better for bad, better in table.items() if re.match(bad, match[0], re.IGNORECASE))
            wrong.append(f"{path.relative_to(ROOT)}:{number}: {match[0]!r} -> {instead}: {line.strip():.120}")
    return wrong


def test_spellings_are_american() -> None:
    wrong = [text for path in (*SOURCES, *PAGES) for text in found(lines_of(path), path, SPELLINGS)]
    assert not wrong, "\n".join(wrong)


def test_sentences_use_the_words_of_the_field() -> None:
    wrong = [text for path in SOURCES for text in found(strings_of(path), path, PHRASES)]
    wrong += [text for path in PAGES for text in found(lines_of(path), path, PHRASES)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("line", "table"),
    [
        ("an optimiser of labellings", SPELLINGS),
        ("return so many rows", PHRASES),
        ("Of graph: the inference method", PHRASES),
    ],
)
def test_a_wrong_word_would_be_noticed(line: str, table: dict[str, str]) -> None:
    assert found(iter([(1, line)]), PAGES[0], table)


def test_the_design_page_is_short() -> None:
    lines = (ROOT / "docs/design.md").read_text().splitlines()
    assert len(lines) <= 180
    assert max(map(len, lines)) <= 120
