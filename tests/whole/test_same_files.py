"""A model file is a function of data, options and version: not of clocks, threads and folders."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import HMM, MEMM, ChainCRF, Graph, GraphCRF, SemiCRF
from crfkit.estimators import BoostedCRF, FactorialCRF, HiddenChainCRF, HiddenSequenceCRF, SkipChainCRF
from crfkit.estimators.classic import CodeCRF, KernelChainCRF, OpinionPool, VotedPerceptron
from tests.cases.estimators import W, X, Y

ROWS: Any = [np.array([[float(len(w)), float("a" in w)] for w in s]) for s in W]


def graphs(threads: int) -> Any:
    batch = Graph({"a": 2}, one=["a"], two=["a", "a"]).batch(
        graph_ptr={"a": [0, 3]}, labels={"a": [0, 1, 1]}, scopes={"two": [[0, 1], [1, 2]]}
    )
    return GraphCRF(batch.graph, n_jobs=threads).fit(batch)


MAKERS: dict[str, Callable[[int], Any]] = {
    "ChainCRF": lambda n: ChainCRF(n_jobs=n).fit(X, Y),
    "ChainCRF with a dev set": lambda n: ChainCRF(n_jobs=n).fit(X, Y, dev=(X[:5], Y[:5])),
    "ChainCRF by sgd": lambda n: ChainCRF(optimizer="sgd", n_jobs=n).fit(X, Y),
    "learned on": lambda n: ChainCRF(n_jobs=n).fit(X[:9], Y[:9]).partial_fit(X[9:], Y[9:]),
    "MEMM": lambda n: MEMM(n_jobs=n).fit(X, Y),
    "SemiCRF": lambda n: SemiCRF(n_jobs=n).fit(X, Y),
    "HMM": lambda n: HMM(n_jobs=n).fit(W, Y),
    "HiddenChainCRF": lambda n: HiddenChainCRF(n_jobs=n).fit(X, Y),
    "HiddenSequenceCRF": lambda n: HiddenSequenceCRF(n_jobs=n).fit(X, [y[-1] for y in Y]),
    "OpinionPool": lambda n: OpinionPool(experts=2, n_jobs=n).fit(X, Y),
    "CodeCRF": lambda n: CodeCRF(columns=3, n_jobs=n).fit(X, Y),
    "VotedPerceptron": lambda n: VotedPerceptron(n_jobs=n).fit(X, Y),
    "BoostedCRF": lambda n: BoostedCRF(n_jobs=n).fit(ROWS, Y),
    "KernelChainCRF": lambda n: KernelChainCRF(n_jobs=n).fit(ROWS, Y),
    "FactorialCRF": lambda n: FactorialCRF(n_jobs=n).fit(X, [[(y, y) for y in s] for s in Y]),
    "SkipChainCRF": lambda n: SkipChainCRF(equal="end", where=None, n_jobs=n).fit(X, Y),
    "GraphCRF": graphs,
}


def bytes_of(made: Any, path: Path) -> dict[str, bytes]:
    """Return the files that an estimator writes, by name."""
    (made if hasattr(made, "save") else made.model_).save(path)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files if file.is_file()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MAKERS)
def test_estimators_write_the_same_bytes_twice(name: str, tmp_path: Path) -> None:
    one, two = (bytes_of(MAKERS[name](threads), tmp_path / f"m{threads}") for threads in (1, 2))
    assert list(one.values()) == list(two.values()) != []


def test_the_command_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    lines = ["\n".join(f"{w} {y}" for w, y in zip(*pair, strict=True)) for pair in zip(W, Y, strict=True)]
    text = "\n\n".join(lines) + "\n"
    made = []
    for folder, threads in (("a", "1"), ("b", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.txt").write_text(text)
        words = ["train", "train.txt", "-o", "m.crf", "--jobs", threads]
        program = "from crfkit.cli import main; main()"
        subprocess.run(
            [sys.executable, "-c", program, *words], cwd=tmp_path / folder, check=True, capture_output=True
        )
        made.append((tmp_path / folder / "m.crf").read_bytes())
    assert made[0] == made[1]
    opened = crfkit.load(tmp_path / "a" / "m.crf").training
    assert opened is not None
    assert np.isnan(opened.seconds)
    assert "seconds" not in opened.history
    assert " s. " not in str(opened)
