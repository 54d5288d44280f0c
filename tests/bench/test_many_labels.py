"""The benchmark of many labels: what it reads of CRFsuite, dense steps, its table."""

from __future__ import annotations

import numpy as np
import pytest

from bench import many_labels
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from tests.cases.batches import random_batch


def small() -> tuple[Dataset, Layout]:
    batch = random_batch(np.random.default_rng(0), [7] * 9, 30, 12, least=1)
    data = Dataset(batch, Alphabet(map(str, range(12))), Alphabet(map(str, range(30))), Alphabet())
    return data, Layout.observed(batch, 12, transitions="observed")


def test_evaluations_of_crfsuite_are_those_between_iterations() -> None:
    steps = many_labels.Steps()
    steps("Number of features: 7\nLine search trials: 2\nSeconds required for this iteration: 0.1\n")
    steps("Line search trials: 1\nSeconds required for this iteration: 0.1\n")
    assert [evaluations for _, evaluations in steps.marks] == [3, 4]
    steps.marks = [(5.0, 2), (7.0, 3), (11.0, 5)]
    assert steps.seconds == 2.0


def test_objective_with_dense_steps() -> None:
    data, layout = small()
    assert many_labels.difference_from_dense(data, layout) < 1e-12


def test_rows_and_ratios() -> None:
    data, layout = small()
    rows = list(many_labels.evaluation("x", data, layout, 1, 2, lambda: 1.0))
    assert [row["who"] for row in rows] == ["crfkit, 1 thread", "crfkit, 2 threads, wall", "CRFsuite"]
    assert rows[2]["median"] == data.batch.positions
    rows = [{"what": "x", "who": "crfkit", "tokens": 9, "median": 0.5, "spread": 0.1}]
    table = many_labels.table([*rows, {**rows[0], "who": "CRFsuite", "median": 5.0}])
    assert "| x | crfkit | 9 | 0.5 ± 10 % | 10.0x |" in table
    assert "| x | CRFsuite | 9 | 5 ± 10 % |  |" in table


def test_wrong_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["many_labels", "--only", "nothing"])
    with pytest.raises(SystemExit):
        many_labels.main()
