"""Passes of the dual that are ended at any moment: all of their threads end."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest

from crfkit import Stop, _native, train
from crfkit.features import ItemExtractor
from tests.cases.forks import answer_of_child


def test_threads_of_a_pass_end_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is late at a barrier must not see a failure that comes after it, and leave the others there."""
    monkeypatch.setattr("crfkit.optimize.dual.passes.usable_cores", lambda: 4)
    draw = np.random.default_rng(0)
    X = [[[f"a{i}" for i in draw.integers(0, 900, 4).tolist()] for _ in range(20)] for _ in range(300)]
    data = ItemExtractor()(X, [[f"l{i}" for i in draw.integers(0, 12, 20).tolist()] for _ in X])

    stop = Stop(max_seconds=9.0, tolerance=0.0)

    def ended() -> int:
        chance = random.Random(0)
        for _ in range(40):
            asked = _native.Stop()

            def call(asked: _native.Stop = asked) -> object:
                return asked.run(lambda: train(data, optimizer="dual", n_jobs=4, stop=stop))

            thread = threading.Thread(target=call)
            thread.start()
            time.sleep(0.03 + chance.uniform(0.0, 0.03))
            asked.ask()
            thread.join()
        return 40

    assert answer_of_child(ended, 60.0) == "40"
