"""The grid of trainings: a small one from end to end, ratios and verdict on rows made up for the purpose."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from bench import generated, grid, measure
from bench.child import Task
from bench.corpora import CORPORA, halves
from bench.corpus_features import addresses, fields, letters
from bench.grid_tables import runs_table, speed_table
from bench.runs import Row
from bench.verdict import compare, judge

Curve = list[tuple[float, float, float]]


def peer(curve: Curve, *, ended: bool = True, mb: float = 50.0, l2: float = 2.0) -> Row:
    """A run of CRFsuite; its wall is twice the time of the processor."""
    row = {**row_of("crfsuite", curve, mb, l2), "ended": ended}
    return row if ended else {k: v for k, v in row.items() if k not in ("total", "cpu")}


def run(what: str, curve: Curve, reached: float | None = None, *, l2: float = 2.0, **more: Any) -> Row:
    """A run of crfkit that took as long as its curve."""
    row = row_of(what, curve, more.pop("mb", 50.0), l2)
    found = None if reached is None else {"cpu": reached, "seconds": 2 * reached}
    made = {"excess": 1e-5, "warned": [], "reported": row["ours"], "reached": found}
    return {**row, **made, **more}


def row_of(what: str, curve: Curve, mb: float, l2: float) -> Row:
    return {
        "corpus": "usaddress",
        "l2": l2,
        "what": what,
        "threads": 1,
        "curve": [[2 * cpu, passes, objective] for cpu, passes, objective in curve],
        "cpus": [cpu for cpu, _, _ in curve],
        "total": 2 * curve[-1][0],
        "cpu": curve[-1][0],
        "ours": curve[-1][2],
        "stopped": "converged: it is",
        "peak_mb": mb,
        "weights": 9,
    }


def holds(rows: list[Row], start: str, part: str = "") -> bool | None:
    """Return the outcome of the check whose name begins and goes on like this."""
    compare(rows)
    (check,) = [c for c in judge(rows) if c.name.startswith(start) and part in c.name]
    return check.holds


CRFSUITE: Curve = [(2.0, 3, 120.0), (4.0, 5, 100.002), (6.0, 7, 100.0)]


def test_ratios_to_the_end_of_crfsuite() -> None:
    first = peer(CRFSUITE)
    there = run("auto", [(1.0, 2, 110.0), (1.5, 4, 99.9), (2.0, 5, 99.9)], reached=1.5)
    short = run("dual", [(1.0, 2, 100.001)])
    two = {**run("auto", [(1.0, 2, 110.0), (1.5, 4, 99.9)], reached=1.5), "threads": 2}
    rows = [first, there, short, two]
    compare(rows)
    assert (there["to_target"], there["ratio"], there["ratio_whole"]) == (1.5, 4.0, 3.0)
    assert (short["to_target"], short["ratio"], short["ratio_whole"]) == (None, 6.0, 6.0)
    assert short["missed"] == pytest.approx(1e-5)
    assert two["ratio"] == 2.0, "on two threads the wall counts, for CRFsuite its processor"
    assert "| 6.00† |" in runs_table(rows)
    assert "| 2 | 6.0 | 1.50 | 4.00 | 2.00 | 3.00 | 3.00 | 2.00 | dual 1.00 | 2.00 |" in speed_table(rows)


def test_less_far_than_crfsuite_is_compared_with_its_way_there() -> None:
    ours = run("auto", [(1.0, 2, 100.003)])
    compare([peer(CRFSUITE), ours])
    assert ours["ratio"] == 4.0


def test_crfsuite_cut_off() -> None:
    first, ours = peer(CRFSUITE, ended=False), run("auto", [(1.5, 4, 99.9)], reached=1.5)
    rows = [first, ours, run("lbfgs", [(0.1, 1, 110.0), (0.2, 2, 99.9)], reached=0.2)]
    compare(rows)
    assert ours["ratio"] == 4.0
    assert "4.00‡" in runs_table(rows)
    assert first["evaluation_ratio"] == pytest.approx(10.0)
    means = [check.detail for check in judge(rows) if "geometric" in check.name]
    assert means == ["no cell", "no cell"], "how far CRFsuite came depends on when it was cut off"


def test_promises() -> None:
    good = [peer(CRFSUITE), run("auto", [(1.1, 4, 99.9)], 1.1), run("dual", [(1.0, 4, 99.9)], 1.0)]
    compare(good)
    assert all(check.holds is not False for check in judge(good))
    assert holds(good, "auto takes", "whole") is True
    assert holds([good[0], good[1], run("dual", [(0.9, 4, 99.9)], 0.9)], "auto takes", "whole") is False
    assert (
        holds([good[0], good[1], run("dual", [(2.0, 4, 99.9)], 0.9)], "auto takes", "CRFsuite's end") is False
    )
    loose = run("dual", [(0.5, 4, 99.9)], 0.9, excess=1e-3)
    assert holds([good[0], good[1], loose], "auto takes", "whole") is None, "it is not certified"
    assert holds([good[0], loose], "certified") is False
    assert holds([good[0], {**loose, "warned": ["not there yet"]}], "certified") is True
    assert holds([good[0], run("auto", [(7.0, 4, 99.9)], 6.5)], "auto is never slower") is False
    assert holds([{**good[0], "weights": 8}, *good[1:]], "CRFsuite minimizes") is False
    assert holds([{**good[0], "ended": False}, *good[1:]], "CRFsuite minimizes") is False
    assert holds([run("auto", [(7.0, 4, 99.9)])], "auto is never slower") is None
    assert holds([*good, run("lbfgs", [(1.0, 1, 98.0)], 1.0)], "no certificate") is False
    assert holds([run("auto", [(1.0, 1, 98.0)], reported=97.0)], "the objective") is False
    crashed = {k: v for k, v in good[2].items() if k not in ("total", "cpu", "ours", "excess")}
    crashed.update(stopped="failed: IndexError", curve=[], cpus=[])
    assert holds([*good[:2], crashed], "no run crashes") is False
    for theirs, ours, outcome in ((90.0, 500.0, None), (110.0, 219.0, True), (110.0, 221.0, False)):
        rows = [peer(CRFSUITE, mb=theirs), run("auto", [(1.0, 1, 99.9)], 1.0, mb=ours)]
        assert holds(rows, "auto's peak memory") is outcome


def test_features_of_addresses_and_mails() -> None:
    first, second = addresses([["12th", "A"], ["St.,", "B"]])
    assert first["digits"] == "some_digits"
    assert first["next"]["street_name"] is True
    assert first["next"]["address.end"] is True
    assert second["previous"]["address.start"] is True
    assert second["abbrev"] is True
    mail = fields([["Time", "0", "0", "O"], [":", "0", "4", "O"], ["3", "1", "0", "B-stime"]])
    assert {"line=0", "column=0", "first", "part=0"} <= set(mail[0])
    assert "last" in mail[1]
    assert {"line=1", "first", "last", "part=5"} <= set(mail[2])


def test_a_small_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    monkeypatch.setattr(grid, "QUICK", 8)
    cache = tmp_path / "peer.json"
    arguments = ["--quick", "--data=random60", "--l2=2", "--threads=1", f"--peer-cache={cache}"]
    for more in (["--what=crfsuite,lbfgs"], ["--what=crfsuite,auto", "--add"]):
        with pytest.raises(SystemExit, match="0"):
            grid.main([*arguments, *more])
    rows = {row["what"]: row for row in json.loads((tmp_path / "grid.json").read_text())["rows"]}
    assert list(rows) == ["crfsuite", "lbfgs", "auto"]
    assert rows["auto"]["sequences"] == 5  # of 60 positions: 8 would have more than 40 on average
    assert rows["auto"]["excess"] <= 1e-4
    assert rows["auto"]["ours"] == pytest.approx(rows["lbfgs"]["ours"], rel=2e-4)
    if importlib.util.find_spec("pycrfsuite"):
        assert rows["crfsuite"]["ended"]
        assert rows["crfsuite"]["ours"] == pytest.approx(rows["auto"]["ours"], rel=2e-4)
        assert rows["lbfgs"]["ratio"] > 0
        assert list(json.loads(cache.read_text())) == ["random60 l2=2 most=8"]
    assert "| random60 | 2 | auto | 1 |" in (tmp_path / "grid.md").read_text()
    assert "yes no run crashes" in capsys.readouterr().out
    docs = tmp_path / "speed.md"
    docs.write_text("# Speed\n<!-- grid -->\n<!-- /grid -->\nend\n")
    monkeypatch.setattr(grid, "SPEED", docs)
    grid.main(["--docs"])
    assert "| Random sequences of 60 | 4 | 2 |" in docs.read_text()


def test_what_was_measured_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    asked = []

    def measured(task: Task, *_: Any) -> dict[str, Any]:
        assert task.l2 is not None
        asked.append((task.l2, task.optimizer))
        return {**run(task.optimizer, [(1.0, 2, 3.0)], l2=task.l2), "corpus": task.corpus, "most": None}

    monkeypatch.setattr(grid, "measured", measured)
    arguments = ["--data=random60", "--threads=1", "--what=auto", "--resume"]
    for more in (["--l2=2"], ["--l2=2,0.2", "--minutes=0"], ["--l2=2,0.2"]):
        with pytest.raises(SystemExit, match="0"):
            grid.main([*arguments, *more])
    assert asked == [(2.0, "auto"), (0.2, "auto")]


def test_halves_have_each_corpus_once() -> None:
    choosing, reporting = halves()
    assert not {*choosing} & {*reporting}
    assert grid.parsed(["--data=reporting", "--features=dict"]).data == reporting


def test_letters_are_labeled_by_their_place() -> None:
    assert letters([["ab", "X"], ["c", "X"], ["def", "X"]]) == [
        ["a", "B"], ["b", "E"], ["c", "S"], ["d", "B"], ["e", "I"], ["f", "E"]
    ]  # fmt: skip


def test_a_crash_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    monkeypatch.setenv("CRFKIT_DATA", str(tmp_path))
    (tmp_path / "usaddress").mkdir()
    for name in ("train", "test"):
        (tmp_path / "usaddress" / f"labeled_{name}.txt").write_bytes(b"Main \xff\n")  # is not UTF-8
    with pytest.raises(SystemExit, match="0"):
        grid.main(["--quick", "--data=usaddress", "--l2=2", "--threads=1", "--what=lbfgs"])
    (row,) = json.loads((tmp_path / "grid.json").read_text())["rows"]
    assert row["crashed"]
    assert row["stopped"].startswith("failed: UnicodeDecodeError")


def test_generated_sequences_are_the_same_each_time() -> None:
    for make in (generated.random60, generated.scales):
        once, again = (list(make(3)) for _ in range(2))
        assert once == again
    items, labels = next(generated.random60(1))
    assert (len(items), len(items[0]), len(labels)) == (60, 9, 60)
    assert CORPORA["random60"].missing == []
