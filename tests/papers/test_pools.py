"""The experiment on opinion pools, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "pools", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 10
    assert 20.0 < found["generated, one chain, no penalty, 60 sentences"] < 100.0
    assert found["generated, pool, random, 60 sentences"] > found["generated, pool, random, 20 sentences"]
    text = (tmp_path / "report.md").read_text()
    assert "pools are better than the unregularized chain" in text
    assert "not decided yet" not in text
