"""Corpora of a folder: what is known of them, what is missing, what is not the same file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crfkit.datasets import list_corpora, load_corpus
from crfkit.datasets.corpora import CORPORA
from crfkit.errors import DataWarning

DATA = os.environ.get("CRFKIT_DATA", "../shared/data")


@pytest.mark.parametrize("name", CORPORA)
def test_the_real_files(name: str) -> None:
    """No warning: their hashes are those of the registry."""
    if "missing" in list_corpora(DATA)[name]:
        pytest.skip(f"no {name} in {DATA}")
    if Path(DATA, next(iter(CORPORA[name].files.values()))[0]).stat().st_size > 2_000_000:
        pytest.skip("takes too long to read")
    sample = load_corpus(name, DATA)
    assert sample.train.names == CORPORA[name].columns
    assert sample.train.label == CORPORA[name].label
    assert len(sample.labels) > 2
    assert sample.columns() is sample.train


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRFKIT_DATA", raising=False)
    with pytest.raises(ValueError, match="the corpus enron is not shipped: set CRFKIT_DATA"):
        load_corpus("enron")
    assert all("missing" in told for told in list_corpora().values())
    with pytest.raises(ValueError, match="there is no corpus 'conll'; the corpora are conll2000"):
        load_corpus("conll")
    monkeypatch.setenv("CRFKIT_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"email_enron/train\.txt is not there"):
        load_corpus("enron")


def test_another_file_of_the_same_name(tmp_path: Path) -> None:
    folder = tmp_path / "email_enron"
    folder.mkdir()
    for part in ("train", "test"):
        (folder / f"{part}.txt").write_text("Ana B-P\nran O\n\nBo B-P\n")
    with pytest.warns(DataWarning, match="is not the file that figures of crfkit were measured on"):
        sample = load_corpus("enron", tmp_path)
    assert sample.labels == ("B-P", "O")
    assert [len(sample.train), len(sample.test), sample.dev] == [2, 2, None]
