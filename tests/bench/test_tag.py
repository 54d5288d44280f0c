"""The benchmark of tagging: features, the endless stream, ratios."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest

from bench import tag
from bench.features import CHUNKING
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor

SENTENCES = [[["The", "DT", "B"], ["old", "JJ", "I"], ["dog", "NN", "I"]], [["Run", "VB", "B"]]]


def test_features_are_those_of_the_model() -> None:
    dataset = Extractor(CHUNKING, label=None)(Columns.from_rows(SENTENCES, names=["0", "1", "2"]))
    names, ptr = dataset.attributes.strings(), dataset.batch.attr_ptr.tolist()
    attributes = [names[a] for a in dataset.batch.attr.tolist()]
    expected = [attributes[a:b] for a, b in pairwise(ptr)]
    for features in (tag.token_by_token, tag.column_by_column):
        assert [item for rows in SENTENCES for item in features(rows)] == expected


def test_words_never_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag, "sentences", lambda: SENTENCES)
    chunks = list(islice(tag.endless(10**9), 3))
    assert chunks[0] == b"1xThe DT\nold JJ\ndog NN\n\nRun VB\n\n"
    assert len({chunk.split()[0] for chunk in chunks}) == 3
    assert len(list(tag.endless(100))) == 4


def test_table() -> None:
    rows = [
        {"what": "file to labels|crfkit", "median": 0.1},
        {"what": "file to labels|token by token", "median": 2.0},
        {"what": "file to labels|column by column", "median": 0.5},
        {"what": "opening the model|drop-in", "median": 0.1},
        {"what": "start", "least": 0.2, "middle": 0.3, "processor": 0.15, "runs": 9},
    ]
    text = tag.table(rows)
    assert "| file to labels | crfkit | 100.0 | 20.0x and 5.0x |" in text
    assert "| file to labels | python-crfsuite, token by token | 2000.0 |  |" in text
    assert "| opening the model | drop-in | 100.0 |  |" in text
    assert "0.20 s at the least, 0.30 s in the middle of 9 starts; 0.15 s of the processor" in text
