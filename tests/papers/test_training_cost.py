"""The experiment training-cost: sizes, times and what is certified."""

from __future__ import annotations

from pathlib import Path

import pytest

from crfkit.papers import Given, named, reproduce
from crfkit.papers.training_cost import Task, common_tags, make


def test_quick_runs_to_the_end(tmp_path: Path) -> None:
    found = {
        one.quantity: one for one in reproduce(named("training-cost"), Given(quick=True, threads=1), tmp_path)
    }
    assert len(found) == 10
    for name, minutes, labels in (("entities", 120.0, 11.0), ("parts of speech", 10080.0, 45.0)):
        time = found[f"minutes to train {name}"]
        assert time.paper == minutes
        assert 0.0 < time.ours < 1.0
        assert time.series["0"]["passes"][-1] == found[f"passes over {name}"].ours
        assert found[f"labels of {name}"].paper == labels
        assert found[f"labels of {name}"].ours == 4.0
        assert 0.0 <= found[f"percent above the optimum, {name}"].ours <= 0.01
        assert found[f"accuracy on {name} in percent"].ours > 50.0
    text = (tmp_path / "report.md").read_text()
    assert "**holds**: entities: training takes under two hours" in text
    assert "**does not hold**: parts of speech: training takes over a week" in text


def test_as_many_words_are_trained_on_as_asked_for() -> None:
    task = make(Given(quick=True)).tasks[0]
    train, test = task.split(1)
    assert sum(map(len, train)) == 1000
    assert sum(map(len, test)) == 1000
    few = Task(**{**task.__dict__, "words": 10_000})
    with pytest.raises(ValueError, match=r"generated has 2,000 words, expected more than 10,000"):
        few.split(1)


def test_rare_tags_are_one() -> None:
    sentences = [[("a", "x-tl"), ("b", "y"), ("c", "z"), ("d", "--")], [("a", "x"), ("b", "y")]]
    made = common_tags(sentences, 3)
    assert [[tag for _, tag in one] for one in made] == [["x", "y", "other", "other"], ["x", "y"]]


def test_nothing_is_claimed_without_numbers() -> None:
    assert {claim.holds for claim in make(Given(quick=True)).page({}).claims} == {None}
