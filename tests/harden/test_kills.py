"""A few kills during training and saving in every run of the suite; `make harden` tries more."""

import os
from pathlib import Path

import pytest

from tests.harden.kills import killed_saving, killed_training, prepare

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="SIGKILL of POSIX")]


def test_killed_training_and_saving(tmp_path: Path) -> None:
    prepare(tmp_path, lines=100)
    trained = killed_training(tmp_path, runs=3, seed=2)
    saved = killed_saving(tmp_path, runs=5, seed=3)
    assert trained["kills"] == 3
    assert saved["kills"] == 5
    assert trained["old model"] + trained["new model"] >= 3
