"""Every smooth objective trains by name: from `train`, estimators, the command line, under L1 and L2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crfkit import ChainCRF, train
from crfkit.features import ItemExtractor
from crfkit.objectives.registry import OBJECTIVES
from crfkit.training import BlockedData
from tests.cases.cli import run, written
from tests.cases.estimators import NEAR, X_TEST, Y_TEST, X, Y

SMOOTH = [name for name, objective in OBJECTIVES.items() if objective.smooth]


@pytest.mark.parametrize("name", SMOOTH)
def test_objectives_train_by_name(name: str) -> None:
    crf = ChainCRF(objective=name, n_jobs=1).fit(X, Y)
    assert crf.predict(X_TEST) == Y_TEST
    model = train(ItemExtractor()(X, Y), objective=name, n_jobs=1)
    np.testing.assert_array_equal(model.w, crf.model_.w)


@pytest.mark.parametrize("name", SMOOTH)
def test_blocks_on_disk_give_the_same_optimum(name: str, tmp_path: Path) -> None:
    data = ItemExtractor()(X, Y)
    blocks = BlockedData.write(tmp_path, (data[i : i + 7] for i in range(0, 24, 7)))
    given, whole = (train(d, objective=name, optimizer=NEAR, n_jobs=1) for d in (blocks, data))
    np.testing.assert_allclose(given.w, whole.w, atol=1e-5)


@pytest.mark.parametrize("name", SMOOTH)
def test_objectives_take_l1(name: str) -> None:
    crf = ChainCRF(objective=name, n_jobs=1).set_params(objective__l1=0.3, objective__l2=0.0).fit(X, Y)
    assert np.count_nonzero(crf.model_.w) < len(crf.model_.w) / 2
    assert crf.predict(X_TEST) == Y_TEST


@pytest.mark.parametrize("name", SMOOTH)
def test_the_command_line_takes_the_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(written())
    run("train", tmp_path / "train.txt", "-o", tmp_path / "m.crf", "--objective", name, "-q")
    assert "span_f1 1.0000" in run("evaluate", tmp_path / "m.crf", tmp_path / "train.txt").output
