"""Mean field, TreeEP and Gibbs sampling on UAI models: bounds hold, and trouble is noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import inference
from crfkit.data.graphs import read_result
from crfkit.graphs import load as load_graph
from crfkit.inference.methods import ExpectationPropagation, Gibbs, MeanField
from tests.cases.real_data import DATA

UAI = DATA / "uai"

pytestmark = pytest.mark.skipif(not UAI.is_dir(), reason="needs the models of the UAI competition")


def load(name: str) -> tuple[Any, float]:
    """Return the scores of a model, and log Z as the reference has it, with six digits."""
    path = UAI / f"{name}.uai"
    value: Any = read_result(f"{path}.PR").value
    return load_graph(path, evidence=f"{path}.evid"), value * np.log(10.0)


@pytest.mark.parametrize("name", ["CSP_11", "Grids_17", "Segmentation_14", "Pedigree_12", "linkage_16"])
def test_mean_field_is_a_bound(name: str) -> None:
    scores, reference = load(name)
    naive = inference.log_partition(scores, method=MeanField())
    forest = inference.log_partition(scores, method=MeanField("forest"))
    assert -np.inf < naive < forest < reference + 1e-5 * abs(reference)


def test_trees_are_near_where_labels_are_forbidden() -> None:
    scores, reference = load("Promedus_17")
    found = inference.log_partition(scores, method=ExpectationPropagation())
    assert found.info.converged.all()
    assert found == pytest.approx(reference, abs=0.1)


def test_chains_that_mix_and_chains_that_do_not() -> None:
    scores, _ = load("ObjectDetection_34")
    found = inference.marginals(scores, method=Gibbs(block=True))
    wanted: Any = read_result(UAI / "ObjectDetection_34.uai.MAR").marginals
    np.testing.assert_allclose(np.concatenate(found["variable"]), wanted, atol=0.01)
    assert found.info.converged.all()
    stuck = inference.marginals(load("Promedus_11")[0], method=Gibbs(block=True))
    assert not stuck.info.converged.any()
