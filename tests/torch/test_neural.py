"""`crfkit reproduce neural`, quickly: the swap with pytorch-crf, and the optimum of a linear CRF by torch."""

from __future__ import annotations

import pytest

from crfkit.papers import EXPERIMENTS, Given


@pytest.mark.parametrize("name", ["neural"])
def test_losses_of_pytorch_crf_and_the_certified_optimum(name: str) -> None:
    pytest.importorskip("torchcrf")
    experiment = EXPERIMENTS[name].make(Given(quick=True, threads=1))
    found = {}
    for quantity in experiment.quantities():
        kind = quantity.name.partition(":")[0]
        if kind in ("linear", "swap"):
            number = experiment.measure(quantity, 0)
            assert isinstance(number, float)
            found[quantity.name] = number
    assert found["swap: largest relative difference of losses"] < 1e-5
    best = found["linear: objective by crfkit"]
    assert found["linear: objective by torch"] == pytest.approx(best, rel=1e-4)
