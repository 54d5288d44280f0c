"""What `forecast` says before a training, beside what the training takes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import Chain, FeatureSelection, Stop
from crfkit.training import forecast as forecasts
from crfkit.training.events import Begin
from crfkit.training.memory import available_bytes
from tests.cases.cli import run, written
from tests.cases.forecasts import CORPORA, generated


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell peaks")
@pytest.mark.parametrize("name", CORPORA)
def test_memory_is_foreseen(name: str) -> None:
    command = [sys.executable, "-m", "tests.cases.forecasts", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["by"] == "Dual"
    assert found["expected"] == pytest.approx(found["taken"], rel=0.3), found


SMALL = (40, 6, 300, 5, 4)


@pytest.mark.parametrize("structure", [Chain(), Chain(order=2), "local-chain"])
@pytest.mark.parametrize(
    "features", ["observed", "all", FeatureSelection(min_count=2, transitions="observed")]
)
def test_sizes_are_those_of_training(structure: Any, features: Any) -> None:
    data = generated(*SMALL)
    found = crfkit.forecast(data, structure=structure, selection=features)
    begun: list[Begin] = []
    model = crfkit.train(
        data,
        structure=structure,
        selection=features,
        stop=Stop(max_iterations=0),
        listeners=[lambda event: begun.append(event) if isinstance(event, Begin) else None],
    )
    assert found.weights == model.layout.weights == sum(found.by_kind.values())
    assert found.optimizer == begun[0].optimizer
    assert found.why == begun[0].why
    assert 0.0 < found.seconds < 60.0
    assert min(found.bytes.values()) > 0
    every = crfkit.forecast(
        data, structure=structure, selection=replace(FeatureSelection.of(features), which="all")
    )
    assert found.all_pairs == every.all_pairs
    if features != FeatureSelection(min_count=2, transitions="observed"):
        assert found.all_pairs == every.weights


def test_budget_bounds_the_time() -> None:
    data = generated(*SMALL)
    assert crfkit.forecast(data, stop=Stop(max_iterations=2)).evaluations == 2
    assert crfkit.forecast(data, stop=Stop(max_seconds=1e-9)).seconds == 1e-9


def test_other_methods_and_bad_input() -> None:
    data = generated(*SMALL)
    found = crfkit.forecast(data, optimizer="sgd")
    assert found.bytes["optimizer"] > 0
    for line in str(found).splitlines():  # columns stand under each other
        assert line[29:30].strip(), line
        assert line[30:32] in ("", "  "), line
    with pytest.raises(TypeError, match="iterations"):
        crfkit.forecast(data, iterations=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="structure is 'star'"):
        crfkit.forecast(data, structure="star")


def test_short_memory_is_a_warning_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    data = generated(*SMALL)
    monkeypatch.setattr(forecasts, "available_bytes", lambda: 1 << 10)
    with pytest.warns(RuntimeWarning, match=r"more memory, and 0 MB are available.*--block-positions"):
        crfkit.train(data, stop=Stop(max_iterations=1, tolerance=1.0), progress=True)
    monkeypatch.setattr("crfkit.training.train._LARGE", 1)  # large trainings are looked at, watched or not
    with pytest.warns(RuntimeWarning, match="more memory"):
        crfkit.train(data, stop=Stop(max_iterations=1, tolerance=1.0))
    assert "more than there is" in str(crfkit.forecast(data))
    monkeypatch.setattr(forecasts, "available_bytes", lambda: 0)  # where the system does not say
    assert crfkit.forecast(data).fits
    assert available_bytes() >= 0


def test_small_trainings_that_nobody_watches_forecast_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(forecasts, "forecast_of", lambda fit, **_: asked.append(fit))
    crfkit.train(generated(*SMALL), stop=Stop(max_iterations=0))
    assert asked == []


def test_training_tells_what_is_expected() -> None:
    begun: list[Begin] = []
    crfkit.train(
        generated(*SMALL),
        stop=Stop(max_iterations=0),
        progress=True,
        listeners=[lambda event: begun.append(event) if isinstance(event, Begin) else None],
    )
    assert begun[0].forecast.startswith("about ")
    assert begun[0].forecast.endswith("MB of memory and 1 s are expected")


def test_command(tmp_path: Path) -> None:
    data = tmp_path / "train.txt"
    data.write_text(written())
    told = run("forecast", data).stdout
    found = json.loads(run("forecast", data, "--json").stdout)
    assert f"{found['weights']:,}" in told
    assert found["peak"] == found["held"] + found["growth"]
    assert found["growth"] == sum(found["bytes"].values())
    assert found["labels"] == 3
    run("train", data, "-o", tmp_path / "m.crf", "--transitions", "observed", "--max-iterations", 1, "-q")
    fewer = json.loads(run("forecast", data, "--json", "--transitions", "observed").stdout)
    model = crfkit.load(tmp_path / "m.crf")
    assert model.layout.weights == fewer["weights"] < found["weights"]
    assert fewer["by_kind"]["transition"] < 9
    semi = run("forecast", data, "--structure", "semi", "--max-length", 3).stdout
    assert "length" in semi
    for command in (["forecast", data], ["train", data, "-o", tmp_path / "x.crf"]):
        told = run(*command, "--transitions", "some", status=2).stderr
        assert "--transitions is 'some', expected all, observed or none" in told
