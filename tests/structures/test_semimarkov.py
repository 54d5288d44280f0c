"""Lengths of segments that the data say, and files of models with weights of segments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import SemiMarkov, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.models import SequenceModel
from crfkit.models.files.compact import compacted, without_idle

FIELDS: dict[str, Any] = {
    "seq_ptr": [0, 4, 6],
    "attr_ptr": [0, 1, 2, 3, 4, 5, 6],
    "attr": [0, 1, 1, 2, 0, 2],
    "label": [0, 1, 1, 0, 1, 1],
    "begin": [True, True, False, True, True, True],
    "begin_ptr": [0, 1, 2, 3, 4, 4, 4],
    "begin_attr": [0, 1, 2, 0],
    "end_ptr": [0, 0, 0, 1, 1, 2, 2],
    "end_attr": [3, 4],
    "segment_ptr": [0, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3],
    "segment_attr": [5, 6, 7],
}
BATCH = Batch(**FIELDS)


def data() -> Dataset:
    segments = Alphabet(f"s{i}" for i in range(8))
    return Dataset(BATCH, Alphabet(["O", "N"]), Alphabet(["a", "b", "c"]), Alphabet(), segments)


def test_lengths_come_from_the_data() -> None:
    made = train(data(), structure=SemiMarkov()).structure
    assert isinstance(made, SemiMarkov)
    assert made.max_length == (1, 2)
    stretches = replace(BATCH, begin=None, segment_ptr=None, segment_attr=None)
    assert SemiMarkov(["O", "N"]).settled([stretches]).max_length == (1, 2)
    assert SemiMarkov(["O", "N"], 3).settled([BATCH]).max_length == (3, 3)
    assert SemiMarkov(["O", "N"], min_length=[2, 1]).settled([BATCH]).max_length == (2, 2)
    unknown = Batch(**{**FIELDS, "label": [0, -1, -1, 0, 1, 1], "begin": None})
    with pytest.raises(ValueError, match=r"give max_length, as in SemiMarkov\(max_length=4\)"):
        SemiMarkov(["O", "N"]).settled([unknown])


@pytest.mark.parametrize("smaller", [without_idle, compacted])
def test_smaller_models_answer_the_same(smaller: object) -> None:
    model = train(data(), structure=SemiMarkov(max_length=2))
    w = model.w.copy()
    for block in ("node", "begin", "segment", "length"):
        w[model.layout.parts[block].start] = 0.0
    given = replace(model, w=w)
    made = smaller(given)  # type: ignore[operator]
    assert isinstance(made, SequenceModel)
    kept, all_names = made.names.segment_attributes.strings(), given.names.segment_attributes.strings()
    assert set(kept) < set(all_names)
    shown = data()
    assert made.predict(shown) == given.predict(shown)
    for a, b in zip(made.predict_proba(shown), given.predict_proba(shown), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    again = SequenceModel.from_bytes(given.to_bytes())
    np.testing.assert_array_equal(again.predict_proba(shown)[0], given.predict_proba(shown)[0])
    assert len(again.names.segment_attributes) < len(all_names)


@pytest.mark.parametrize(("longest", "positions", "refused"), [(9000, 9000, True), (900, 90_000, False)])
def test_a_segment_of_all_data_is_no_bound_for_lengths(longest: int, positions: int, refused: bool) -> None:
    begin = np.ones(positions, np.bool_)
    begin[1:longest] = False
    label = np.where(np.arange(positions) < longest, 0, 1).astype(np.int32)
    none = np.zeros(0, np.int32)
    ptr = np.zeros(positions + 1, np.int64)
    batch = Batch(np.array([0, positions]), ptr, none, label=label, begin=begin)
    if refused:
        with pytest.raises(ValueError, match=r"has 9,000 positions, .* at 81,000,000"):
            SemiMarkov(["X", "O"]).settled([batch])
    else:
        assert SemiMarkov(["X", "O"]).settled([batch]).max_length == (900, 1)
