"""The experiment on constraints, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "constraints", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 30
    case = "generated, 60 sequences"
    assert found[f"{case}, Viterbi: sequences that break a constraint"] > 0.0
    assert found[f"{case}, global constraints: sequences that break a constraint"] == 0.0
    assert found[f"{case}, global constraints: answers by a memory"] == 100.0
    assert found[f"{case}, global constraints: programs that agree"] == 100.0
    free, kept = (found[f"{case}, {one}: F1 of spans"] for one in ("Viterbi", "global constraints"))
    assert free < kept < 100.0
    text = (tmp_path / "report.md").read_text()
    assert "programs over the trellis give the best labeling" in text
    assert "not decided yet" not in text
