"""The experiment on associative networks, quick."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "amn", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 18
    for case in ("2 labels", "4 labels"):
        alone = found[f"{case}, independent pixels: right pixels"]
        assert found[f"{case}, max-margin: right pixels"] > alone
        assert found[f"{case}, decoding: of the bound, scores from 0 on"] >= 0.5
    assert found["2 labels, decoding: images proved optimal"] == 100.0
    assert found["4 labels, decoding: score below the upper bound"] < 1.0
    text = (tmp_path / "report.md").read_text()
    assert "a minimum cut is exact for two labels" in text
    assert "not decided yet" not in text
