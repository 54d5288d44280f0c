"""Models of the UAI competition: answers as in the reference files, which have six digits."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit import inference
from crfkit.data.graphs import read_result
from crfkit.graphs import load as load_graph
from crfkit.inference.methods import Elimination, TooWideError
from tests.cases.real_data import DATA

UAI = DATA / "uai"
MODELS = (
    *("Alchemy_11", "CSP_12", "Grids_11", "Grids_12", "Grids_13", "Pedigree_11", "Pedigree_12"),
    *(f"ObjectDetection_{n}" for n in (34, 56)),
    *(f"Promedus_{n}" for n in (11, 13, 15, 17, 24, 26, 30, 34)),
    *(f"Segmentation_{n}" for n in (11, 12, 13, 14)),
    *(f"linkage_{n}" for n in (16, 21)),
)

pytestmark = pytest.mark.skipif(not UAI.is_dir(), reason="needs the models of the UAI competition")


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_the_competition(name: str) -> None:
    path = UAI / f"{name}.uai"
    scores = load_graph(path, evidence=f"{path}.evid")
    found = inference.marginals(scores, method=Elimination())
    wanted = read_result(f"{path}.MAR").marginals
    assert wanted is not None
    np.testing.assert_allclose(np.concatenate(found["variable"]), wanted, atol=1e-6)
    log10, reference = float(found.log_partition) / np.log(10.0), read_result(f"{path}.PR").value
    assert log10 == pytest.approx(reference, rel=6e-6)
    best = inference.decode(scores, method=Elimination())
    optimum = inference.score(scores, {"variable": read_result(f"{path}.MPE").labels})
    assert best.score == pytest.approx(optimum, rel=1e-12)


@pytest.mark.parametrize("name", ["GeomSurf-7-gm256", "SegmentationMAP_17"])
def test_models_that_are_too_wide_are_refused(name: str) -> None:
    scores = load_graph(UAI / f"{name}.uai.gz")
    with pytest.raises(TooWideError, match=r"graph 0 is too wide .* need [\d.]+e\+1\d cells"):
        inference.log_partition(scores, method=Elimination())
