"""The same model and the same data have the same score wherever it is asked for."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import (
    HMM,
    MEMM,
    BoostedCRF,
    Chain,
    ChainCRF,
    FactorialCRF,
    HiddenChainCRF,
    SemiCRF,
    SkipChainCRF,
    Stop,
    metrics,
)
from crfkit.constraints import Scheme
from crfkit.errors import DataWarning
from crfkit.estimators.classic import CodeCRF, KernelChainCRF, OpinionPool, VotedPerceptron
from crfkit.training import Boosting
from tests.cases.cli import run

FEW = Stop(max_iterations=3, tolerance=1e-9)  # models that err


def sentences(N: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Return words and tags that words do not quite tell."""
    draw = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(N):
        T = int(draw.integers(1, 7))
        tag: list[str] = []
        for _ in range(T):
            inside = bool(tag) and tag[-1] != "O"
            tag.append(draw.choice(["B-A", "B-C", "O", *([f"I-{tag[-1][2:]}"] * 2 if inside else ["O"])]))
        tags.append([str(y) for y in tag])
        words.append([str(y[-1] if draw.random() < 0.6 else draw.choice(["x", "z"])) for y in tag])
    return words, tags


W, Y = sentences(60, 0)
W_TEST, Y_TEST = sentences(40, 1)


def arrays(words: list[list[str]]) -> list[np.ndarray[Any, Any]]:
    return [np.array([[w == v for v in "ACOxz"] for w in s], dtype=float).reshape(-1, 5) for s in words]


def plain(tags: list[list[str]]) -> list[list[str]]:
    return [[y.rpartition("-")[2] for y in s] for s in tags]


CASES: dict[str, tuple[Any, Any]] = {
    "chain": (ChainCRF(features="0[0]", stop=FEW), None),
    "scheme": (ChainCRF(features="0[0]", stop=FEW, structure=Chain(constraints=[Scheme("BIO")])), None),
    "encoding": (ChainCRF(features="0[0]", stop=FEW, train_scheme="BIOES"), None),
    "memm": (MEMM(features="0[0]", stop=FEW), None),
    "semi": (SemiCRF(features="0[0]", stop=FEW), None),
    "hidden": (HiddenChainCRF(features="0[0]", stop=FEW), None),
    "pool": (OpinionPool(experts=2, features="0[0]", stop=FEW), None),
    "code": (CodeCRF(features="0[0]", stop=FEW), None),
    "voted": (VotedPerceptron(features="0[0]", max_passes=2), None),
    "hmm": (HMM(), None),
    "boosted": (BoostedCRF(boosting=Boosting(rounds=3)), arrays),
    "kernel": (KernelChainCRF(), arrays),
    "skip": (SkipChainCRF(features="0[0]", where=None, stop=FEW), None),
}
#: Those whose files ``crfkit evaluate`` reads, and which decide as their models do.
SHELL = ("chain", "scheme", "encoding", "memm", "semi", "hidden", "pool")
TAGS = ("encoding", "scheme", "semi")  #: need tags


@pytest.mark.filterwarnings("ignore:training ended")
@pytest.mark.parametrize(
    ("name", "spelled"),
    [(name, True) for name in CASES] + [(name, False) for name in CASES if name not in TAGS],
)
def test_scores_are_the_same_everywhere(name: str, spelled: bool, tmp_path: Path) -> None:
    estimator, made_of = CASES[name]
    gold, test = (Y, Y_TEST) if spelled else (plain(Y), plain(Y_TEST))
    X, X_test = (W, W_TEST) if made_of is None else (made_of(W), made_of(W_TEST))
    crf = estimator.__class__(**estimator.get_params(deep=False)).fit(X, gold)
    found = crf.predict(X_test)
    strict: dict[str, Any] = {"scheme": "BIO"} if name == "scheme" else {}
    f1, accuracy = metrics.metric("span_f1", **strict), metrics.metric("accuracy")
    expected = f1(test, found) if spelled else accuracy(test, found)
    assert 0.05 < expected < 0.99
    assert crf.score(X_test, test) == pytest.approx(expected, abs=1e-12)
    if spelled:
        crf.set_params(metric="accuracy")
        assert crf.score(X_test, test) == pytest.approx(accuracy(test, found), abs=1e-12) != expected
    if name not in SHELL:
        return
    assert crf.model_.score(X_test, test) == pytest.approx(expected, abs=1e-12)
    crf.model_.save(tmp_path / "m.crf")
    assert crfkit.load(tmp_path / "m.crf").score(X_test, test) == pytest.approx(expected, abs=1e-12)
    lines = ("\n".join(map("\t".join, zip(w, y, strict=True))) for w, y in zip(W_TEST, test, strict=True))
    (tmp_path / "test.txt").write_text("\n\n".join(lines) + "\n")
    told = json.loads(run("evaluate", tmp_path / "m.crf", tmp_path / "test.txt", "--json").stdout)
    assert told["metric"] == ("span_f1" if spelled else "accuracy")
    assert told["score"] == pytest.approx(expected, abs=1e-12)
    text = run("evaluate", tmp_path / "m.crf", tmp_path / "test.txt").stdout
    assert text.splitlines()[-1].startswith(f"{told['metric']} {expected:.4f}")


