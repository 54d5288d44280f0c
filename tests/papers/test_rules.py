"""The experiment on weighted rules, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "rules", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    words = found["generated; words: accuracy"]
    assert found["generated; words, citations: accuracy"] > words + 5.0
    assert found["generated; words, citations: weight of the rule of citations"] > 0.1
    assert (
        abs(found["generated; cliques by hand: accuracy"] - found["generated; words, citations: accuracy"])
        < 6.0
    )
    assert found["seconds to ground clauses of shared citations, by their number: 10,000"] > 0.0
    text = (tmp_path / "report.md").read_text()
    assert "the rules give what cliques by hand give" in text
    assert "not decided yet" not in text
