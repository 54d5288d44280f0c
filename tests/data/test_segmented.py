"""Text that is cut into words: characters are positions, words are segments."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit import data
from crfkit.data import Columns
from tests.cases.formats import columns, fails, rows, written

TEXT = "我 来到  北京\n\u3000清华大学\r\n\n".encode()


def test_characters_are_positions_and_words_segments() -> None:
    assert rows(TEXT, "segmented") == [
        [("我", "B-W"), ("来", "B-W"), ("到", "I-W"), ("北", "B-W"), ("京", "I-W")],
        [("清", "B-W"), ("华", "I-W"), ("大", "I-W"), ("学", "I-W")],
    ]
    assert columns(TEXT, "segmented").names == ("character", "tag")
    assert columns(TEXT, "segmented", columns=["c", "t"]).names == ("c", "t")
    assert written(columns(TEXT, "segmented"), "segmented") == "我 来到 北京\n清华大学\n".encode()


def test_the_name_of_a_file_tells(tmp_path: Path) -> None:
    (tmp_path / "x.seg").write_bytes(TEXT)
    made = crfkit.read(tmp_path / "x.seg")
    assert isinstance(made, Columns)
    assert made.format == "segmented"


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3).filter(
    lambda word: (
        len(word.split()) == 1 and word.split()[0] == word and word[0] != "\ufeff" and "\0" not in word
    )
)


@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=4))
def test_what_is_written_is_read_back(sentences: list[list[str]]) -> None:
    text = "".join(" ".join(one) + "\n" for one in sentences).encode()
    whole = columns(text, "segmented")
    assert written(whole, "segmented") == text
    streamed = [row for part in data.stream(io.BytesIO(text), "segmented") for row in part]
    assert streamed == list(whole)


def test_mistakes() -> None:
    fails(b" \n\n", "segmented", None, "holds no sequence")
    fails(TEXT, "segmented", None, "2 columns, character and tag, but 1 names", columns=["c"])
    for tokens, what in (
        ([("ab", "B-W")], "token 0 of sequence 0 is 'ab'"),
        ([("a", "B-W"), (" ", "I-W")], "token 1 of sequence 0 is ' '"),
        ([("\ufeff", "B-W")], "NUL or U.FEFF"),
        ([("a", "B-W"), ("b", "O")], "with the tag 'O'"),
        ([("a", "I-W")], "sequence 0 begins with 'I-W'"),
        ([], "sequence 0 is empty"),
    ):
        with pytest.raises(ValueError, match=what):
            written(Columns.from_rows([tokens], names=["c", "t"]), "segmented")
    with pytest.raises(ValueError, match="the data have 3"):
        written(Columns.from_rows([[("a", "b", "c")]]), "segmented")
