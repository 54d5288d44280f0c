"""Addresses of the United States as people labeled them: the data of usaddress, under the MIT license."""

from __future__ import annotations

from importlib.resources import as_file, files

from crfkit.data.formats.columns import Columns
from crfkit.data.reading import read
from crfkit.datasets.sample import Sample, doc_of
from crfkit.text.doc import Doc

__all__ = ["load_addresses"]


def load_addresses() -> Sample:
    """Return real addresses of the United States, with one of 29 labels for each word.

    They are the training and test data of the parser usaddress, without the 8 test addresses that also occur
    in the training data; the ``about`` of the sample says more. Blanks separate words, and commas stay with
    their words: the tokenizer is `crfkit.text.Blanks`.

    Returns
    -------
    Sample
        1,513 documents to train on, 138 to test on.

    Examples
    --------
    >>> sample = load_addresses()
    >>> doc = sample.train[0]
    >>> doc.text, doc.labels[:3]
    ('8128 S. DR MARTIN LUTHER KING JR Drive', ('AddressNumber', 'StreetNamePreDirectional', 'StreetName'))
    """
    here = files("crfkit.datasets") / "files"
    return Sample(
        "addresses",
        _docs("train"),
        _docs("test"),
        about=(here / "addresses.md").read_text(encoding="utf-8"),
        license="MIT",
    )


def _docs(part: str) -> list[Doc]:
    with as_file(files("crfkit.datasets") / "files" / f"addresses.{part}.txt.gz") as path:
        columns = read(path, "columns", header=False)
    assert isinstance(columns, Columns)
    return [doc_of(rows, f"{part}-{n}") for n, rows in enumerate(columns, 1)]
