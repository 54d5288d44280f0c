"""The trainer of the face of python-crfsuite: parameters, algorithms, logs and odd data."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crfkit.compat.pycrfsuite as pycrfsuite
from crfkit.compat.pycrfsuite._logparser import LabelScore, TrainLogParser
from crfkit.compat.pycrfsuite._methods import METHODS
from crfkit.compat.pycrfsuite._params import ALGORITHMS as PARAMETERS
from crfkit.optimize.sequential.sequences import Sequences

X = [[["a"], ["b"]], [["a"], ["a"], ["b"]]] * 3
Y = [["A", "B"], ["A", "A", "B"]] * 3
ALGORITHMS = ["lbfgs", "l2sgd", "ap", "pa", "arow"]


def trained(path: Path, algorithm: str = "lbfgs", holdout: bool = False, **params: Any) -> pycrfsuite.Trainer:
    trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    if holdout:
        trainer.append(X[0], ["A", "C"], 1)
    trainer.train(str(path), 1 if holdout else -1)
    return trainer


def log_of(algorithm: str, path: Path, **params: Any) -> TrainLogParser:
    parser = trained(path, algorithm, True, **params).logparser
    assert parser is not None
    return parser


def test_lbfgs_log_is_that_of_crfsuite(tmp_path: Path) -> None:
    parser = log_of("lbfgs", tmp_path / "m", max_iterations=1)
    assert parser.last_iteration is not None
    seconds = parser.last_iteration.pop("time")
    assert seconds >= 0.0
    expected = {  # from CRFsuite 0.12.2
        "num": 1,
        "loss": 9.794014,
        "feature_norm": 1.0,
        "error_norm": 4.256767,
        "active_features": 4,
        "linesearch_trials": 1,
        "linesearch_step": 0.111111,
        "avg_precision": 0.333333,
        "avg_recall": 0.333333,
        "avg_f1": 0.333333,
        "item_accuracy_float": 0.5,
        "instance_accuracy_float": 0.0,
    }
    assert {name: parser.last_iteration[name] for name in expected} == expected
    assert parser.last_iteration["scores"]["A"] == LabelScore(1, 1, 1, 1.0, 1.0, 1.0)
    assert parser.last_iteration["scores"]["B"] == LabelScore(0, 1, 0, None, None, None)
    assert parser.featgen_num_features == 4
    assert parser.featgen_percent == 100
    names = [name for name, _, _ in parser.events if name != "featgen_progress"]
    assert names == ["start", "featgen_end", "prepared", "iteration", "optimization_end", "end"]
    assert "L-BFGS terminated with the maximum number of iterations\n" in parser.log
    assert parser.last_log.startswith("Storing the model\n")


@pytest.mark.parametrize(
    ("algorithm", "loss", "norms"),
    [
        ("ap", 5 / 6, [1.414214, 1.557574, 1.611936]),
        ("pa", 7 / 3, [0.881917] * 3),
        ("arow", 9 / 4, [0.612372] * 2),
    ],
)
def test_online_algorithms_are_those_of_crfsuite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str, loss: float, norms: list[float]
) -> None:
    # the numbers are those of CRFsuite when the first two sequences come first
    monkeypatch.setattr(Sequences, "order", lambda arrays, seed, number: arrays.filled)
    parser = log_of(algorithm, tmp_path / "m", max_iterations=3)
    assert [it["loss"] for it in parser.iterations] == pytest.approx(
        [loss] + [0.0] * (len(norms) - 1), abs=1e-6
    )
    assert [it["feature_norm"] for it in parser.iterations] == pytest.approx(norms, abs=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_and_is_repeatable(tmp_path: Path, algorithm: str) -> None:
    for name in ("one", "two"):
        trained(tmp_path / name, algorithm)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with pycrfsuite.Tagger().open(str(tmp_path / "one")) as tagger:
        assert [tagger.tag(x) for x in X] == Y


def test_parameters() -> None:
    trainer = pycrfsuite.Trainer()
    assert trainer.params()[3:] == [
        *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta"),
        *("linesearch", "max_linesearch"),
    ]
    trainer.set_params({"c1": "0.25", "max_iterations": 50.0, "feature.possible_states": True})
    assert trainer.get("c1") == 0.25
    assert trainer.get("max_iterations") == 50
    assert trainer.get("feature.possible_states") is True
    trainer.select("Passive-Aggressive")
    assert trainer.get_params() == {
        "feature.minfreq": 0.0,
        "feature.possible_states": False,
        "feature.possible_transitions": False,
        "type": 1,
        "c": 1.0,
        "error_sensitive": True,
        "averaging": True,
        "max_iterations": 100,
        "epsilon": 0.0,
    }
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: trainer.set("c1", True), "Parameter not found: c1 = 1"),
        (lambda: trainer.get("c1"), "Parameter not found: c1 = "),
        (lambda: trainer.help("c1"), "Parameter not found: c1"),
        (lambda: trainer.select("foo"), "Bad arguments: algorithm='foo', type='crf1d'"),
        (lambda: trainer.set("c", "much"), "Parameter c is 'much', expected a number"),
        (lambda: trainer.append([["a"]], []), "The numbers of items and labels differ: |x| = 1, |y| = 0"),
    ]
    for call, message in calls:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            call()


def test_help_and_the_head_of_the_log() -> None:
    for algorithm, known in PARAMETERS.items():
        trainer = pycrfsuite.Trainer(algorithm)
        for name in trainer.params():
            text = trainer.help(name)
            assert text.endswith(".")
            assert "\n" not in text
        head = list(
            METHODS[algorithm]({name: parameter.default for name, parameter in known.items()}).describe()
        )
        assert len(head) > 2
        assert all(re.fullmatch(r"[\w.]+: \S+\n", line) for line in head[1:])
    assert "L1" in pycrfsuite.Trainer("lbfgs").help("c1")
    assert "stop: 10\n" in METHODS["lbfgs"]({n: p.default for n, p in PARAMETERS["lbfgs"].items()}).describe()


def test_odd_trainings(tmp_path: Path) -> None:
    path = str(tmp_path / "m")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.train(path)  # no data: an empty model, as CRFsuite writes it
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    assert len(Path(path).read_bytes()) == 4236
    assert tagger.labels() == []
    assert tagger.tag([]) == []
    assert tagger.info().header["num_labels"] == "0"
    with pytest.raises(ValueError, match="no labels"):
        tagger.tag([["a"]])
    trainer.append([[]], ["A"])  # a label and no feature
    trainer.append([], [])
    trainer.train(path)
    trainer.append([["x"]], ["A"])  # one label
    trainer.train(path)
    tagger.open(path)
    assert tagger.labels() == ["A"]
    assert tagger.tag([["x"], []]) == ["A", "A"]
    trainer.clear()
    with pytest.raises(ValueError, match="The data is empty"):
        trainer.train(path)
    with pytest.raises(TypeError):
        trainer.train(tmp_path / "m")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="folder"):
        trainer.train(str(tmp_path / "none" / "m"))
    with pytest.raises(TypeError):
        trainer.append([["a"]], [1])  # type: ignore[list-item]
    trainer.append([["a\0b"]], ["A"])
    with pytest.raises(ValueError, match="NUL"):
        trainer.train(path)


def test_negative_values_are_kept_and_rare_features_dropped(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([{"n": -1.0}, {"n": -2.0}, {"n": 1.0}, {"n": 3.0}], ["P", "P", "N", "N"])
    trainer.train(str(tmp_path / "m"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    assert tagger.info().state_features[("n", "P")] < 0.0
    parser = log_of("lbfgs", tmp_path / "m", **{"feature.minfreq": 5, "feature.possible_states": True})
    assert parser.featgen_num_features == 3  # a-A, b-B, A-B; A-A is seen three times


def test_hooks_and_subclasses_without_init(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Bare(pycrfsuite.Trainer):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def message(self, message: str) -> None:
            self.lines.append(message)

    trainer = Bare()
    trainer.append(X[0], Y[0])
    trainer.train("")
    assert "type: CRF1d\n" in trainer.lines

    class Failing(pycrfsuite.BaseTrainer):
        def message(self, message: str) -> None:
            raise KeyError("mine")

    failing = Failing()
    failing.append(X[0], Y[0])
    with pytest.raises(KeyError, match="mine"):
        failing.train("")
    loud = pycrfsuite.Trainer("ap", {"max_iterations": 1})
    loud.append(X[0], Y[0])
    loud.train(str(tmp_path / "m"))
    shown = capsys.readouterr().out
    assert loud.logparser is not None
    assert shown == "".join(loud.logparser.log)
