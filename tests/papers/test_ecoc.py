"""The experiment on codes of binary chains, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "ecoc", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 10
    assert found["generated, 20 columns: product"] < found["generated, 5 columns: product"]
    assert found["generated, 20 columns: product"] < found["generated, 20 columns: nearest to best bits"]
    assert found["generated, one chain: error"] < 50.0
    assert found["generated, 20 columns: processor seconds"] > 0.0
    text = (tmp_path / "report.md").read_text()
    assert "more columns lower the error of the product" in text
    assert "not decided yet" not in text
