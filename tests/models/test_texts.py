"""Raw text in, documents with spans out: calls, constraints, tokenizers of other models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit import MEMM, ChainCRF, Doc
from crfkit.constraints import AtMostOnce
from crfkit.errors import DataError, InfeasibleError, SaveError
from crfkit.text import Blanks, Given
from crfkit.text.offsets import UNITS
from tests.cases.documents import DOCS
from tests.cases.real_data import DATA
from tests.cases.text_models import MODEL, PLAIN, SEGMENTS, TEXT
from tests.cases.texts import TEXTS


def test_a_model_is_called_on_a_text() -> None:
    doc = MODEL(TEXT)
    assert [(span.text, span.label) for span in doc.spans] == [
        ("Ana Ruiz", "PER"),
        ("New York", "LOC"),
        ("Oslo", "LOC"),
        ("Eva", "PER"),
    ]
    assert all(0.5 < span.probability < 1.0 for span in doc.spans)
    assert doc.sentence_words()[1] == ["In", "Oslo", ",", "Eva", "ran", "."]
    assert doc == Doc(TEXT, doc.tokens, doc.sentences, doc.spans)
    assert [span.tokens for span in doc.spans] == [(0, 2), (3, 5), (7, 8), (9, 10)]


@pytest.mark.parametrize("model", [MODEL, SEGMENTS], ids=["chain", "segments"])
def test_spans_are_those_of_the_sentences(model: Any) -> None:
    """The probability is exact: that of `predict_spans` on tokens, which is tested against enumeration."""
    doc = model(TEXT)
    expected = model.predict_spans(doc.sentence_words())
    begins = [0] if doc.sentences is None else doc.sentences.tolist()
    flat = [(a + at, b + at, y, p) for at, one in zip(begins, expected, strict=False) for a, b, y, p in one]
    assert [(*span.tokens, span.label) for span in doc.spans] == [one[:3] for one in flat]
    assert [span.probability for span in doc.spans] == pytest.approx([one[3] for one in flat], abs=1e-12)


def test_runs_of_plain_labels_are_spans_and_tokens_have_labels() -> None:
    doc = PLAIN.with_text("blanks")("7 Main St")
    assert [(span.text, span.label) for span in doc.spans] == [("7", "NO"), ("Main St", "ST")]
    assert doc.labels == ("NO", "ST", "ST")
    assert MODEL(TEXT).labels is None


def test_numbers_as_labels_are_written_out() -> None:
    model = ChainCRF().fit([["a", "b"]] * 3, [[1, 2]] * 3).model_.with_text("blanks")
    assert model("a b").labels == ("1", "2")


def test_chains_of_higher_order_have_spans_without_probability() -> None:
    crf = ChainCRF(tokenizer="words", order=2).fit(DOCS)
    spans = crf.model_("Ana Ruiz saw New York.").spans
    assert [(span.text, span.probability) for span in spans] == [("Ana Ruiz", None), ("New York", None)]


@pytest.mark.filterwarnings("ignore::crfkit.models.known.UnknownAttributesWarning")
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_texts_that_break_things_stay_as_they_are(text: str) -> None:
    for model in (MODEL, MODEL.with_text("characters"), MODEL.with_text("blanks", "lines")):
        doc = model(text)
        assert doc.text == text
        assert [*model.pipe([text, text])] == [doc, doc]
        for unit in UNITS:
            assert doc.in_unit(unit).in_unit("codepoint") == doc


@pytest.mark.filterwarnings("ignore::crfkit.models.known.UnknownAttributesWarning")
@given(st.text(max_size=60))
def test_any_text_gives_spans_of_whole_tokens(text: str) -> None:
    doc = MODEL(text)
    ends = {(0, 0)} if doc.tokens is None else {tuple(one) for one in doc.tokens.tolist()}
    for span in doc.spans:
        assert any(a == span.start for a, _ in ends)
        assert any(b == span.end for _, b in ends)
    assert doc == next(MODEL.pipe([text]))


def test_documents_keep_their_id_and_meta_and_lose_spans_that_they_had() -> None:
    given_doc = Doc(TEXT, spans=[(0, 1, "X")], id="7", meta={"by": "me"}).in_unit("byte")
    doc = MODEL(given_doc)
    assert (doc.id, doc.meta, doc.unit) == ("7", {"by": "me"}, "codepoint")
    assert doc.spans == MODEL(TEXT).spans


def test_tokens_of_documents_are_used_as_given() -> None:
    model = MODEL.with_text(Given())
    doc = model(Doc("AnaRuiz ran", [(0, 3), (3, 7), (8, 11)]))
    assert doc.words() == ["Ana", "Ruiz", "ran"]
    assert doc.spans[0].text == "AnaRuiz"
    with pytest.raises(ValueError, match=r"the tokenizer is Given\(\), but 'Ana' has no tokens"):
        model("Ana")
    with pytest.raises(ValueError, match=r"document '7': the tokenizer is Given\(\), but the doc"):
        model(Doc("Ana", id="7"))


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("Ana\nZoë\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.txt, line 2: is not valid UTF-8"):
        next(MODEL.stream(path))
    path.write_bytes(b"Ana\nZo\0\n")
    with pytest.raises(DataError, match=r"latin\.txt, line 2: holds a NUL"):
        next(MODEL.stream(path))
    with pytest.raises(TypeError, match="file is 7, expected a path or an open file"):
        next(MODEL.stream(7))
    with pytest.raises(TypeError, match="expected a text or a Doc, not b'Ana' of type bytes"):
        MODEL(b"Ana")  # type: ignore[arg-type]


# ---- constraints


def test_labels_keep_constraints_and_probabilities_stay_free() -> None:
    text = "Oslo New York Oslo"
    model = MODEL.with_text("words")
    free = model(text)
    assert len(free.spans) > 1
    bound = model(text, constraints=[AtMostOnce(["LOC"])])
    assert [span.label for span in bound.spans].count("LOC") == 1
    kept = model.constrained([AtMostOnce(["LOC"])])
    assert kept(text) == bound == next(kept.pipe([text]))
    by_tokens = kept.predict_spans([free.words()])[0]
    assert bound.spans[0].probability == pytest.approx(by_tokens[0].probability)


# ---- models of others


def test_a_model_of_tokens_says_that_it_needs_a_tokenizer() -> None:
    with pytest.raises(ValueError, match=r'has no tokenizer; give it one: model\.with_text\("words"\)'):
        PLAIN("5 Main St")
    assert PLAIN.with_text("words")("5 Main St").spans[1].text == "Main St"
    assert PLAIN.text is None


def test_a_model_of_columns_says_that_it_cannot_read_text() -> None:
    model = ChainCRF().fit([[("dog", "N"), ("ran", "V")]] * 2, [["A", "B"]] * 2).model_
    for call in (lambda: model("dog"), lambda: model.with_text("words"), lambda: next(model.pipe(["dog"]))):
        with pytest.raises(ValueError, match="reads the columns 0, 1, and a raw text has words only"):
            call()


def test_a_model_of_features_needs_the_function_that_made_them(tmp_path: Path) -> None:
    def features(tokens: list[str], i: int) -> list[str]:
        return [f"w={tokens[i].lower()}", f"first={i == 0}"]

    X = [[features(words, i) for i in range(len(words))] for words in (["the", "dog"], ["a", "dog"])]
    model = ChainCRF().fit(X, [["D", "N"], ["D", "N"]]).model_
    for call in (lambda: model("dog"), lambda: model.with_text("words")):
        with pytest.raises(ValueError, match=r"with_text\(tokenizer, features=lambda tokens, i: "):
            call()
    reads = model.with_text("blanks", features=features)
    assert reads("The dog").labels == ("D", "N")
    assert [doc.labels for doc in reads.pipe(["the dog", "a"])] == [("D", "N"), ("D",)]
    assert reads.score([Doc("a dog", spans=[(0, 1, "D"), (2, 5, "N")])]) == 1.0
    with pytest.raises(SaveError, match="features is a function, which a file cannot hold"):
        reads.save(tmp_path / "m.crf")


def test_models_of_other_programs_read_text(tmp_path: Path) -> None:
    from crfkit.models.files import write_model

    X = [["in", "New", "York"], ["Ana", "ran"]] * 5
    y = [["O", "B-LOC", "I-LOC"], ["B-PER", "O"]] * 5
    template = {"crfpp": "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\n", "wapiti": "u:%x[0,0]\nb\n"}
    for kind, text in template.items():
        own = ChainCRF(features=text).fit(X, y).model_
        path = tmp_path / f"m.{kind}"
        write_model(own, path, kind)
        foreign = crfkit.load(path).with_text("words")
        spans = foreign("in New York in").spans
        assert [(span.text, span.label) for span in spans] == [("New York", "LOC")]
        foreign.save(tmp_path / "own.crf")
        assert crfkit.load(tmp_path / "own.crf")("in New York") == foreign("in New York")


def test_unsatisfiable_constraints_are_an_error() -> None:
    from crfkit.constraints import Exactly

    with pytest.raises(InfeasibleError):
        MODEL("Nobody.", constraints=[Exactly("LOC", 5)])


def test_locally_normalized_models_read_text_too() -> None:
    model = MEMM(tokenizer="words").fit(DOCS).model_
    assert [span.text for span in model("Ana Ruiz saw New York.").spans] == ["Ana Ruiz", "New York"]


@pytest.mark.skipif(not (DATA.parent / "models/usaddress.crfsuite").exists(), reason="no model of usaddress")
def test_the_model_of_usaddress_parses_its_test_lines() -> None:
    from bench.corpus_features import addresses

    rows = crfkit.read(DATA / "usaddress/labeled_test.txt", "columns")
    assert isinstance(rows, crfkit.data.Columns)
    lines = [rows.sequence(n) for n in range(len(rows))]
    model = crfkit.load(DATA.parent / "models/usaddress.crfsuite").with_text(
        Blanks(), features=lambda tokens, i: addresses([[token] for token in tokens])[i]
    )
    texts = [" ".join(word for word, _ in line) for line in lines]
    docs = [*model.pipe(texts)]
    by_items = model.predict([addresses([[word] for word, _ in line]) for line in lines])
    assert [list(doc.labels or ()) for doc in docs] == by_items
    right = sum(
        a == b
        for doc, line in zip(docs, lines, strict=True)
        for a, (_, b) in zip(doc.labels or (), line, strict=True)
    )
    assert right / rows.positions > 0.9
    once = [*model.constrained([AtMostOnce()]).pipe(texts)]
    labels = [[span.label for span in doc.spans] for doc in once]
    assert all(len(set(one)) == len(one) for one in labels)
    repeated = sum(len({s.label for s in doc.spans}) < len(doc.spans) for doc in docs)
    assert repeated > 0
