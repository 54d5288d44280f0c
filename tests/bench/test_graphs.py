"""The comparison of graphical models: answers are judged, and tools that fail are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import graph_peers, graphs


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(graphs, "GRIDS", ((3, 2),))
    return graphs.drawn(tmp_path)[0]


def test_a_tool_is_asked_in_a_process_of_its_own(grid: Path) -> None:
    found = graphs.asked("crfkit", "MAR", grid, "enumeration", 60.0)
    assert len(found["marginals"]) == 18
    assert found["answer"] > 0.0
    assert graphs.judged("MAR", grid, found, found) == "error 0.0e+00"
    worse = {"marginals": [x + 0.25 for x in found["marginals"]]}
    assert graphs.judged("MAR", grid, worse, found) == "error 2.5e-01"


def test_tools_that_fail_or_are_slow_are_named(grid: Path) -> None:
    assert "CSP_99.uai" in graphs.asked("crfkit", "MAR", grid.with_name("CSP_99.uai"), "auto", 60.0)["error"]
    assert graphs.asked("crfkit", "MAR", grid, "auto", 0.01) == {"error": "not done after 0 s"}


def test_labelings_are_scored(grid: Path) -> None:
    found = graph_peers.crfkit("MPE", str(grid), "enumeration")
    best = float(graphs.judged("MPE", grid, found, None).removeprefix("score "))
    other = {"labels": [1 - y for y in found["labels"]]}
    assert float(graphs.judged("MPE", grid, other, None).removeprefix("score ")) < best


def test_tables_for_other_tools_have_sorted_scopes(tmp_path: Path) -> None:
    path = tmp_path / "m.uai"
    path.write_text("MARKOV 2 2 3 2 2 1 0 2 0 1 6 1 2 3 4 5 6 6 1 1 1 1 1 2")
    width, tables = graph_peers.tables_of(str(path))
    assert width == [2, 3]
    assert tables[0, 1].round(9).tolist() == [[1, 3, 5], [2, 4, 12]]
