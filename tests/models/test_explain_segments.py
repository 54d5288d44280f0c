"""Explanations of segments: contributions add up to the difference of two scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crfkit import Likelihood, SemiCRF, SemiMarkov, inference
from crfkit.models.tags import segmented
from crfkit.structures.constraints import START, Forbid
from tests.cases.cli import run

X = [["in", "New", "York", "it"], ["York", "is", "old"], ["New", "cars"], ["in", "York", "York"]]
Y = [["O", "B-C", "I-C", "O"], ["B-C", "O", "O"], ["O", "O"], ["O", "B-C", "B-C"]]
RECIPE = "bias; w[-1..1]; edge: w[0]; begin: w[-1]; end: w[1]; segment: w[..]; segment: value(length)"


@pytest.mark.parametrize("recipe", [RECIPE, "w[0]"])
def test_contributions_add_up(recipe: str) -> None:
    model = SemiCRF(features=recipe, objective=Likelihood(l2=0.1), n_jobs=1).fit(X, Y).model_
    data = model.dataset(X)
    for n in range(len(X)):
        decisions: Any = model.explain(X[n], threads=1)
        assert [model.explain(X[n], at=one.at)[0] for one in decisions] == list(decisions)
        potentials = model.potentials(model.batch_of(data).select([n])).sequence(0)
        best = inference.decode(potentials)
        assert sum(one.positions for one in decisions) == len(X[n])
        names = model.structure.labels
        assert [(one.label, one.positions) for one in decisions] == [
            (names[y], b - a) for a, b, y in best.segments
        ]
        for one, segment in zip(decisions, best.segments, strict=True):
            other = segmented(model.dataset([X[n]]), [list(one.alternative)], labels=names).batch
            assert other.label is not None
            against = potentials.path_score(other.label, other.begin)[0]
            assert one.difference == pytest.approx(best.score - against, abs=1e-9)
            several = inference.kbest(potentials, 50)
            without = next(found for found in several if segment not in found.segments)
            assert against == pytest.approx(without.score, abs=1e-9)
            a, b, y = segment
            share = inference.marginals(potentials).segment
            assert share is not None
            assert one.probability == pytest.approx(share[a, b - a - 1, y])


def test_a_segment_without_an_alternative_says_so() -> None:
    structure = SemiMarkov(max_length=1, constraints=[Forbid(START, "O")])
    model = SemiCRF(structure=structure, features="w[0]", n_jobs=1).fit(X[1:2], Y[1:2]).model_
    (made,) = model.explain(["old"])
    assert (made.label, made.runner_up, made.contributions) == ("C", None, ())


def test_the_command_line_explains_segments(tmp_path: Path) -> None:
    rows = [[f"{w}\t{t}" for w, t in zip(x, y, strict=True)] for x, y in zip(X, Y, strict=True)]
    text = "\n\n".join("\n".join(sequence) for sequence in rows)
    (tmp_path / "a.txt").write_text(text)
    run("train", tmp_path / "a.txt", "-o", tmp_path / "m.crf", "--structure", "semi", "-q", "--l2", 0.1)
    told = run("explain", tmp_path / "m.crf", tmp_path / "a.txt", "--sequence", 1, "--json").stdout
    assert [(one["token"], one["label"]) for one in json.loads(told)][1] == ("New B-C | York I-C", "C")
    shown = run("explain", tmp_path / "m.crf", tmp_path / "a.txt", "--sequence", 1, "--top", 0).stdout
    assert "=New York\n" in shown
    assert "New B-C | York I-C\tC " in shown
    assert "=New York" in run("show", tmp_path / "m.crf", "--top", 40).stdout
