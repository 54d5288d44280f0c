"""The benchmark of learning on graphs runs, on data of its own."""

from __future__ import annotations

import pytest

from bench import graph_learning


@pytest.mark.filterwarnings("ignore:.* did not converge")  # a small network, few known labels
def test_quick(capsys: pytest.CaptureFixture[str]) -> None:
    graph_learning.main(["--quick"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "skip-chain, counts by table",
        "skip-chain, counts by marginals",
        "grid, pseudo-likelihood",
        "grid, Bethe likelihood",
        "scene, all pairs",
        *(f"network generated, {one}" for one in ("links, potts", "words alone, potts")),
        *(f"network generated, {one}" for one in ("links, free", "words alone, free")),
        "margin, crfkit",
    ]
