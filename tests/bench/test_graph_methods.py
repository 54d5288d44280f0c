"""The comparison of methods for graphs runs, and exact methods are exact in it."""

from __future__ import annotations

import pytest

from bench import graph_methods


def test_small_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    graph_methods.main(["--quick"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    found = {line[0]: line[1:] for line in lines[:6]}
    assert float(found["elimination"][0]) == 0.0
    assert float(found["mean-field"][0]) < 0.0 < float(found["tree-reweighted"][0])
    assert [line[1:3] for line in lines if line[0] == "auto"] == [["0.0000", "exact"]] * 3
