"""What README, tutorials and how-to pages show is what their programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.pages import PAGES, ROOT, one_program, run_page


@pytest.mark.parametrize("page", [page for page in PAGES if one_program(page)])
def test_programs_print_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for one in run_page((ROOT / page).read_text(encoding="utf-8"), page):
        assert one.holds, f"{one.program} printed\n{one.printed}and the page shows\n{one.shown}"


def test_a_wrong_output_would_be_noticed() -> None:
    page = "```python\nprint(1)\nprint(2)\n```\n\n```output\n{}\n2\n```\n"
    assert [one.holds for one in run_page(page.format(1), "page")] == [True]
    assert [one.holds for one in run_page(page.format("..."), "page")] == [True]
    assert [one.holds for one in run_page(page.format(3), "page")] == [False]
    page = "```python\nprint('0.918 of 3,060 in 3 lines, 12 iterations')\n```\n\n```output\n{}\n```\n"
    for shown, holds in {
        "0.921 of 2,970 in 3 lines, 9 iterations": True,  # the last digits of sums
        "0.718 of 3,060 in 3 lines, 12 iterations": False,
        "0.918 of 3,600 in 3 lines, 12 iterations": False,
        "0.918 of 3,060 in 4 lines, 12 iterations": False,
        "0.918 in 3 lines, 12 iterations": False,
        "0.918 ... 12 iterations": True,
    }.items():
        assert [one.holds for one in run_page(page.format(shown), "page")] == [holds], shown
    shell = "```console\n$ echo 1\n1\n$ echo 2\n3\n$ echo 4\n```\n"
    assert [one.holds for one in run_page(shell, "page")] == [True, False, True]
