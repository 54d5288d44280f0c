"""The experiment pos: halves, spelling, five models, and what follows from their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from crfkit.papers import Given, Reading, Result, named, reproduce
from crfkit.papers.pos import MODELS, PAPER, STARTS, make
from crfkit.papers.pos_learners import Half, data_of, generated
from tests.cases.real_data import DATA


def test_quick_runs_to_the_end(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = {one.quantity: one for one in reproduce(named("pos"), Given(quick=True, threads=1), tmp_path)}
    assert len(found) == 1 + 2 * len(MODELS) + len(STARTS)
    assert 0.0 < found["new words in percent"].ours < 60.0
    for model in ("MEMM", "CRF"):
        for where in ("", " on new words"):
            assert found[f"error of {model}+{where}"].ours < found[f"error of {model}{where}"].ours
    zero, memm = (found[f"passes of L-BFGS for CRF+ from {start}"] for start in STARTS)
    assert zero.series["0"]["objective"][-1] == pytest.approx(memm.series["0"]["objective"][-1], rel=1e-3)
    assert memm.series["0"]["objective"][0] < zero.series["0"]["objective"][0]
    assert "not decided yet" not in (tmp_path / "report.md").read_text()
    assert (tmp_path / "starts.png").is_file()


def test_errors_are_told_apart_by_what_training_shows() -> None:
    half = Half([(("a", "X"), ("b", "Y"))], [(("a", "X"), ("c", "Y")), (("d", "X"), ("b", "Y"))])
    assert half.new == 50.0
    assert half.errors([["X", "X"], ["X", "Y"]]) == (25.0, 50.0)
    assert half.errors([["Y", "Y"], ["X", "Y"]]) == (25.0, 0.0)
    sentences = generated(40, 1)
    tuning = Half(sentences[:20], sentences[20:]).tuning
    assert [*tuning.train, *tuning.test] == sentences[:20]


def test_words_are_spelled() -> None:
    half = Half([(("12-year", "JJ"), ("Activities", "NNS"), ("running", "VBG"))], [])
    data, _ = data_of("CRF+", half, None)
    names, batch = data.attributes.strings(), data.batch
    told = [
        {names[a] for a in batch.attr[batch.attr_ptr[t] : batch.attr_ptr[t + 1]]}
        for t in range(batch.positions)
    ]
    assert [len(one) for one in told] == [3, 4, 2]  # word, digit, hyphen; word, capital, s, ies; word, ing
    assert len(data_of("CRF", half, None)[0].attributes) == 3


def test_claims_follow_from_the_numbers() -> None:
    experiment = make(Given(quick=True))
    numbers = {f"error of {name}": errors[0] for name, errors in PAPER.items()}
    numbers |= {f"error of {name} on new words": errors[1] for name, errors in PAPER.items()}
    numbers |= {f"passes of L-BFGS for CRF+ from {start}": 10.0 - n for n, start in enumerate(STARTS)}
    numbers |= {"error of HMM+": 5.0, "error of HMM+ on new words": 30.0}  # the paper has no such model
    curve = {"passes": [1.0], "objective": [1.0]}
    found = {name: Result.of(name, None, "", {"0": Reading(x, curve)}, {}) for name, x in numbers.items()}
    answers = {claim.text: claim.holds for claim in experiment.page(found).claims}
    assert len(answers) == 9
    assert all(answers.values()), answers
    assert {claim.holds for claim in experiment.page({}).claims} == {None}


def test_the_corpus_is_read() -> None:
    if not (DATA / "ptb").is_dir():
        pytest.skip("no corpora here")
    experiment = make(Given(DATA))
    assert len(experiment.sentences) == 3914
    assert len({tag for one in experiment.sentences for _, tag in one}) == 45
