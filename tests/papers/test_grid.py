"""The experiment on grids of pixels, quick."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from crfkit.papers.images import generated_images
from tests.cases.cli import run


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "grid", "--quick", "-o", tmp_path, "--jobs", "1")
    found = {row["quantity"]: row["ours"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert len(found) == 8
    assert all(75.0 < value < 100.0 for name, value in found.items() if name.endswith("pixels"))
    text = (tmp_path / "report.md").read_text()
    assert "not decided yet" not in text
    assert (tmp_path / "areas-images.png").exists() == ("areas-images.png" in text)


def test_batches_of_images() -> None:
    images = generated_images(4, 8)
    batch = images.batch(np.array([0, 2]), True)
    assert batch.graphs == 2
    assert batch.variables == 128
    assert {name: len(scope) for name, scope in batch.scopes.items()} == {
        "look": 128,
        "right": 112,
        "down": 112,
    }
    contrast = batch.features["right"].dense
    assert contrast is not None
    assert (contrast.sum(axis=1) == 1.0).all()
    assert np.ptp(images.features[0][:, 0]) == 0.0  # the column of ones
