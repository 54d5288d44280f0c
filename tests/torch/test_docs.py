"""The programs of README and pages that need torch print what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.pages import TORCH, run_page

DOCS = Path(__file__).parents[2] / "docs"


# Warnings are those of other libraries; the Trainer of transformers prints its log, lines of dicts.
of_others = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::UserWarning",
    "error:The given NumPy array is not writable",
)


@of_others
@pytest.mark.parametrize("page", ["README.md", *sorted(TORCH)])
def test_pages_print_what_they_show(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS.parent / page).read_text()
    if "from transformers" in text:
        pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    shown = [*run_page(text, page)]
    assert shown
    assert not [(one.printed, one.shown) for one in shown if not one.holds]


def test_the_example_of_a_bilstm_learns() -> None:
    script = DOCS.parent / "examples/bilstm_crf.py"
    command = [sys.executable, str(script), "--epochs", "5", "--lines", "400"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, *_, last = [float(line.split()[-1]) for line in done.stdout.splitlines()]
    assert last > first + 0.2
