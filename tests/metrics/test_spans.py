"""Segments against rules written out label by label, and counts against sets of segments."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.metrics import metric, span_scores
from crfkit.metrics.counts import Score
from crfkit.structures.constraints import Scheme
from crfkit.tags import SCHEMES
from crfkit.tags import spans as segments

Segment = tuple[int, int, str]


def starts(before: str, here: str, type_before: str, type_here: str) -> bool:
    """conlleval's startOfChunk."""
    pairs = {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I"), ("E", "E"), ("E", "I"), ("O", "E")}
    return (
        (before, here) in pairs or (here not in ("O", ".") and type_before != type_here) or here in ("[", "]")
    )


def ends(before: str, here: str, type_before: str, type_here: str) -> bool:
    """conlleval's endOfChunk."""
    pairs = {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O"), ("E", "E"), ("E", "I"), ("E", "O")}
    different = before not in ("O", ".") and type_before != type_here
    return (before, here) in pairs or different or before in ("[", "]")


def token_by_token(labels: Sequence[str]) -> list[Segment]:
    found: list[Segment] = []
    open_at: int | None = None
    before, type_before = "O", ""
    for place, label in enumerate([*labels, "O"]):
        here, _, type_here = label.partition("-")
        begins = starts(before, here, type_before, type_here)
        if open_at is not None and (begins or here == "O" or ends(before, here, type_before, type_here)):
            found.append((open_at, place, labels[open_at].partition("-")[2]))
            open_at = None
        if begins:
            open_at = place
        before, type_before = here, type_here
    return found


PREFIXES = ["B", "I", "E", "S", "[", "]", ".", "X", "BI", "", "L"]
ANY = st.sampled_from(["O", *PREFIXES[:-2], *(f"{p}-{t}" for p in PREFIXES for t in ("A", "B", "A-B"))])


@given(st.lists(ANY, max_size=30))
def test_conlleval_label_by_label(labels: list[str]) -> None:
    assert segments(labels, "conlleval") == token_by_token(labels)


@pytest.mark.parametrize("letters", ["BIO", "IEO", "[]O", ".[]"])
@given(data=st.data())
def test_lenient_is_conlleval_where_that_is_at_home(letters: str, data: st.DataObject) -> None:
    known = ["O" if letter == "O" else f"{letter}-{kind}" for letter in letters for kind in "AB"]
    labels = data.draw(st.lists(st.sampled_from(known if letters != ".[]" else list(letters)), max_size=20))
    assert segments(labels) == segments(labels, "conlleval")


def spell(scheme: str, found: Sequence[tuple[str, int]]) -> tuple[list[str], list[Segment]]:
    """Labels of segments (type, length), type O for none; and the segments."""
    labels: list[str] = []
    spans: list[Segment] = []
    for place, (kind, length) in enumerate(found):
        if kind == "O":
            labels += ["O"] * length
            continue
        before = found[place - 1][0] if place else "O"
        after = found[place + 1][0] if place + 1 < len(found) else "O"
        spans.append((len(labels), len(labels) + length, kind))
        letters = ["I"] * length
        if scheme in ("IOB2", "BIO") or (scheme == "IOB1" and before == kind):
            letters[0] = "B"
        if scheme == "IOE2" or (scheme == "IOE1" and after == kind):
            letters[-1] = "E"
        if scheme in ("BIOES", "IOBES", "BILOU", "BMES", "BCEU"):
            letters = ["B", *"I" * (length - 2), "E"] if length > 1 else ["S"]
            others = {"BILOU": {"E": "L", "S": "U"}, "BMES": {"I": "M"}, "BCEU": {"I": "C", "S": "U"}}
            change = others.get(scheme, {})
            letters = [change.get(letter, letter) for letter in letters]
        labels += [f"{letter}-{kind}" for letter in letters]
    return labels, spans


FOUND = st.lists(st.tuples(st.sampled_from(["A", "B", "O"]), st.integers(1, 4)), max_size=8)


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "IO"])
@given(found=FOUND)
def test_what_is_spelled_well_is_read_back(scheme: str, found: list[tuple[str, int]]) -> None:
    labels, spans = spell(scheme, found)
    assert segments(labels, scheme) == spans == segments(labels, scheme.lower())
    assert segments(labels) == spans
    assert segments(labels, Scheme(scheme)) == spans


@given(st.lists(st.lists(st.tuples(*[st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"])] * 2)), max_size=6))
def test_counts_are_those_of_sets_and_ids_of_strings(rows: list[list[tuple[str, str]]]) -> None:
    y_true, y_pred = ([[pair[k] for pair in row] for row in rows] for k in (0, 1))
    names = ["I-B", "O", "B-A", "B-unused", "B-B", "I-A"]
    ids = [np.array([names.index(x) for row in y for x in row], np.int32) for y in (y_true, y_pred)]
    ptr = np.cumsum([0, *map(len, rows)])
    for scheme in ("lenient", "BIO", "IOB1"):
        gold, found = (
            {(n, *span) for n, row in enumerate(y) for span in segments(row, scheme)}
            for y in (y_true, y_pred)
        )
        scores = span_scores(y_true, y_pred, scheme=scheme, by=[n % 2 for n in range(len(rows))])
        assert scores.overall == Score(len(gold & found), len(found), len(gold))
        assert sum(part.overall.correct for part in scores.groups.values()) == len(gold & found)
        assert sum(part.tokens for part in scores.groups.values()) == scores.tokens
        by_id = span_scores(*ids, scheme=scheme, labels=names, seq_ptr=ptr)
        assert by_id.report() == scores.report()
        assert by_id.macro == scores.macro
        assert metric("span_f1", scheme=scheme)(*ids, labels=names, seq_ptr=ptr) == pytest.approx(scores.f1)


def test_raw_labels_are_segments_of_one_position() -> None:
    assert segments(["N", "N", "O", "B-A"], "raw") == [(0, 1, "N"), (1, 2, "N"), (3, 4, "B-A")]


def test_labels_that_a_scheme_does_not_have() -> None:
    with pytest.raises(ValueError, match=r"label 'NN' is neither .* scheme='raw'"):
        segments(["NN"])
    with pytest.raises(ValueError, match="label 'S-A' is neither"):
        segments(["S-A"], "BIO")
    with pytest.raises(ValueError, match="label 'B-A' is neither 'O' nor of the form I-TYPE, E-TYPE"):
        segments(["B-A"], "IOE2")
    with pytest.raises(
        ValueError, match=r"scheme 'bioe' is not known; expected one of .*did you mean 'BIOES'"
    ):
        segments(["O"], "bioe")
    assert segments(["B_A", "I_A", "N"], Scheme("BIO", outside="N", separator="_")) == [(0, 2, "A")]
