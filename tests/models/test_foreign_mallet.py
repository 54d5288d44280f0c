"""Models of MALLET: the answers of the original, and what cannot be read."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from crfkit import inference
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel
from crfkit.models.files import doubled, read_model_bytes
from tests.cases.foreign_models import MALLET


def mallet_score(path: tuple[str, ...], tokens: list[list[str]]) -> float:
    """Score a path as MALLET does, from the text above."""
    sets = {
        "O,O": (0.5, {"W=a": 1.5, "x = y": -0.25}),
        "O,B": (-0.5, {"W=a": 0.75, "W=b": 0.2}),
        "B,O": (0.125, {"W=b": -1.0}),
        "shared": (0.0625, {"W=a": 0.03125}),
    }
    total, before = 0.0, "O"
    for label, token in zip(path, tokens, strict=True):
        used = [f"{before},{label}"] + (["shared"] if before == "B" else [])
        for name in used:
            if name not in sets:
                return -np.inf
            default, weights = sets[name]
            total += default + sum(weights.get(f, 0.0) for f in token)
        before = label
    return total + (0.25 if before == "B" else 0.0)


def test_mallet_by_enumeration() -> None:
    model = read_model_bytes(MALLET.encode())
    assert model.names.labels.strings() == ["O", "B"]
    assert sorted(model.attributes.strings()) == ["W=a", "W=b", "x = y"]
    tokens = [["W=a", "new"], ["W=b", "x = y"], ["W=a", "W=a"], []]
    given = doubled(ItemExtractor()([tokens]))
    potentials = model.potentials(model.batch_of(given)).sequence(0)
    everything = {path: mallet_score(path, tokens) for path in product("OB", repeat=len(tokens))}
    for path, expected in everything.items():
        assert inference.score(potentials, list(path)) == pytest.approx(expected, abs=1e-12)
    total = np.logaddexp.reduce(list(everything.values()))
    assert inference.log_partition(potentials) == pytest.approx(total, abs=1e-12)
    assert model.predict(given) == [list(max(everything, key=lambda path: everything[tuple(path)]))]
    again = SequenceModel.from_bytes(model.to_bytes())
    assert again.predict(given) == model.predict(given)


def test_mallet_weights_by_label_alone_need_no_edges() -> None:
    text = MALLET.replace('WEIGHTS = "B,O"', 'WEIGHTS = "O,O"').replace('        WEIGHTS = "shared"\n', "")
    model = read_model_bytes(text.encode())
    assert len(model.edge_attributes) == 0
    assert model.predict(ItemExtractor()([[["W=a"], ["W=b"]]])) == [["O", "O"]]


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (MALLET.replace("-Infinity", "0.0"), "differ; crfkit has no such start"),
        (MALLET.replace("initialWeight = 0.0", "initialWeight = -Infinity"), "no state can come before"),
        (MALLET.replace("*** CRF WEIGHTS ***", ""), "does not belong to a state"),
        (MALLET[:187], "there is no"),
        (MALLET.replace("(1 outgoing", "(2 outgoing"), "has 1 steps, but claims 2"),
        (MALLET.replace('"shared"', '"lost"'), "has no such state or weights"),
        (MALLET.replace("0.75", "NaN"), "a weight is NaN"),
        (MALLET.replace("= 0.75", ""), "is not a feature and weight"),
    ],
)
def test_mallet_damage(damaged: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"m.txt cannot be read as a model of MALLET.*{message}"):
        read_model_bytes(damaged.encode(), "mallet", source="m.txt")
