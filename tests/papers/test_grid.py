"""The experiment on grids of pixels."""

from __future__ import annotations

import numpy as np

from crfkit.papers.images import generated_images


def test_batches_of_images() -> None:
    images = generated_images(4, 8)
    batch = images.batch(np.array([0, 2]), True)
    assert batch.graphs == 2
    assert batch.variables == 128
    assert {name: len(scope) for name, scope in batch.scopes.items()} == {
        "look": 128,
        "right": 112,
        "down": 112,
    }
    contrast = batch.features["right"].dense
    assert contrast is not None
    assert (contrast.sum(axis=1) == 1.0).all()
    assert np.ptp(images.features[0][:, 0]) == 0.0  # the column of ones
