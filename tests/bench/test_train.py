"""The benchmark of training on generated data: features, objective, a whole run, and CRFsuite where it is."""

from __future__ import annotations

import gzip
import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import child, corpus_features, measure, peer, train, train_child
from bench.corpora import CORPORA
from bench.runs import Row
from crfkit import Chain
from crfkit.arrays import Floats
from crfkit.objectives import Likelihood
from crfkit.optimize.problem import Penalty, Step

CONLL = CORPORA["conll2000"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sentences whose labels follow from the tags, as the files of CoNLL-2000; results go beside them."""
    rng = np.random.default_rng(0)
    (tmp_path / "conll2000").mkdir()
    for name, N in (("train", 60), ("test", 10)):
        lines = []
        for _ in range(N):
            tags = rng.integers(0, 3, rng.integers(1, 9))
            chunks = ["B-NP" if t == 0 else "I-NP" if t == 1 and i else "O" for i, t in enumerate(tags)]
            words = rng.integers(0, 30, len(tags))
            lines += [f"w{w} T{t} {y}" for w, t, y in zip(words, tags, chunks, strict=True)] + [""]
        with gzip.open(tmp_path / "conll2000" / f"{name}.txt.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    monkeypatch.setenv("CRFKIT_DATA", str(tmp_path))
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    return tmp_path


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_templates_leave_out_what_lies_beyond_the_sentence() -> None:
    first, last = corpus_features.chunking([["a", "X", "O"], ["b", "Y", "O"]])
    named = "w[0]=a", "w[1]=b", "w[0]|w[1]=a|b", "pos[0]=X", "pos[1]=Y", "pos[0]|pos[1]=X|Y", "__BOS__"
    assert first == list(named)
    assert last[-1] == "__EOS__"
    assert "w[-1]|w[0]=a|b" in last
    assert len(corpus_features.chunking([["a", "X", "O"]] * 5)[2]) == 19
    spelt = corpus_features.tagging([["Ab-12", "NN"]])[0]
    assert {"shape=Xx-0", "lower=ab-12", "pre1=A", "suf2=12", "capital", "digit", "hyphen"} <= set(spelt)


def test_objective_is_that_of_the_problem(folder: Path) -> None:
    dataset, _ = CONLL.datasets()
    layout = CONLL.layout(dataset)
    problem = Likelihood(l2=2.0).bind(layout, Chain(dataset.labels.strings()), dataset.batch)
    w = np.random.default_rng(1).normal(size=layout.weights)
    expected = problem.value_and_grad(w, np.empty_like(w)) + Penalty(l2=2.0).value(w)
    assert child.objective_at(dataset, layout, Penalty(l2=2.0), w) == pytest.approx(expected, rel=1e-12)
    nothing = child.objective_at(dataset, layout, Penalty(l2=2.0), np.zeros_like(w))
    assert nothing == pytest.approx(dataset.batch.positions * math.log(3))
    assert child.objective_at(dataset, layout, Penalty(l2=2.0), w * np.inf) == math.inf


@dataclass
class Descent:
    """The least of all optimizers."""

    needs: tuple[type, ...] = ()

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: Any = None) -> Descent:
        self.problem, self.penalty, self.w, self.passes = problem, penalty, w, 0
        return self

    def step(self) -> Step:
        gradient = np.empty_like(self.w)
        value = self.problem.value_and_grad(self.w, gradient) + self.penalty.add_smooth(self.w, gradient)
        self.w = self.w - 0.01 * gradient
        self.passes += 1
        return Step(value, evaluations=self.passes, stopped="enough" if self.passes == 30 else "")

    def state(self) -> dict[str, Any]:
        return {}


def test_an_optimizer_in_its_child(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = child.Task("optimizer", "conll2000", "descent")
    with tempfile.TemporaryFile() as file:
        train_child.optimize(CONLL, Descent(), task, file)
    start, *steps, end = events(capsys)
    assert start == {"event": "start"}
    objectives = [step["objective"] for step in steps]
    assert objectives == sorted(objectives, reverse=True)
    assert steps[-1]["passes"] == 30
    assert steps[-1]["peak_mb"] > 1
    assert end["stopped"] == "enough"
    assert end["score"] > 0.9


def test_the_log_of_crfsuite_comes_in_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    log = peer.Log()
    text = "Number of features: 12\n\n***** Iteration #1 *****\nLoss: 26.5\nLine search trials: 2\n"
    text += "Seconds required for this iteration: 0.498\n\nL-BFGS terminated with the stopping criteria\n"
    for i in range(0, len(text), 7):
        log(text[i : i + 7])
    size, step = events(capsys)
    assert size == {"event": "size", "weights": 12}
    assert (step["objective"], step["passes"]) == (26.5, 3)
    assert (log.features, log.stopped) == (12, "the stopping criteria")


def test_crfsuite_has_the_same_weights_and_objective(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pycrfsuite")
    peer.peer(CONLL, child.Task("peer", "conll2000"))
    *_, step, end = events(capsys)
    assert end["ended"], end
    assert end["ours"] == pytest.approx(step["objective"], rel=1e-7)


def row(what: str, curve: list[list[float]], **more: Any) -> Row:
    seconds, passes, objective = curve[-1]
    ends = {"seconds": seconds, "passes": passes, "objective": objective}
    return {"corpus": "ptb", "what": what, "threads": None, "curve": curve, "stopped": "", **ends, **more}


def test_times_to_the_target() -> None:
    peer = row("crfsuite", [[2.0, 3, 120.0], [4.0, 5, 100.05], [6.0, 7, 100.0]], ended=True)
    ours = row("lbfgs", [[0.5, 2, 110.0], [1.0, 4, 100.04], [1.5, 6, 99.0]])
    timed: Row = {"corpus": "ptb", "what": "evaluation", "curve": [], "labels": 45, "weights": 9}
    timed["by_threads"] = {"1": {"median": 0.25}, "2": {"median": 0.125}}
    rows = [peer, timed, ours]
    train.judge(CORPORA["ptb"], rows)
    assert (ours["target"], ours["best"]) == (100.0, 99.0)
    assert (ours["target_seconds"], ours["target_times_peer"]) == (1.5, 4.0)
    assert (ours["near_seconds"], ours["near_times_peer"]) == (1.0, 4.0)
    assert timed["times_peer"] == {"1": 4.0, "2": 8.0}
    assert "| ptb | lbfgs | all | 1.5 | 6 | 99.00 | 1.5 | 4.0× |" in train.tables(rows)


def test_a_run_cut_short_foretells_the_rest() -> None:
    known = CORPORA["ptb"].peer
    assert known is not None
    peer = row("crfsuite", [[2.0, 3, 2e5], [4.0, 5, 1e5]], ended=False)
    ours = row("lbfgs", [[1.0, 2, known.objective]])
    train.judge(CORPORA["ptb"], [peer, ours])
    assert ours["target_times_peer"] == pytest.approx(4.0 + (known.evaluations - 5))
    assert "×~" in train.tables([peer, ours])


def test_the_whole_benchmark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        train.main(["--data=conll2000", "--optimizers=lbfgs", "--no-peer", "--quick", "--seconds=5"])
    evaluation, lbfgs = json.loads((folder / "train.json").read_text())["rows"]
    assert evaluation["by_threads"]["1"]["median"] > 0
    assert lbfgs["curve"][-1][2] < lbfgs["curve"][0][2]
    assert lbfgs["score"] > 0.9
    assert "| conll2000 | lbfgs |" in (folder / "train.md").read_text()
    assert "| conll2000 | lbfgs |" in capsys.readouterr().out


def test_plots(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [row("lbfgs", [[0.5, 2, 110.0], [1.0, 4, 100.0]]), row("sgd", [[1.0, 1, 101.0]])]
    train.judge(CORPORA["brown10"], rows)
    train.plot(CORPORA["brown10"], rows, folder / "plot.png")
    assert (folder / "plot.png").stat().st_size > 10_000
