"""The addresses that ship, and made-up ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crfkit import ChainCRF, metrics
from crfkit.datasets import load_addresses, make_addresses
from crfkit.datasets.generate import LABELS, corpus
from crfkit.text import Blanks

SOURCE = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "usaddress"


def test_no_line_of_the_test_part_was_seen_in_training() -> None:
    sample = load_addresses()
    assert (len(sample.train), len(sample.test), len(sample.labels)) == (1513, 138, 29)
    seen = {doc.text for doc in sample.train}
    assert not [doc.text for doc in sample.test if doc.text in seen]
    ids = [doc.id for doc in (*sample.train, *sample.test)]
    assert len({*ids}) == len(ids)


def test_words_lie_between_blanks() -> None:
    sample = load_addresses()
    for doc in (*sample.train, *sample.test):
        assert doc.tokens is not None
        assert Blanks()(doc.text).tolist() == doc.tokens.tolist()
        assert len(doc.labels or ()) == len(doc.tokens)


def test_they_are_those_of_the_source() -> None:
    if not SOURCE.exists():
        pytest.skip(f"no {SOURCE}")
    sample = load_addresses()
    blocks = (SOURCE / "labeled_train.txt").read_text().strip().split("\n\n")
    found = ["\n".join(f"{w} {y}" for w, y in rows) for rows in sample.columns("train")]
    assert found == blocks
    test = (SOURCE / "labeled_test.txt").read_text().strip().split("\n\n")
    found = ["\n".join(f"{w} {y}" for w, y in rows) for rows in sample.columns("test")]
    assert found == [block for block in test if block not in blocks]


def test_the_description_says_license_source_and_sizes() -> None:
    sample = load_addresses()
    words = [sum(len(doc.words()) for doc in part) for part in (sample.train, sample.test)]
    assert f"| train | 1,513 | {words[0]:,} | 29 |" in sample.about
    assert f"| test | 138 | {words[1]:,} |" in sample.about
    assert "MIT" in sample.about
    notice = Path(__file__).parents[2] / "licenses/usaddress.txt"
    assert "Atlanta Journal Constitution" in notice.read_text()


def test_they_are_learned_in_a_second() -> None:
    sample = load_addresses()
    crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[-1..1]; suffix(word, 2)[0]", max_iterations=30)
    crf.fit(sample.columns("train"))
    gold = [list(doc.labels) for doc in sample.test]
    assert metrics.token_scores(gold, crf.predict([doc.words() for doc in sample.test])).accuracy > 0.85


def test_made_up_addresses_are_documents_too() -> None:
    made = make_addresses(200, random_state=3)
    assert (len(made.train), len(made.test)) == (160, 40)
    lines = corpus(200, seed=3)
    assert [list(zip(doc.words(), doc.labels, strict=True)) for doc in (*made.train, *made.test)] == lines
    assert {*made.labels} <= {*LABELS}
    with pytest.raises(ValueError, match="n is 1, expected 2"):
        make_addresses(1)
    with pytest.raises(ValueError, match="has no dev part"):
        made.columns("dev")
    with pytest.raises(ValueError, match="part is 'tset'"):
        made.columns("tset")
