"""Every optimizer on data without values, of zeros, of columns, without attributes: trained or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.training.choose import NAMES, by_name, check_suits
from tests.cases.matrix import STRUCTURES, data, goal, penalty_of

VARIANTS: dict[str, dict[str, Any]] = {
    "without values": {"value": None},
    "values of 0": {"value": 0.0},
    "columns": {"dense": 2},
    "without attributes": {"attr": None},
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("structure", ["order 1", "order 2", "order 3", "semi"])
def test_other_data_train_or_are_refused(structure: str, variant: str, name: str) -> None:
    given, made = data("path", structure, weights=False), STRUCTURES[structure]
    P, change = given.positions, VARIANTS[variant]
    if "dense" in change:
        given = replace(given, dense=np.abs(np.random.default_rng(1).normal(size=(P, change["dense"]))))
    elif "attr" in change:
        none = np.zeros(0, np.int32)
        given = replace(given, attr_ptr=np.zeros(P + 1, np.int64), attr=none, value=None)
    else:
        assert given.value is not None
        given = replace(given, value=None if change["value"] is None else given.value * change["value"])
    for objective in ("likelihood", "perceptron", "max-margin", "exponential"):
        loss = goal(objective).bind(Layout.all_pairs(given, made), made, given, threads=1)
        optimizer, penalty = by_name(name), penalty_of(objective, name, loss)
        try:
            check_suits(loss, optimizer, penalty)
        except NotCoveredError:
            continue
        run = optimizer.start(loss, penalty, np.zeros(loss.size))
        for _ in range(3):
            step = run.step()
            assert np.isfinite(step.objective)
            if step.stopped:
                break
        assert np.isfinite(run.w).all()
