"""The experiment on linked documents, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "collective", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    for task in ("30 % labeled", "60 % labeled"):
        words = found[f"generated, {task}; words alone: accuracy"]
        for learner in ("neighbors' labels", "links, same label, BP", "links, free, pseudo"):
            assert found[f"generated, {task}; {learner}: accuracy"] > words + 5.0
    assert found["generated, 60 % labeled; links, free, BP: seconds"] > 0.0
    text = (tmp_path / "report.md").read_text()
    assert (
        "**holds**: the gain is significant" in text or "**does not hold**: the gain is significant" in text
    )
    assert "not decided yet" not in text
