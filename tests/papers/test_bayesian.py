"""The experiment bayesian: the posterior of weights against the best ones."""

from __future__ import annotations

from pathlib import Path

from crfkit.papers import Given, named, reproduce
from crfkit.papers.bayesian import MEASURES, MODELS


def test_quick_compares_the_posterior_with_the_best_weights(tmp_path: Path) -> None:
    found = reproduce(named("bayesian"), Given(quick=True, threads=1), tmp_path, seed=1)
    assert len(found) == len(MODELS) * len(MEASURES)
    _, best, _, _, _, averaged = (one.ours for one in found)  # error and log loss of each model
    assert averaged < best
    assert "averaging over the posterior has a lower log loss" in (tmp_path / "report.md").read_text()
