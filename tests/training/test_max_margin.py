"""Max-margin as a user trains it: the default, certificates, checkpoints, the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crfkit import Chain, ChainCRF, Model, Stop, train
from crfkit.data.dataset import Dataset
from crfkit.objectives import MaxMargin
from crfkit.optimize import BCFW
from crfkit.training import choose
from crfkit.training.runs.checkpoint import Checkpoints
from tests.cases.cli import run
from tests.cases.sentences import dataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return dataset()


@pytest.mark.parametrize(
    ("structure", "optimizer"),
    [(Chain(), "BCFW"), (Chain(order=2), "BCFW")],
)
def test_the_default_knows_when_it_is_done(
    data: Dataset, structure: Chain, optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "_FEW", 0)  # as if there were many weights
    model = train(data, objective="max-margin", structure=structure)
    model.save(tmp_path / "m.crf")
    about = Model.load(tmp_path / "m.crf").training
    assert about is not None
    assert (about.optimizer, about.converged, about.end) == (optimizer, True, "converged")
    assert about.certificate.startswith("Within 0.")
    assert about.gap <= 1e-3 * about.loss
    assert model.score(dataset(30, 2)) > 0.8
    other = train(data, objective="max-margin", structure=structure, optimizer="one-slack").training
    assert other is not None
    assert other.loss == pytest.approx(about.loss, rel=2e-3)


def test_a_tolerance_is_met() -> None:
    data, losses = dataset(15), []
    for name, tolerance in (("auto", 1e-4), ("n-slack", 1e-3), ("bcfw", 5e-3)):
        model = train(data, objective=MaxMargin(l2=2.0), optimizer=name, stop=Stop(tolerance=tolerance))
        assert model.training is not None
        assert model.training.gap <= 1.01 * tolerance * model.training.loss
        losses.append(model.training.loss)
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert losses[2] == pytest.approx(losses[0], rel=5e-3)


def test_a_small_model_is_left_to_cutting_planes(data: Dataset) -> None:
    model = train(data, objective="max-margin")
    assert model.training is not None
    assert (model.training.optimizer, model.training.converged) == ("OneSlack", True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", [{}, {"structure": Chain(order=2), "optimizer": BCFW()}])
def test_a_run_that_is_cut_off_resumes_to_the_same_bits(
    data: Dataset, options: dict[str, Any], tmp_path: Path
) -> None:
    given: dict[str, Any] = {"optimizer": BCFW(gap=1e-5), **options, "objective": "max-margin"}
    whole = train(data, **given, stop=Stop(max_iterations=12))
    keep = Checkpoints(tmp_path, iterations=1)
    train(data, **given, stop=Stop(max_iterations=5), checkpoint=keep)
    again = train(data, **given, stop=Stop(max_iterations=12), checkpoint=keep)
    assert again.w.tobytes() == whole.w.tobytes()


def test_estimators_take_the_names() -> None:
    X = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}, {"w": "a"}]] * 3
    y = [["A", "B"], ["B", "A"]] * 3
    for name in ("bcfw", "one-slack", "n-slack"):
        assert ChainCRF(objective="max-margin", optimizer=name).fit(X, y).predict(X[:1]) == [["A", "B"]]


def test_the_command_line_reports_the_gap(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("the D\ncat N\n\na D\ndog N\n\n" * 3)
    made = json.loads(
        run("train", path, "-o", tmp_path / "m.crf", "--objective", "max-margin", "-q", "--json").output
    )
    assert made["optimizer"] == "OneSlack"
    assert made["gap"] <= 1e-3 * made["loss"]
    wrong = run("train", path, "-o", tmp_path / "m.crf", "-a", "n-slack", "-q", status=2).output
    assert "use the objective MaxMargin()" in wrong


def test_without_l2_it_is_refused(data: Dataset) -> None:
    with pytest.raises(ValueError, match="OneSlack needs an L2 penalty above 0 on every weight: set l2"):
        train(data, objective=MaxMargin(l2=0.0))
