"""`train` on documents of raw text: in memory, from a reader, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, Doc, SemiCRF
from crfkit.text import write
from tests.cases.documents import DOCS, made

TEXT = "Ana Ruiz saw New York."


@pytest.mark.parametrize("structure", ["chain", "semi-markov"])
def test_documents_are_trained_on_from_anywhere(structure: str, tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    write(DOCS, path)
    estimator = {"chain": ChainCRF, "semi-markov": SemiCRF}[structure]
    expected = estimator(tokenizer="words").fit(DOCS).model_
    for data in (DOCS, tuple(DOCS), path, str(path), crfkit.text.read(path)):
        model = crfkit.train(data, structure=structure, progress=False)
        assert np.array_equal(model.w, expected.w)
        assert model(TEXT) == expected(TEXT)
        assert model.training is not None
        assert model.training.alignment == expected.training.alignment
        assert model.score(DOCS) == 1.0


def test_options_of_documents() -> None:
    model = crfkit.train(DOCS, tokenizer="blanks", sentences="lines", alignment="unknown", progress=False)
    assert model.text is not None
    assert (model.text.tokenizer.kind, model.text.sentences.rule) == ("blanks", "lines")
    assert model.training is not None
    assert model.training.alignment is not None
    assert model.training.alignment.unknown > 0


def test_a_dev_set_of_documents_is_cut_as_the_training_data(tmp_path: Path) -> None:
    dev = [made("[Leo PER] saw [New York LOC].")]
    write(dev, tmp_path / "dev.jsonl")
    for judged in (dev, tmp_path / "dev.jsonl"):
        model: Any = crfkit.train(DOCS, judged, tokenizer="words", progress=False)
        assert model.training.metric == "span_f1"
        assert model.training.score == 1.0


def test_wrong_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="tokenizer is for documents of raw text"):
        crfkit.train(crfkit.read(_columns(tmp_path)), tokenizer="words", progress=False)
    with pytest.raises(
        ValueError, match=r"document 'x': spans lie over each other: 'Ana R' \(A\) over 'Ana Ruiz'"
    ):
        crfkit.train(
            [Doc("Ana Ruiz", spans=[(0, 5, "A"), (0, 8, "B")], id="x")], alignment="strict", progress=False
        )
    with pytest.raises(ValueError, match=r"a span does not lie within the text: \(0, 99, 'A'\)"):
        crfkit.train([Doc("Ana", spans=[(0, 99, "A")])], alignment="strict", progress=False)
    path = tmp_path / "bare.jsonl"
    path.write_text('{"text": null, "spans": []}\n')
    with pytest.raises(ValueError, match=r"bare\.jsonl: no document has a text: 1 document without text"):
        crfkit.train(path, progress=False)


def _columns(folder: Path) -> Path:
    path = folder / "train.txt"
    path.write_text("the D\ndog N\n")
    return path
