"""Spans made to fit tokens: four ways, and counts of everything that did not fit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.text import Alignment, Blanks, Doc, Sentences, align
from crfkit.text.alignment import ALIGNMENTS
from crfkit.text.offsets import UNITS, Unit

ROCKET = "\U0001f469\u200d\U0001f680"
TEXT = f"{ROCKET} Ana Ruiz of New York-based Acme."


def at(part: str, label: str, text: str = TEXT) -> tuple[int, int, str]:
    start = text.index(part)
    return start, start + len(part), label


def one(*spans: tuple[int, int, str], text: str = TEXT, **options: Any) -> tuple[Doc, Alignment]:
    docs, report = align([Doc(text, spans=spans, id="7")], **options)
    assert report.documents == 1
    assert report.spans == len(spans)
    kinds = ("exact", "trimmed", "expanded", "contracted", "unknown", "overlapping", "blank", "out_of_range")
    assert sum(getattr(report, kind) for kind in kinds) == report.spans
    return docs[0], report


def test_spans_that_fit_stay_as_they_are() -> None:
    doc, report = one(at("Ana Ruiz", "PER"), at("Acme", "ORG"))
    assert report.exact == 2
    assert report.changed == 0
    assert doc.spans == ((*at("Ana Ruiz", "PER"), None), (*at("Acme", "ORG"), None))
    assert doc.known is None
    assert doc.words() == [ROCKET, "Ana", "Ruiz", "of", "New", "York", "-", "based", "Acme", "."]
    assert doc.to_tags("BIOES") == ["O", "B-PER", "E-PER", *["O"] * 5, "S-ORG", "O"]


def test_blanks_at_the_ends_of_a_span_are_no_part_of_it() -> None:
    doc, report = one(at(" Ana Ruiz ", "PER"))
    assert (report.trimmed, report.changed) == (1, 0)
    assert doc.spans[0].text == "Ana Ruiz"


CUT = at("na Ruiz of New Yo", "X")


def test_a_span_that_cuts_tokens_is_expanded() -> None:
    doc, report = one(CUT)
    assert report.expanded == 1
    assert doc.spans[0].text == "Ana Ruiz of New York"
    assert report.examples == (
        ("expanded", "'na Ruiz of New Yo' to 'Ana Ruiz of New York' (X), document '7'"),
    )
    assert doc.known is None


def test_or_contracted() -> None:
    doc, report = one(CUT, alignment="contract")
    assert report.contracted == 1
    assert doc.spans[0].text == "Ruiz of New"
    assert doc.to_tags() == ["O", None, "B-X", "I-X", "I-X", None, "O", "O", "O", "O"]


def test_what_has_no_token_left_is_unknown() -> None:
    doc, report = one(at("n", "X"), alignment="contract")
    assert report.unknown == 1
    assert doc.to_tags()[:3] == ["O", None, "O"]


def test_or_unknown_and_never_a_false_o() -> None:
    doc, report = one(CUT, at("Acme", "ORG"), alignment="unknown")
    assert (report.unknown, report.exact) == (1, 1)
    assert doc.to_tags() == ["O", *[None] * 5, "O", "O", "B-ORG", "O"]


@pytest.mark.parametrize(
    ("span", "message"),
    [
        (
            CUT,
            "document '7': a span cuts a token: 'na Ruiz of New Yo' to 'Ana Ruiz of New York' \\(X\\);",
        ),
        ((3, 4, "X"), "document '7': a span holds no token: ' ' \\(X\\)"),
        ((0, 99, "X"), "document '7': a span does not lie within the text: \\(0, 99, 'X'\\)"),
        ((4, 3, "X"), "document '7': a span does not lie within the text"),
    ],
)
def test_or_refused(span: tuple[int, int, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        one(span, alignment="strict")


def test_strict_refuses_overlaps_too() -> None:
    with pytest.raises(
        ValueError, match=r"spans lie over each other: 'Ruiz' \(NAME\) over 'Ana Ruiz' \(PER\)"
    ):
        one(at("Ana Ruiz", "PER"), at("Ruiz", "NAME"), alignment="strict")


def test_the_longest_of_several_spans_stays_or_the_first() -> None:
    spans = at("Ana Ruiz", "PER"), at("Ruiz of New York", "X"), at("New York", "LOC")
    doc, report = one(*spans)
    assert [span.label for span in doc.spans] == ["X"]
    assert report.overlapping == 2
    assert doc.to_tags()[1] is None  # Ana lay in a span that was left out
    doc, report = one(*spans, overlap="first")
    assert [span.label for span in doc.spans] == ["PER", "LOC"]
    assert doc.to_tags() == ["O", "B-PER", "I-PER", None, "B-LOC", "I-LOC", "O", "O", "O", "O"]


def test_spans_that_touch_do_not_lie_over_each_other() -> None:
    """A token that only touches a span is not in it (a known error of other converters)."""
    doc, report = one((0, 3, "A"), (4, 7, "B"), text="abc def")
    assert (report.exact, report.overlapping) == (2, 0)
    doc, report = one((0, 3, "A"), (3, 7, "B"), text="abc-def")
    assert doc.to_tags() == ["B-A", "B-B", "I-B"]


def test_two_spans_of_one_token_cannot_both_stay() -> None:
    doc, report = one((0, 3, "A"), (3, 7, "B"), text="NewYork")
    assert (report.expanded, report.overlapping) == (1, 1)
    assert [span.label for span in doc.spans] == ["B"]


def test_what_lies_outside_of_the_text_is_counted() -> None:
    doc, report = one((-1, 3, "A"), (0, 400, "B"), (9, 4, "C"), (3, 4, "D"), (5, 5, "E"))
    assert (report.out_of_range, report.blank, report.spans) == (3, 2, 5)
    assert doc.spans == ()
    assert set(doc.to_tags()) == {None}
    assert ("out_of_range", "(0, 400, 'B'), document '7'") in report.examples
    assert "3 out of range" in str(report)


def test_ranges_that_a_person_looked_at() -> None:
    doc = Doc(TEXT, spans=[at("Acme", "ORG"), at("New York", "LOC")], known=[at("of New", "")[:2]])
    docs, _ = align([doc])
    assert docs[0].to_tags() == [None, None, None, "O", "B-LOC", "I-LOC", None, None, "B-ORG", None]
    only_spans = align([Doc(TEXT, spans=[at("Acme", "ORG")], known=[])])[0][0]
    assert only_spans.to_tags() == [*[None] * 8, "B-ORG", None]


def test_a_sentence_does_not_end_within_a_span() -> None:
    text = "He met J. Smith\nand Mary\nBell."
    doc, report = one(at("Mary\nBell", "PER", text), text=text, sentences="lines")
    assert report.joined == 1
    assert doc.sentence_words() == [["He", "met", "J", ".", "Smith"], ["and", "Mary", "Bell", "."]]
    assert "1 sentence joined, as a span crosses the end" in str(report)
    whole = Doc(text, [(0, 2), (3, 6)], [0, 1, 2])
    assert align([whole], "given")[0][0] == whole
    assert align([whole], "words")[0][0].sentences is None  # which counted other tokens


def test_no_more_than_a_few_examples_are_kept() -> None:
    report = align([Doc("abc", spans=[(0, 2, "X")], id=str(n)) for n in range(100)])[1]
    assert report.expanded == 100
    assert len(report.examples) == 5
    assert str(report).startswith(
        "100 documents, 100 tokens, 100 spans: 100 expanded.\n  expanded: 'ab' to 'abc'"
    )
    assert report.to_dict()["examples"][0] == ["expanded", "'ab' to 'abc' (X), document '0'"]


@given(
    st.text(st.sampled_from(f"ab \n\u00e9{ROCKET}e\u0301"), max_size=12),
    st.lists(st.tuples(st.integers(-2, 14), st.integers(-2, 14), st.sampled_from("AB")), max_size=5),
    st.sampled_from([one for one in ALIGNMENTS if one != "strict"]),
    st.sampled_from(["longest", "first"]),
    st.sampled_from(UNITS),
)
def test_nothing_is_lost_without_a_count(
    text: str, spans: list[tuple[int, int, str]], how: Any, overlap: Any, unit: Unit
) -> None:
    doc = Doc(text, spans=spans).in_unit(unit)
    [made], report = align([doc], alignment=how, overlap=overlap, sentences=Sentences("lines"))
    assert report.spans == len(spans)
    assert report.exact + report.trimmed + report.expanded + report.contracted == len(made.spans)
    assert len(made.spans) + report.unknown + report.overlapping + report.blank + report.out_of_range == len(
        spans
    )
    tags = made.to_tags()  # they fit
    for start, end, label in spans:  # no character of a span is taught to be outside of all
        for tag, (a, b) in zip(tags, made.tokens.tolist(), strict=True):  # type: ignore[union-attr]
            if a < end and start < b and start < end:
                assert tag != "O", (start, end, label)
    assert align([made], "given", alignment="strict")[0] == [made]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="alignment is 'widen'"):
        align([], alignment="widen")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="overlap is 'last'"):
        align([], overlap="last")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected documents \(crfkit.Doc\), not 'Ana'"):
        align(["Ana"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"document '7': the tokenizer is Given\(\)"):
        align([Doc("Ana", id="7")], "given")


def test_spans_of_tags() -> None:
    doc = Doc("123 Main St, Erie", Blanks(keep=",")("123 Main St, Erie"))
    labeled = doc.with_tags(["NUM", "ST", "ST", "O", "CITY"])
    assert [(span.text, span.label) for span in labeled.spans] == [
        ("123", "NUM"),
        ("Main St", "ST"),
        ("Erie", "CITY"),
    ]
    assert labeled.with_tags(labeled.to_tags("BIOES")).spans == labeled.spans  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are 5 tokens and 1 tag"):
        doc.with_tags(["NUM"])