@pytest.mark.parametrize("structure", ["chain", "semi"])
def test_dev_sets_of_the_shell_are_judged_as_test_sets(structure: str, tmp_path: Path) -> None:
    for name, words, tags in (("train", W, Y), ("test", W_TEST, Y_TEST)):
        lines = ("\n".join(map("\t".join, zip(w, y, strict=True))) for w, y in zip(words, tags, strict=True))
        (tmp_path / f"{name}.txt").write_text("\n\n".join(lines) + "\n")
    train, test, model = (tmp_path / name for name in ("train.txt", "test.txt", "m.crf"))
    given = ("--structure", structure, "--json", "-q", "--jobs", 1)
    made = json.loads(run("train", train, "-o", model, "--dev", test, *given).stdout)
    told = json.loads(run("evaluate", model, test, "--json").stdout)
    assert made["metric"] == told["metric"] == "span_f1"
    assert made["score"] == pytest.approx(told["score"], abs=1e-12)
    folds = json.loads(run("cv", train, "--folds", 2, *given).stdout)
    assert list(folds["metrics"]) == ["span_f1", "accuracy"]


def test_columns_are_each_judged_by_their_labels() -> None:
    tags = {"tag": Y, "letter": plain(Y)}
    crf = FactorialCRF(features="0[0]", stop=Stop(max_iterations=2)).fit(W, tags)
    found = crf.predict(W_TEST)
    test = {"tag": Y_TEST, "letter": plain(Y_TEST)}
    each = [
        metrics.metric("span_f1")(test["tag"], found["tag"]),
        metrics.metric("accuracy")(test["letter"], found["letter"]),
    ]
    assert crf.score(W_TEST, test) == pytest.approx(np.mean(each))
    holes: Any = {"tag": [[None, *y[1:]] for y in Y_TEST], "letter": plain(Y_TEST)}
    with pytest.raises(ValueError, match="'tag': sequence 0 has positions without a label"):
        crf.score(W_TEST, holes)
    assert 0 < crf.set_params(metric="accuracy").score(W_TEST, holes) < 1


def test_unknown_gold_is_told_by_scores_and_dev_sets() -> None:
    crf = ChainCRF(features="0[0]").fit(W, Y)
    new = [["B-NEW" if y == "B-A" else y for y in s] for s in Y_TEST]
    others = [[f"{y[0]}-NEW" if y != "O" else y for y in s] for s in Y_TEST]

    def evaluate(X: Any, y: Any) -> float:
        return float(crf.model_.evaluate(X, y))

    for ask in (crf.score, evaluate):
        with pytest.warns(DataWarning, match=r"does not know: B-NEW \(\d+\)"):
            ask(W_TEST, new)
        with pytest.raises(ValueError, match=r"entity types \(NEW\)"):
            ask(W_TEST, others)
    with pytest.warns(DataWarning, match=r"the dev set has labels .* B-NEW"):
        ChainCRF(features="0[0]").fit(W, Y, dev=(W_TEST, new))
    with pytest.raises(ValueError, match=r"the dev set: none of its entity types \(NEW\)"):
        ChainCRF(features="0[0]").fit(W, Y, dev=(W_TEST, others))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        crf.score(W_TEST, Y_TEST)


@pytest.mark.filterwarnings("default::crfkit.errors.DataWarning")
def test_other_labels_are_refused_in_the_shell(tmp_path: Path) -> None:
    def write(name: str, tags: list[list[str]]) -> Path:
        lines = ("\n".join(map("\t".join, zip(w, y, strict=True))) for w, y in zip(W, tags, strict=True))
        (tmp_path / name).write_text("\n\n".join(lines) + "\n")
        return tmp_path / name

    train = write("train.txt", Y)
    new = write("new.txt", [["B-NEW" if y == "B-A" else y for y in s] for s in Y])
    others = write("others.txt", [["O" if y == "O" else f"{y[0]}-NEW" for y in s] for s in Y])
    model = tmp_path / "m.crf"
    run("train", train, "-o", model, "-q", "--jobs", 1)
    assert "new.txt has labels that" in run("evaluate", model, new).stderr
    told = run("evaluate", model, others, status=2).stderr
    assert "none of its entity types (NEW) is one of" in told
    assert "(A, C)" in told
    told = run("train", train, "-o", tmp_path / "x", "--dev", others, "-q", status=2).stderr
    assert "the dev set: none of its entity types (NEW)" in told
    assert not (tmp_path / "x").exists()
    told = run("train", train, "-o", tmp_path / "x", "--dev", new, "-q").stderr
    assert "warning: the dev set has labels that the model does not know: B-NEW" in told


def test_a_metric_of_none_is_refused() -> None:
    with pytest.raises(TypeError, match="metric is None, expected a name, 'auto' or a function"):
        ChainCRF(features="0[0]", metric=None).fit(W, Y)  # type: ignore[arg-type]
