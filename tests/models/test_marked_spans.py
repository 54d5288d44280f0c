"""Spans that a person has marked stay, and all else is exact given them: against all labelings."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import ChainCRF, HiddenChainCRF, SemiCRF
from crfkit.constraints import AtMostOnce, Scheme
from crfkit.errors import InfeasibleError
from crfkit.models.marked_spans import fixed_tokens
from crfkit.tags.segments import runs_of, spans
from tests.cases.documents import DOCS

TEXT = "Ana Ruiz York Oslo"
MODEL = ChainCRF(tokenizer="words", features="word[0]; lower(word)[-1]").fit(DOCS).model_
MODELS: dict[str, Any] = {
    "BIO": MODEL,
    "a constraint": ChainCRF(tokenizer="words", constraints=[Scheme("BIO")]).fit(DOCS).model_,
    "segments": SemiCRF(tokenizer="words", features="word[0]; segment: word[..]").fit(DOCS).model_,
    "BIOES": ChainCRF(tokenizer="words", scheme="BIOES").fit(DOCS).model_,
    "BIO learned as BIOES": ChainCRF(tokenizer="words", train_scheme="BIOES").fit(DOCS).model_,
    "IO": ChainCRF(tokenizer="words", scheme="IO").fit(DOCS).model_,
    "hidden": HiddenChainCRF(tokenizer="words", max_iterations=9).fit(DOCS).model_,
    "order 2": ChainCRF(tokenizer="words", order=2).fit(DOCS).model_,
}
PLACES = [(0, 8, "LOC"), (9, 13, "PER"), (4, 18, "PER"), (14, 18, "O"), (0, 13, "O")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_what_is_marked_stays(name: str, place: tuple[int, int, str]) -> None:
    start, end, label = place
    if (name, label) == ("segments", "PER") and end - start > 8:
        with pytest.raises((InfeasibleError, ValueError)):  # longer than any segment of the training data
            MODELS[name](TEXT, fixed=[place])
        return
    if name in ("BIOES", "BIO learned as BIOES") and end - start > 8 and label != "O":
        with pytest.raises(ValueError, match="the model does not know its label 'I-PER'"):
            MODELS[name](TEXT, fixed=[place])
        return
    found = [span[:3] for span in MODELS[name](TEXT, fixed=[place]).spans]
    if label == "O":
        assert all(span[1] <= start or span[0] >= end for span in found)
    else:
        assert place in found


def enumerated(words: list[str]) -> tuple[list[tuple[str, ...]], Any]:
    """Return all labelings of a sentence, and their probabilities."""
    names = MODEL.names.labels.strings()
    every = [*product(names, repeat=len(words))]
    return every, np.exp(MODEL.log_prob([words] * len(every), [list(one) for one in every]))


@pytest.mark.parametrize(
    ("place", "tags"),
    [
        ((0, 8, "LOC"), {0: "B-LOC", 1: "I-LOC"}),
        ((9, 13, "PER"), {2: "B-PER"}),
        ((4, 18, "PER"), {1: "B-PER", 2: "I-PER", 3: "I-PER"}),
        ((4, 13, "O"), {1: "O", 2: "O"}),
    ],
)
def test_a_chain_against_all_labelings(place: tuple[int, int, str], tags: dict[int, str]) -> None:
    every, p = enumerated(TEXT.split())
    span = (min(tags), max(tags) + 1, place[2])
    kept = [
        all(one[t] == tag for t, tag in tags.items()) and (place[2] == "O" or span in spans(list(one)))
        for one in every
    ]
    p = np.where(kept, p, 0.0) / p[kept].sum()
    best = spans(list(every[int(p.argmax())]))
    found = MODEL(TEXT, fixed=[place]).spans
    assert [(*one.tokens, one.label) for one in found] == best
    for one in found:
        share = sum(
            q for q, labels in zip(p, every, strict=True) if (*one.tokens, one.label) in spans(list(labels))
        )
        assert one.probability == pytest.approx(share, abs=1e-9)


def test_runs_against_all_labelings() -> None:
    X, y = [["a", "b", "c"], ["b", "a"], ["c", "c"]], [["X", "X", "Y"], ["Y", "X"], ["Y", "Y"]]
    model = ChainCRF().fit(X, y).model_.with_text("blanks")
    every = [*product(["X", "Y"], repeat=3)]
    p = np.exp(model.log_prob([["a", "b", "c"]] * 8, [list(one) for one in every]))
    kept = [(0, 1, "Y") in runs_of(list(one)) for one in every]
    p = np.where(kept, p, 0.0) / p[kept].sum()
    found = model("a b c", fixed=[(0, 1, "Y")]).spans
    assert [(*one.tokens, one.label) for one in found] == runs_of(list(every[int(p.argmax())]))
    for one in found:
        share = sum(
            q for q, labels in zip(p, every, strict=True) if (*one.tokens, one.label) in runs_of(list(labels))
        )
        assert one.probability == pytest.approx(share, abs=1e-9)


def test_segments_against_all_segmentations() -> None:
    model = MODELS["segments"]
    words = TEXT.split()
    best = {tuple(one.spans): one.probability for one in model.kbest([words], 5000)[0]}
    assert sum(best.values()) == pytest.approx(1.0, abs=1e-9)
    kept = {key: p for key, p in best.items() if (0, 2, "LOC") in key}
    total = sum(kept.values())
    found = model(TEXT, fixed=[(0, 8, "LOC")]).spans
    assert {(*one.tokens, one.label) for one in found} <= {*max(kept, key=lambda key: kept[key])}
    for one in found:
        share = sum(p for key, p in kept.items() if (*one.tokens, one.label) in key) / total
        assert one.probability == pytest.approx(share, abs=1e-9)


def test_marked_spans_and_constraints_go_together() -> None:
    free = MODEL("Oslo York Oslo", fixed=[(5, 9, "LOC")])
    assert [span.text for span in free.spans] == ["York", "Oslo"]
    bound = MODEL("Oslo York Oslo", fixed=[(5, 9, "LOC")], constraints=[AtMostOnce(["LOC"])])
    assert [(span.text, span.label) for span in bound.spans if span.label == "LOC"] == [("York", "LOC")]


def test_marked_spans_in_a_text_of_several_sentences() -> None:
    model = MODEL.with_text("words", "rule")
    text = "Nobody was there. Nobody ran."
    found = model(text, fixed=[(18, 24, "PER")]).spans
    assert [(span.text, span.start, span.label) for span in found] == [("Nobody", 18, "PER")]
    with pytest.raises(ValueError, match="a span labeled 'PER' that crosses the end of a sentence"):
        model(text, fixed=[(11, 24, "PER")])


def test_blanks_at_the_ends_of_a_marked_span_do_not_count() -> None:
    assert MODEL(TEXT, fixed=[(3, 9, "PER")]).spans == MODEL(TEXT, fixed=[(4, 8, "PER")]).spans
    offsets = np.array([[0, 3], [4, 8]])
    assert fixed_tokens([(4, 8, "B"), (0, 3, "A")], "Ana Ruiz", offsets) == [(0, 1, "A"), (1, 2, "B")]


@pytest.mark.parametrize(
    ("fixed", "error", "told"),
    [
        (
            [(0, 2, "PER")],
            ValueError,
            r"\(0, 2, 'PER'\), 'An', which does not begin and end with tokens; those",
        ),
        ([(3, 4, "PER")], ValueError, r"does not begin and end with tokens; those there are none"),
        ([(0, 99, "PER")], ValueError, r"\(0, 99, 'PER'\), not within a text of 18 characters"),
        ([(4, 0, "PER")], ValueError, "not within a text of 18 characters"),
        ([(0, 3, "PER"), (0, 8, "LOC")], ValueError, "fixed has spans over each other: 'PER' and 'LOC'"),
        (
            [(0, 3, "ORG")],
            ValueError,
            "a span of 1 token labeled 'ORG', and the model does not know its label",
        ),
        ([(0, 3)], TypeError, r"fixed has \(0, 3\), expected \(start, end, label\), such as \(0, 4, 'PER'\)"),
        ([(0, "3", "PER")], TypeError, "expected .start, end, label."),
        (["PER"], TypeError, "fixed has 'PER', expected"),
    ],
)
def test_what_cannot_be_marked_is_refused(fixed: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        MODEL(TEXT, fixed=fixed)


def test_labels_that_a_model_of_segments_lacks_are_refused() -> None:
    with pytest.raises(
        ValueError, match="fixed has the label 'ORG', which the model does not know; its labels"
    ):
        MODELS["segments"](TEXT, fixed=[(0, 3, "ORG")])
