"""The experiment on several labels, quick."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "multilabel", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 21
    for learner in ("likelihood", "max-margin"):
        pairs = found[f"{learner}, all pairs: subset accuracy"]
        assert pairs > found[f"{learner}, independent: subset accuracy"] + 5.0
    independent = found["likelihood, independent: subset accuracy"]
    # The same model by another program; its penalty of two weights a label is half of that of one.
    regressions = found["logistic regressions, independent: subset accuracy"]
    assert independent == pytest.approx(regressions, abs=6.0)
    assert "not decided yet" not in (tmp_path / "report.md").read_text()
