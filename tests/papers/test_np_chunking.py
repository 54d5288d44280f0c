"""The experiment np-chunking: pairs as labels, models, curves, and what follows from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crfkit.inference import count
from crfkit.papers import Given, Result, named, reproduce
from crfkit.papers.np_chunking import TESTS, claims, optimum, reached
from crfkit.papers.np_chunking_learners import METHODS, MODELS, PAIRS, Corpus, generated, tags
from crfkit.structures import Chain
from tests.cases.real_data import DATA


def test_quick_runs_to_the_end(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = {
        one.quantity: one for one in reproduce(named("np-chunking"), Given(quick=True, threads=1), tmp_path)
    }
    assert len(found) == len(MODELS) + 2 + len(TESTS) + len(METHODS)
    for name in MODELS:
        assert 50.0 < found[f"Table 2: F1, {name}"].ours <= 100.0
    assert found["millions of complete features"].ours > found["millions of supported features"].ours > 0.0
    for name in METHODS:
        curve = found[f"Figures 2-3: F1 after training by {name}"].series["0"]
        assert len(curve["passes"]) == len(curve["objective"]) == len(curve["seconds"])
        assert len(curve["scored"]) == len(curve["score"]) > 0
    text = (tmp_path / "report.md").read_text()
    assert "not decided yet" not in text
    assert "Table 4: McNemar's test" in text
    assert (tmp_path / "figure-2.png").is_file()
    assert (tmp_path / "figure-3.png").is_file()


def test_pairs_are_tags_and_nothing_else() -> None:
    corpus = Corpus(generated(40, 0), generated(5, 1), 1)
    data, test = corpus.data
    names = data.labels.strings()
    assert {*names} <= {"OO", "OB", "BB", "BI", "BO", "IB", "II", "IO"}
    labels = test.batch.label
    assert labels is not None
    split = np.split(labels, test.batch.seq_ptr[1:-1])
    assert tags([[names[y] for y in part] for part in split]) == corpus.gold
    assert corpus.f1(corpus.gold) == 100.0
    whole = Chain(["OO", "OB", "BB", "BI", "BO", "IB", "II", "IO"], constraints=PAIRS)
    by_length = [count(whole.potentials(np.zeros((T, 8)))) for T in (1, 2, 3)]
    assert by_length == [2, 5, 13]  # of tags without an I after an O, or first


def test_tuning_looks_at_training_sentences_only() -> None:
    corpus = Corpus(generated(50, 0), generated(5, 1), 1)
    held = corpus.held_out
    assert [*held.sentences, *held.test] == corpus.sentences
    assert len(held.test) == 5


def results(crf: float, perceptron: float, memm: float, p: float) -> dict[str, Result]:
    numbers = {"CRF, complete features": crf, "averaged perceptron": perceptron, "MEMM": memm}
    made = {f"Table 2: F1, {name}": f1 for name, f1 in numbers.items()}
    made |= {f"Table 4: p, {one} and {other}": p for one, other in TESTS}
    return {name: Result.of(name, None, "", {"0": x}, {}) for name, x in made.items()}


def curve(objective: list[float], score: list[float]) -> dict[str, list[float]]:
    passes = [float(n) for n in range(1, len(objective) + 1)]
    return {"passes": passes, "seconds": passes, "objective": objective, "scored": passes, "score": score}


def test_claims_follow_from_the_numbers() -> None:
    quick, slow, never = (curve(x, [0.9, 0.94, 0.94]) for x in ([9.0, 1.0, 1.0], [9.0, 9.0, 1.0], [9.0] * 3))
    curves = {
        "preconditioned CG": quick,
        "mixed CG": slow,
        "plain CG": slow,
        "L-BFGS": quick,
        "GIS": never,
        "averaged perceptron": curve([0.1] * 3, [0.9, 0.94, 0.94]),
    }
    assert optimum(curves) == 1.0
    assert reached(never, 1.0) is None
    assert [one.holds for one in claims(results(94.4, 94.1, 93.7, 0.01), curves)] == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]
    worse = {**curves, "plain CG": quick, "GIS": slow, "averaged perceptron": curve([0.1] * 2, [0.9, 0.92])}
    assert [one.holds for one in claims(results(94.0, 94.1, 93.7, 0.5), worse)] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert [one.holds for one in claims({}, {})] == [None] * 6


def test_the_corpus_is_read() -> None:
    if not (DATA / "conll2000").is_dir():
        pytest.skip("no corpora here")
    corpus = Corpus.read(DATA / "conll2000/train.txt.gz", DATA / "conll2000/test.txt.gz", None)
    assert (len(corpus.sentences), len(corpus.test)) == (8936, 2012)
    assert sum(tag == "B-NP" for sentence in corpus.gold for tag in sentence) == 12422
