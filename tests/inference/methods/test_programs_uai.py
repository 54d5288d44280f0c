"""Models of the UAI competitions that elimination cannot do: the best labeling is found and proved.

The values are in ``index.tsv``, beside the models; see the column ``MPE_proved_by``.
"""

from __future__ import annotations

import csv

import pytest

from crfkit import inference
from crfkit.graphs import load as load_graph
from crfkit.inference.methods import CombiLP
from tests.cases.real_data import DATA

UAI = DATA / "uai"


def proved(name: str) -> float:
    with (UAI / "index.tsv").open() as lines:
        rows = {row["name"]: row for row in csv.DictReader(lines, delimiter="\t")}
    return float(rows[name]["MPE_ln"])


@pytest.mark.skipif(not UAI.is_dir(), reason="no shared data")
@pytest.mark.parametrize(
    "name", ["GeomSurf-7-gm256", "SegmentationMAP_17", "Segmentation_13", "Promedus_17", "Pedigree_12"]
)
def test_the_best_labeling_is_proved(name: str) -> None:
    path = next(path for path in (UAI / f"{name}.uai", UAI / f"{name}.uai.gz") if path.exists())
    scores = load_graph(path, evidence=UAI / f"{name}.uai.evid")
    found = inference.decode(scores, method=CombiLP(seconds=None))
    assert found.info.exact.all()
    assert found.score == pytest.approx(proved(name), abs=1e-5)
    assert inference.score(scores, found) == pytest.approx(found.score, rel=1e-12)
