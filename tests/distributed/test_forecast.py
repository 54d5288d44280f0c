"""What is foreseen of a cluster, beside what its blocks show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crfkit import Chain, FeatureSelection, Likelihood, Stop
from crfkit.distributed.data import data_on
from crfkit.distributed.forecast import cluster_forecast
from crfkit.training.data import TrainingData
from crfkit.training.fit import Fit
from tests.cases.cli import run, written
from tests.cases.sentences import blocks, dataset

pytest.importorskip("distributed")


def test_the_traffic_is_that_of_the_blocks(tmp_path: Path, two: Any) -> None:
    data = dataset(64)
    parts: Any = (Chain(["A", "B", "C"]), Likelihood(), FeatureSelection(), "lbfgs", Stop())
    fit = Fit(TrainingData(data, 1), *parts)
    found = cluster_forecast(fit, workers=2, blocks=1)
    assert found.shown == 8 * fit.layout.weights
    assert found.block_positions == data.batch.positions
    assert found.evaluation > found.alone / 2
    assert 0.0 < found.share < 1.0
    cut = cluster_forecast(fit, workers=2)
    assert cut.blocks == 4
    with data_on(two) as training_data:
        problem: Any = Fit(training_data(blocks(data, tmp_path, 16), 1), *parts).problem
        layout, shown = problem.layout, problem.shown.values()
        sizes = [int((layout.node_ptr[1:][ids] - layout.node_ptr[ids]).sum()) for ids in shown]
    others = layout.weights - len(layout.node_label)
    assert cut.shown == pytest.approx(8 * (sum(sizes) + 4 * others), rel=0.05)  # cut by positions here


def test_crfkit_forecast_says_it(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(written())
    assert "of the workers' time goes into evaluations" in run("forecast", path, "--workers", 4).stdout
    told = json.loads(run("forecast", path, "--workers", 4, "--json", "-q").stdout)
    assert told["cluster"]["workers"] == 4
    assert "cluster" not in json.loads(run("forecast", path, "--json", "-q").stdout)
