"""The experiment on dynamic CRFs."""

from __future__ import annotations

import numpy as np

from crfkit.papers.dcrf import Found


def test_measures() -> None:
    found = Found(np.array([[4.0, 3, 2, 1], [6.0, 3, 6, 3]]), np.array([[1.0, 2, 2], [1.0, 1, 2]]))
    assert [found.measure(name) for name in ("tags", "phrases", "both")] == [60.0, 80.0, 40.0]
    np.testing.assert_allclose(found.measure("F1 of phrases"), 100.0 * 4 / 7)
