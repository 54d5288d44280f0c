"""The experiment on feature induction, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "induction", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 13
    # The label of a generated word is a conjunction that nobody wrote down.
    assert found["induced, 16 features"] > 90.0
    assert found["fixed, atoms only, 32 features"] < 80.0
    text = (tmp_path / "report.md").read_text()
    assert "induced features are better than as many fixed ones" in text
    assert "not decided yet" not in text
