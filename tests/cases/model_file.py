"""A model with a recipe, and the data that it was trained on, for tests of its file."""

from __future__ import annotations

import pytest

from crfkit.data.formats.columns import Columns
from crfkit.models import SequenceModel
from crfkit.models.files.compact import without_idle
from tests.cases.models import native_model

ROWS = [
    [("York", "NN", "I"), ("the", "DT", "O"), ("New", "NN", "B"), ("York", "NN", "I")],
    [("a", "DT", "O")],
]
COLUMNS = Columns.from_rows(ROWS, names=["word", "pos", "tag"])


@pytest.fixture(scope="module")
def model() -> SequenceModel:
    return without_idle(native_model())  # files leave idle attributes out
