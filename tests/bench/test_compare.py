"""The comparison with an older commit: its arithmetic, its table, and a run of this tree against itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench import compare, compare_base
from bench.compare import Measured, judged, remarks, report


@pytest.mark.parametrize(
    ("ratios", "unit", "verdict"),
    [
        ([1.10, 1.11, 1.12, 1.10, 1.11], "s", "SLOWER beyond noise"),
        ([1.10, 1.11, 1.12, 1.10, 1.11], "MB", "LARGER beyond noise"),
        ([1.02, 1.02, 1.02, 1.02, 1.02], "s", "same"),  # no noise, and within 3 %
        ([0.95, 1.25, 1.00, 1.30, 1.10], "s", "same"),  # 10 % more, but the repeats vary by more
        ([0.90, 0.91, 0.89, 0.90, 0.90], "s", "faster"),
        ([0.90, 0.91, 0.89, 0.90, 0.90], "MB", "smaller"),
        ([2.0, 2.0], "s", "not judged"),
    ],
)
def test_verdicts(ratios: list[float], unit: str, verdict: str) -> None:
    # The machine slows down as it goes: pairs do not notice.
    row = judged(f"tagging|{unit}", [(1.0 + i, ratio * (1.0 + i)) for i, ratio in enumerate(ratios)])
    assert row.verdict == verdict
    assert row.worse == ("beyond" in verdict)
    assert row.ratio == pytest.approx(sorted(ratios)[len(ratios) // 2])


def answer(seconds: float, objective: float = 10.0) -> compare.Answer:
    return {"figures": {"training|s": seconds}, "facts": {"objective": objective, "labels": "abc"}}


def test_table_and_remarks() -> None:
    measured = Measured()
    for now in (1.20, 1.21, 1.22):
        measured.add("training text", answer(1.0), answer(now, 10.1))
    measured.add("tagging text", answer(1.0), {"error": "AttributeError: tag"})
    measured.add("command", {"error": "no such option"}, answer(1.0))
    measured.add("evaluation", {"error": "KeyError"}, {"error": "KeyError"})
    assert measured.suspects() == {"training text"}
    notes = list(remarks(measured))
    assert [bad for _, bad in notes] == [True, False, True, True, False]
    text = report(measured.rows(), notes)
    assert "| training | 1.00 s | 1.21 s | 1.210 | 0.020 | 0.0 % | 0.8 % | SLOWER beyond noise |" in text
    assert "- NO  FAILS in this tree: tagging text: AttributeError: tag" in text
    assert "- FAILS in the older version: command: no such option" in text
    assert "- NO  FAILS in both: evaluation: KeyError" in text
    assert "- NO  objective: 10.0000 and 10.1000" in text
    assert "- labels: the same" in text
    assert text.endswith("1 measures; worse: training")


def test_this_tree_against_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "compared.json"
    options = ["--base-python", sys.executable, "--quick", "--repeats", "1", "--json", str(out)]
    assert compare.main(options) == 0
    written = json.loads(out.read_text())
    names = {row["name"] for row in written["rows"]}
    assert {"training text", "one evaluation, order 2", "Model.predict", "crfkit tag"} <= names
    assert {"memory, crfkit tag", "start: import crfkit", "features from a template"} <= names
    assert all(row["verdict"] == "not judged" and row["base"]["median"] > 0 for row in written["rows"])
    assert "FAILS" not in str(written["notes"])
    assert "DIFFERS" not in str(written["notes"])
    assert "output of crfkit tag: the same" in written["notes"]
    printed = capsys.readouterr()
    assert "| measure | base | this | ratio |" in printed.out
    assert "both are the same files" in printed.err


def test_mistakes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="does not exist"):
        compare.main(["--base-python", str(tmp_path / "python")])
    with pytest.raises(SystemExit, match="no-such-revision"):
        compare.main(["--base", "no-such-revision"])
    monkeypatch.setenv("PYTHONPATH", "")
    side = compare_base.Side("base", sys.executable, str(tmp_path))
    with pytest.raises(SystemExit, match=r"does not run crfkit|crfkit comes from"):
        compare.identified(side)
