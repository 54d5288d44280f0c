"""The experiment on dynamic CRFs, quick."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from crfkit.papers.dcrf import Found
from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "dcrf", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 2 * (4 * 4 + 1)
    for size in (60, 240):
        joint, apart = (found[f"{size} sentences: {one}, both"] for one in ("factorial CRF", "two chains"))
        assert joint > apart
    assert "not decided yet" not in (tmp_path / "report.md").read_text()


def test_measures() -> None:
    found = Found(np.array([[4.0, 3, 2, 1], [6.0, 3, 6, 3]]), np.array([[1.0, 2, 2], [1.0, 1, 2]]))
    assert [found.measure(name) for name in ("tags", "phrases", "both")] == [60.0, 80.0, 40.0]
    np.testing.assert_allclose(found.measure("F1 of phrases"), 100.0 * 4 / 7)
