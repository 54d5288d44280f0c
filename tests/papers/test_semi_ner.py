"""The experiment of Sarawagi & Cohen (2004): splits, learners, claims, and all of it on generated data."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from crfkit.papers import EXPERIMENTS, Given, Result
from crfkit.papers.semi_ner import PAPER, SHARE, make
from crfkit.papers.semi_ner_claims import CHAINS, SEMI, Key, claims
from crfkit.papers.semi_ner_learners import Learner, Remembered
from crfkit.papers.semi_ner_tasks import TASKS, generated
from tests.cases.cli import run
from tests.cases.real_data import DATA


def test_quick_from_end_to_end(tmp_path: Path) -> None:
    run("reproduce", "semi-ner", "--quick", "-o", tmp_path, "--jobs", "1")
    rows = json.loads((tmp_path / "results.json").read_text())
    assert len(rows) == len(make(Given(quick=True)).quantities())
    assert all(0.0 <= row["low"] <= row["ours"] <= row["high"] or row["low"] < 0.0 for row in rows)
    score = {row["quantity"]: row["ours"] for row in rows}
    none, listed = (
        sum(score[f"Table 1: city, {learner}, dictionary: {kind}"] for learner in PAPER)
        for kind in ("none", "external")
    )
    assert listed > none  # a dictionary that has most of the names must help
    text = (tmp_path / "report.md").read_text()
    assert text.count("hold") >= 8
    assert "not decided yet" not in text
    assert "Table 2: chains of higher order" in text


def test_documents_are_either_trained_on_or_held_out() -> None:
    task = generated("city")
    small, test = task.split(3, 0.1)
    large, same = task.split(3, 0.5)
    assert test == same
    assert len(test) == 18
    assert small == large[:6]
    assert not {id(one) for one in large} & {id(one) for one in test}
    assert task.split(4, 0.1)[1] != test


def test_the_internal_dictionary_is_of_segments_or_words() -> None:
    task = generated("city")
    train = task.documents[:5]
    phrases = {text for one in train for text in one.phrases()}
    semi = Learner(SEMI, internal=True).recipe(task, train).resources["internal"]
    assert {" ".join(entry) for entry in semi.entries} == phrases
    chain = Learner("CRF/4", internal=True).recipe(task, train).resources["internal"]
    assert {" ".join(entry) for entry in chain.entries} == {word for text in phrases for word in text.split()}
    assert Learner(SEMI, internal=True).recipe(task, []).resources == {}


def test_remembered_answers_are_those_of_the_dictionary() -> None:
    listed = Remembered(["New York", "York"])
    first = listed.best([["new", "york"], ["york"]], "jaccard").tolist()
    assert first == [1.0, 1.0]
    assert listed.best([["york"], ["New"], ["york"]], "jaccard").tolist() == [1.0, 0.5, 1.0]
    assert listed.best([["york"]], "tfidf").tolist() == [1.0]
    apart = Remembered(["New York", "York"], sources=[0, 1])
    assert apart.best([["york"]] * 3, "jaccard", exclude=[1, 0, -1]).tolist() == [0.5, 1.0, 1.0]
    assert apart.best([["york"]], "jaccard").tolist() == [1.0]


def scores(better: str, tasks: tuple[str, ...], shares: tuple[float, ...]) -> dict[Key, Result]:
    """Results in which one learner is better than the others, and gains less from everything."""
    made: dict[Key, Result] = {}

    def add(task: str, learner: str, kind: str, order: int, share: float) -> None:
        f1 = 50.0 + 20.0 * (learner == better) + 5.0 * ("external" in kind or kind == "both") + 10.0 * share
        f1 -= 5.0 * (kind in ("internal", "both")) * (learner != better) + 15.0 * share * (learner == better)
        runs = {"0": f1 - 1.0, "1": f1, "2": f1 + 1.0}
        made[task, learner, kind, order, share] = Result.of("", None, "", runs, {})

    for task, learner, kind in product(tasks, (*CHAINS, SEMI), ("none", "internal", "external", "both")):
        add(task, learner, kind, 1, SHARE)
    for task, learner, order in product(tasks, CHAINS, (2, 3)):
        add(task, learner, "none", order, SHARE)
    for task, learner, share in product(tasks, (*CHAINS, SEMI), shares):
        add(task, learner, "none", 1, share)
    return made


@pytest.mark.parametrize("better", [SEMI, "CRF/4"])
def test_claims_follow_from_the_numbers(better: str) -> None:
    tasks, shares = ("state", "city"), (0.05, 0.1, 0.5)
    found = claims(scores(better, tasks, shares), tasks, SHARE, shares, (2, 3))
    answers = {claim.text: claim.holds for claim in found}
    assert None not in answers.values()
    for text, holds in answers.items():
        if "the best" in text or "beat" in text:
            assert holds is (better == SEMI), text
    assert answers["external dictionaries help all learners"]
    assert answers["differences are smaller with more training data"]
    assert answers["the internal dictionary often lowers the F1 of CRF/1"]
    assert answers["the internal dictionary often lowers the F1 of CRF/4"] is (better == SEMI)
    never = "the internal dictionary never lowers the F1 of semi-CRFs by more than 2.5 %"
    assert answers[never] is (better == SEMI)


def test_claims_without_numbers_are_not_decided() -> None:
    assert [claim.holds for claim in claims({}, ("city",), SHARE, (0.1,), (2,))] == [None]


def test_the_numbers_of_the_paper_are_where_they_belong() -> None:
    by_name = {one.name: one.paper for one in make(Given(quick=True)).quantities()}
    assert by_name["Table 1: state, CRF/1, dictionary: external"] == 69.2
    assert by_name["Table 1: city, semi-CRF, dictionary: both"] == 83.6
    assert by_name["Table 2: city, CRF/4, order 2"] is None
    assert EXPERIMENTS["semi-ner"].minutes


@pytest.mark.parametrize("name", TASKS)
def test_the_corpora_are_read(name: str) -> None:
    if not DATA.is_dir():
        pytest.skip("no corpora here")
    task = TASKS[name](Given(DATA))
    assert task.name == name
    assert len(task.documents) > 40
    assert task.dictionary
    for document in task.documents:
        ends = [
            0,
            *(place for start, end, _ in document.spans for place in (start, end)),
            len(document.words),
        ]
        assert ends == sorted(ends)
    assert any(document.spans for document in task.documents)
