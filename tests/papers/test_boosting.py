"""The experiment on boosted trees, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "boosting", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert found["parity, trees, 20 rounds"] < 5.0 < 30.0 < found["parity, linear"]
    assert "**holds**: parity: sums of trees" in (tmp_path / "report.md").read_text()
