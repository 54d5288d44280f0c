"""The experiment label-bias: words of the network, and the errors of both models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crfkit.papers import Given, named, reproduce
from crfkit.papers.label_bias import LETTERS, RIGHT, drawn


def test_quick_shows_the_label_bias(tmp_path: Path) -> None:
    crf, memm, least = reproduce(named("label-bias"), Given(quick=True, threads=1), tmp_path, seed=1)
    assert (crf.paper, memm.paper, least.paper) == (4.6, 42.0, None)
    assert crf.ours < 8.0
    assert memm.ours > 40.0
    assert abs(crf.ours - least.ours) < 1.0
    text = (tmp_path / "report.md").read_text()
    assert text.count("**holds**") == 2


def test_letters_are_right_as_often_as_in_the_paper() -> None:
    words, states = drawn(4000, np.random.default_rng(2))
    letters, emitting = "".join(words), [state[-1] for path in states for state in path]
    pairs = list(zip(letters, emitting, strict=True))
    assert np.mean([x == y for x, y in pairs]) == pytest.approx(RIGHT, abs=0.01)
    wrong = [x for x, y in pairs if x != y and y == "r"]
    assert {*wrong} == {*LETTERS} - {"r"}
    assert np.mean([path[0].startswith("rib") for path in states]) == pytest.approx(0.55, abs=0.03)
