"""Experiments: the registry, results that are continued, reports, and the command."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scipy import stats

from crfkit.papers import (
    EXPERIMENTS,
    Claim,
    Entry,
    Experiment,
    Figure,
    Given,
    Line,
    Page,
    Points,
    Quantity,
    Reading,
    Result,
    Table,
    reproduce,
    runner,
)
from crfkit.papers.results import t_interval
from tests.cases.cli import run
from tests.cases.real_data import DATA


class Dice:
    """An experiment that only counts how often it is asked."""

    def __init__(self, given: Given, sides: int = 6) -> None:
        self.settings: dict[str, Any] = {"sides": sides}
        self.runs = 3
        self.asked: list[tuple[str, int]] = []
        self.broken_at: tuple[str, int] | None = None
        self.quick = given.quick

    def quantities(self) -> Sequence[Quantity]:
        return [Quantity("one die", 3.5, "generated"), Quantity("two dice", None, "generated")]

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        if (quantity.name, seed) == self.broken_at:
            raise KeyboardInterrupt
        self.asked.append((quantity.name, seed))
        value = float(seed**2 + len(quantity.name))
        return Reading(value, {"throw": [1, 2], "shown": [value, seed]}) if "two" in quantity.name else value

    def page(self, found: Mapping[str, Result]) -> Page:
        one = found.get("one die")
        mean = None if one is None else one.ours
        line = Line([1.0, 2.0], [3.0, 4.0], [2.5, None], [3.5, None])
        return Page(
            ["Dice are thrown."],
            [Claim("a die shows more than 3", None if mean is None else mean > 3.0, f"mean {mean}")],
            [Table("Throws", ["die", "mean"], [["one", str(mean)]])],
            [
                Figure("throws", "Throws by dice", "dice", "mean", {"all": {"fair": line}}),
                Figure(
                    "pairs",
                    "One die against two",
                    ["one", "one"],
                    ["two", "three"],
                    {"a": {"few": Points([1.0], [2.0])}, "b": {"many": Points([3.0], [2.0], filled=False)}},
                    log="xy",
                    diagonal=True,
                ),
                Figure(
                    "curve", "Throws in time", "t", "mean", {"": {"bare": Line([*range(40)], [1.0] * 40)}}
                ),
            ],
        )


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> Dice:
    made = Dice(Given())
    monkeypatch.setitem(sys.modules, "crfkit.papers.two_dice", SimpleNamespace(make=lambda given: made))
    monkeypatch.setitem(EXPERIMENTS, "two-dice", ENTRY)
    return made


ENTRY = Entry("two-dice", "Pascal (1654)", "Table 1", "generated", 1)


def test_every_entry_of_the_registry_has_a_module() -> None:
    for name, entry in EXPERIMENTS.items():
        assert name == entry.name
        if name == "neural" and find_spec("torch") is None:
            with pytest.raises(ValueError, match="needs PyTorch"):
                entry.make(Given(quick=True))
            continue
        experiment: Experiment = entry.make(Given(quick=True))
        names = [one.name for one in experiment.quantities()]
        assert len({*names}) == len(names) > 0
        json.dumps(dict(experiment.settings))
        assert experiment.page({}).notes  # before the first number too


def test_results_are_means_with_intervals(dice: Dice, tmp_path: Path) -> None:
    found = reproduce(ENTRY, Given(), tmp_path, seed=1)
    values = [1.0 + 7.0, 4.0 + 7.0, 9.0 + 7.0]
    low, high = stats.t.interval(0.95, 2, sum(values) / 3, stats.sem(values))
    assert (found[0].low, found[0].high) == pytest.approx((low, high), rel=1e-12)
    assert found[0].ours == pytest.approx(sum(values) / 3)
    assert t_interval([2.0, 2.0]) == (2.0, 2.0)
    rows = json.loads((tmp_path / "results.json").read_text())
    assert [row["quantity"] for row in rows] == ["one die", "two dice"]
    assert {"quantity", "paper", "ours", "low", "high", "data"} <= {*rows[0]}
    assert rows[1]["paper"] is None


def test_the_report_shows_the_paper_beside_ours(dice: Dice, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    reproduce(ENTRY, Given(), tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "Pascal (1654), Table 1" in text
    assert "seeds 0, 1, 2" in text
    assert "**holds**: a die shows more than 3" in text
    assert "| one die | 3.5 | 8.7 | [3.5, 13.8] | 3 | generated |" in text
    assert "![Throws by dice](throws.png)" in text
    for name in ("throws", "pairs", "curve"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "Not complete" not in text


def test_without_matplotlib_the_report_says_so(
    dice: Dice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    reproduce(ENTRY, Given(), tmp_path)
    assert "pip install 'crfkit[plot]'" in (tmp_path / "report.md").read_text()
    assert not list(tmp_path.glob("*.png"))


def test_an_interrupted_run_goes_on(dice: Dice, tmp_path: Path) -> None:
    dice.broken_at = ("two dice", 1)
    with pytest.raises(KeyboardInterrupt):
        reproduce(ENTRY, Given(), tmp_path)
    assert dice.asked == [("one die", 0), ("two dice", 0), ("one die", 1)]
    assert "3 of 6 numbers are there" in (tmp_path / "report.md").read_text()
    dice.asked, dice.broken_at = [], None
    continued = reproduce(ENTRY, Given(), tmp_path)
    assert dice.asked == [("two dice", 1), ("one die", 2), ("two dice", 2)]
    assert continued == reproduce(ENTRY, Given(), tmp_path / "other")
    dice.asked = []
    assert [len(one.runs) for one in reproduce(ENTRY, Given(), tmp_path, runs=2)] == [2, 2]
    assert dice.asked == []


def test_results_of_other_settings_are_not_continued(dice: Dice, tmp_path: Path) -> None:
    reproduce(ENTRY, Given(), tmp_path, runs=1)
    before = (tmp_path / "results.json").read_bytes()
    dice.settings = {"sides": 20}
    with pytest.raises(ValueError, match=r"sides = 6, now it is 20; give another folder"):
        reproduce(ENTRY, Given(), tmp_path)
    dice.settings = {"sides": 6}
    with pytest.raises(ValueError, match="seed = 0, now it is 5"):
        reproduce(ENTRY, Given(), tmp_path, seed=5)
    assert (tmp_path / "results.json").read_bytes() == before


def test_curves_are_kept_by_seed(dice: Dice, tmp_path: Path) -> None:
    one, two = reproduce(ENTRY, Given(), tmp_path, runs=2)
    assert one.series == {}
    assert two.series == {"0": {"throw": [1, 2], "shown": [8, 0]}, "1": {"throw": [1, 2], "shown": [9, 1]}}
    assert two.runs == {"0": 8.0, "1": 9.0}
    dice.asked = []
    assert reproduce(ENTRY, Given(), tmp_path, runs=2) == [one, two]
    assert dice.asked == []


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"quantity": "x"}]', "{}x", '"a"'])
def test_other_files_are_not_results(dice: Dice, tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(ValueError, match="does not hold results of crfkit reproduce"):
        reproduce(ENTRY, Given(), tmp_path)
    assert (tmp_path / "results.json").read_text() == text


def test_a_bar_shows_what_is_measured(dice: Dice, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(ENTRY, Given(), tmp_path, progress=True)
    assert "6/6" in capsys.readouterr().err
    assert runner.reproduce is reproduce


def test_the_command(dice: Dice, tmp_path: Path) -> None:
    listed = run("reproduce", "--list").stdout.splitlines()
    assert [line.split("\t")[0] for line in listed] == [*EXPERIMENTS]
    assert "two-dice\tPascal (1654)\tTable 1\tgenerated\t1 min" in listed
    assert {one["name"] for one in json.loads(run("reproduce", "--list", "--json").stdout)} == {*EXPERIMENTS}
    printed = run("reproduce", "two-dice", "-o", tmp_path, "--json").stdout
    assert json.loads(printed) == json.loads((tmp_path / "results.json").read_text())


def test_wrong_input_is_named(dice: Dice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRFKIT_DATA", raising=False)
    (tmp_path / "file").write_text("")
    wrong: list[tuple[list[object], str]] = [
        ([], "give the NAME of an experiment"),
        (["two-dise"], "did you mean 'two-dice'?"),
        (["two-dice", "--list"], "leave two-dice out"),
        (["two-dice", "-o", tmp_path / "file"], "which is not a folder"),
        (["two-dice", "--data", tmp_path / "nothing"], "--data is"),
        (["semi-ner", "-o", tmp_path / "out"], "is missing; name the folder of the data with --data"),
        (["semi-ner", "-o", tmp_path / "out", "--data", tmp_path], f"the data folder {tmp_path} has no file"),
    ]
    for arguments, told in wrong:
        assert told in run("reproduce", *arguments, status=2).stderr
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match="runs is 0"):
        reproduce(ENTRY, Given(), tmp_path, runs=0)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_corpora_are_read(name: str) -> None:
    """What quick runs do not do; experiments with networks need PyTorch."""
    if not DATA.is_dir():
        pytest.skip("no CRFKIT_DATA")
    if name == "neural":
        pytest.importorskip("torch")
    assert EXPERIMENTS[name].make(Given(DATA)).quantities()
