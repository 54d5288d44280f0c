"""Documents: what they take, refuse, print and become."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit.models.results import Span as SpanOfModels
from crfkit.text import Doc, Span
from crfkit.text.offsets import UNITS, Unit

ROCKET = "\U0001f469\u200d\U0001f680"
TEXT = f"{ROCKET} Jos\u00e9 vive en Madrid"
HARD = Doc(TEXT, spans=[(4, 8, "PER", 0.5), (17, 23, "LOC")], id="7", meta={"by": "Ana"}, known=[(4, 23)])


def test_one_span_for_all_of_crfkit() -> None:
    assert crfkit.Span is Span is SpanOfModels
    assert crfkit.Doc is Doc
    first, second = HARD.spans
    assert isinstance(first, Span)
    assert (first.text, second.text, second.probability) == ("Jos\u00e9", "Madrid", None)
    assert first.tokens is None
    assert first == (4, 8, "PER", 0.5)
    assert Span(1, 2, "A").tokens == (1, 2)


@given(
    st.text(max_size=20),
    st.lists(st.tuples(st.integers(-2, 25), st.integers(-2, 25), st.sampled_from(["A", "B"])), max_size=4),
    st.sampled_from(UNITS),
)
def test_there_and_back_in_every_unit(text: str, spans: list[Any], unit: Unit) -> None:
    doc = Doc(text, [(i, i + 1) for i in range(len(text))], spans=spans, known=[(0, 1)] if text else None)
    other = doc.in_unit(unit)
    assert other.in_unit("codepoint") == doc
    assert [span.text for span in other.spans] == [span.text for span in doc.spans]
    assert other.words() == doc.words() == [*text]
    assert str(other) == str(doc)
    assert Doc.of_dict(json.loads(other.to_json())) == other


def test_units_are_what_browsers_and_files_count() -> None:
    assert [span[:2] for span in HARD.in_unit("utf16").spans] == [(6, 10), (19, 25)]
    bytes_ = HARD.in_unit("byte")
    encoded = TEXT.encode()
    assert [encoded[a:b].decode() for a, b, *_ in bytes_.spans] == ["Jos\u00e9", "Madrid"]
    assert bytes_.known == ((12, len(encoded)),)
    assert HARD.in_unit("codepoint") is HARD


def test_documents_are_frozen_and_come_back_from_pickles() -> None:
    doc = Doc("a b", np.array([[0, 1], [2, 3]]), [0, 1, 2], [(0, 1, "A")], ["A", None])
    with pytest.raises(dataclasses.FrozenInstanceError):
        doc.text = "c"  # type: ignore[misc]
    assert doc.tokens is not None
    with pytest.raises(ValueError, match="read-only"):
        doc.tokens[0] = 1
    again = pickle.loads(pickle.dumps(doc))
    assert again == copy.deepcopy(doc) == doc
    assert (again.spans[0].text, again.spans[0].tokens) == ("a", (0, 1))
    assert doc != doc.with_spans([])
    assert doc.sentence_words() == [["a"], ["b"]]


def test_printed() -> None:
    assert str(HARD) == f"{ROCKET} [Jos\u00e9 PER 0.50] vive en [Madrid LOC]"
    assert str(Doc("a b\x1b[2J", spans=[(0, 3, "X"), (2, 3, "Y"), (9, 12, "Z")])) == r"[a b X]\u001b[2J"
    assert repr(Doc("Ana ran", [(0, 3)], spans=[(0, 3, "A")])) == "Doc('Ana ran', 1 token, 1 span)"


def test_spans_that_touch_tokens() -> None:
    doc = Doc(
        "ab cd ef", [(0, 2), (3, 5), (6, 8)], spans=[(1, 4, "A"), (2, 3, "B"), (6, 8, "C"), (20, 30, "D")]
    )
    assert [span.tokens for span in doc.spans] == [(0, 2), (1, 1), (2, 3), (3, 3)]


def test_tags() -> None:
    doc = Doc("ab cd ef", [(0, 2), (3, 5), (6, 8)], spans=[(6, 8, "C"), (0, 5, "A")], id="n1")
    assert doc.to_tags() == ["B-A", "I-A", "B-C"]
    assert doc.to_tags("BIOES") == ["B-A", "E-A", "S-C"]
    partly = Doc("ab cd ef", doc.tokens, known=[(0, 2), (4, 8)])
    assert partly.to_tags() == ["O", None, "O"]
    with pytest.raises(
        ValueError, match=r"document 'n1': Span\(0, 4, 'A', text='ab c'\) does not fit the tokens"
    ):
        doc.with_spans([(0, 4, "A")]).to_tags()
    with pytest.raises(ValueError, match="lie over each other"):
        doc.with_spans([(0, 5, "A"), (3, 5, "B")]).to_tags()
    with pytest.raises(ValueError, match="has the label 'O', which stands for what is in no span"):
        doc.with_spans([(0, 5, "O")]).to_tags()
    with pytest.raises(ValueError, match="has no tokens, and to_tags"):
        Doc("ab").to_tags()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"text": b"a"}, "text is b'a', of type bytes"),
        ({"text": "a", "id": 7}, "id is 7, of type int"),
        ({"text": "ab", "tokens": [(0, 1), (0, 2)]}, "offsets in order, within a text of 2"),
        ({"text": "ab", "tokens": [(0, 3)]}, "offsets in order, within a text of 2"),
        ({"text": "ab", "tokens": [(-1, 1)]}, "offsets in order"),
        ({"text": "ab", "tokens": [(1, 1)]}, "token 0 is empty"),
        ({"text": "ab", "tokens": [0, 1]}, r"expected whole numbers \[tokens, 2\]"),
        ({"text": "ab", "tokens": [(0.5, 1.0)]}, "expected whole numbers"),
        ({"text": "ab", "tokens": [(0, 1)], "sentences": [0, 2]}, "from 0 to 1"),
        ({"text": "ab", "tokens": [(0, 1)], "labels": ["A", "B"]}, "1 token and 2 labels"),
        ({"text": "ab", "spans": ["A"]}, "'A' is not a span"),
        ({"text": "ab", "spans": [(0, 1)]}, "is not a span"),
        ({"text": "ab", "spans": [(0, 1.5, "A")]}, "its ends are no whole numbers"),
        ({"text": "ab", "spans": [(0, True, "A")]}, "its ends are no whole numbers"),
        ({"text": "ab", "spans": [(0, 1, "")]}, "has the label ''"),
        ({"text": "ab", "spans": [{"start": 0, "stop": 1, "label": "A"}]}, "does not have the fields"),
        ({"text": "ab", "unit": "utf8"}, "unit is 'utf8'"),
    ],
)
def test_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises((TypeError, ValueError), match=what):
        Doc(**given)


def test_plain_data_that_is_no_document() -> None:
    with pytest.raises(ValueError, match="a document has no field 'entities'"):
        Doc.of_dict({"text": "a", "entities": []})
    with pytest.raises(ValueError, match="without text"):
        Doc.of_dict({"spans": []})


def test_spans_that_are_as_long_as_their_text_cost_no_copies_of_it() -> None:
    tracemalloc.start()
    doc = Doc("a" * 1_000_000, spans=[(0, 1_000_000 - i, "X") for i in range(500)])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10_000_000
    assert len(doc.spans[499].text) == 999_501


def test_json_of_other_formats_keeps_the_unit() -> None:
    doc = Doc("\U0001f680 Oslo", spans=[(2, 6, "LOC")], id="7").in_unit("utf16")
    (task,) = json.loads(doc.to_json("label-studio"))
    assert task["annotations"][0]["result"][0]["value"] == {
        "start": 3,
        "end": 7,
        "text": "Oslo",
        "labels": ["LOC"],
    }
    assert json.loads(doc.to_json("doccano"))["label"] == [[3, 7, "LOC"]]
    assert Doc.of_dict(json.loads(doc.to_json())) == doc
    with pytest.raises(ValueError, match="format brat is not JSON; expected one of jsonl, "):
        doc.to_json("brat")


def test_training_is_found_beside_documents() -> None:
    assert crfkit.text.train is crfkit.train  # type: ignore[attr-defined]
