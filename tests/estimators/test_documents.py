"""Estimators learn from documents of raw text, judge them, and find spans in others."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import crfkit
from crfkit import MEMM, ChainCRF, Doc, HiddenChainCRF, HiddenSequenceCRF, SemiCRF, Stop
from crfkit.text import Blanks, Sentences, Words, align
from tests.cases.documents import DOCS, made

KINDS: list[Any] = [ChainCRF, SemiCRF, MEMM, HiddenChainCRF]


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_learned_by_heart(kind: Any) -> None:
    crf = kind(tokenizer="words").fit(DOCS, dev=DOCS)
    assert crf.score(DOCS) == 1.0
    assert "span_f1 1.0000" in str(crf.evaluate(DOCS))
    found = crf.predict(DOCS)
    assert [[span[:3] for span in doc.spans] for doc in found] == [[s[:3] for s in doc.spans] for doc in DOCS]
    assert [doc.id for doc in found] == [doc.id for doc in DOCS]
    assert crf.predict_spans(DOCS) == [[*doc.spans] for doc in found]
    assert crf.tag(DOCS[0]) == found[0]
    assert crf.tag(DOCS[0].text).spans == found[0].spans
    assert crf.training_.alignment.exact == crf.training_.alignment.spans == 33


def test_documents_are_the_sentences_that_align_makes() -> None:
    docs, report = align(DOCS, "words", sentences="rule")
    X = [words for doc in docs for words in doc.sentence_words()]
    y = []
    for doc in docs:
        tags, ptr = doc.to_tags(), [0, len(doc.words())] if doc.sentences is None else doc.sentences.tolist()
        y += [tags[a:b] for a, b in pairwise(ptr)]
    by_docs, by_tokens = ChainCRF(tokenizer="words", sentences="rule").fit(DOCS), ChainCRF().fit(X, y)
    assert np.array_equal(by_docs.model_.w, by_tokens.model_.w)
    assert by_docs.training_ is not None
    assert by_docs.training_.alignment == report
    assert by_docs.score(DOCS) == by_tokens.score(X, y)
    assert np.array_equal(by_docs.log_prob(DOCS), by_tokens.log_prob(X, y))
    assert len(by_docs.predict_proba(DOCS)) == len(X)
    semi = SemiCRF(tokenizer="words", sentences="rule").fit(DOCS)
    assert np.array_equal(semi.model_.w, SemiCRF().fit(X, y).model_.w)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokenizer_is_kept(kind: Any, tmp_path: Path) -> None:
    crf = kind(tokenizer=Words("-"), sentences=Sentences("rule", ("st",)), alignment="unknown").fit(DOCS)
    text = "Ana Ruiz saw New York. St. Leo ran."
    expected = crf.tag(text)
    crf.save(tmp_path / "m.crf")
    for again in (pickle.loads(pickle.dumps(crf)), kind.load(tmp_path / "m.crf")):
        assert again.tokenizer == crf.tokenizer
        assert again.sentences == crf.sentences
        assert again.alignment == "unknown"
        assert again.tag(text) == expected
        assert again.score(DOCS) == crf.score(DOCS)
    assert crfkit.load(tmp_path / "m.crf")(text) == expected
    assert crfkit.load(tmp_path / "m.crf").score(DOCS) == crf.score(DOCS)
    copied = clone(crf)
    assert copied.get_params() == crf.get_params()
    assert copied.fit(DOCS).tag(text) == expected


def test_documents_go_through_grid_search() -> None:
    search = GridSearchCV(ChainCRF(tokenizer="words"), {"l2": [0.01, 100.0]}, cv=3).fit(DOCS)
    assert search.best_params_ == {"l2": 0.01}


def test_schemes_of_documents() -> None:
    for scheme, some in (("BIO", "I-PER"), ("BIOES", "E-PER"), ("IO", "I-LOC")):
        crf: Any = ChainCRF(tokenizer="words", scheme=scheme).fit(DOCS)
        assert some in crf.classes_
        assert crf.score(DOCS) == 1.0
    crf = ChainCRF(tokenizer="words", train_scheme="BIOES").fit(DOCS)
    assert "E-PER" not in crf.classes_
    assert crf.score(DOCS) == 1.0


def test_without_a_tokenizer_tokens_of_documents_are_used_else_words() -> None:
    words: Any = ChainCRF().fit(DOCS).model_.text
    assert words.tokenizer == Words()
    docs = [Doc(doc.text, Blanks()(doc.text), spans=doc.spans) for doc in DOCS]
    crf: Any = ChainCRF(alignment="expand").fit(docs)
    assert crf.model_.text.tokenizer == Blanks(), "which makes these tokens"
    assert crf.tag(docs[0]).words() == docs[0].words()
    docs = [Doc("toNewYork", [(0, 2), (2, 5), (5, 9)], spans=[(2, 9, "LOC")])] * 3
    crf = ChainCRF().fit(docs)
    assert crf.model_.text.tokenizer.kind == "given"
    assert crf.tag(docs[0]).words() == docs[0].words()
    with pytest.raises(ValueError, match=r"the tokenizer is Given\(\), but 'Ana' has no tokens"):
        crf.tag("Ana")


def test_an_estimator_of_tokens_reads_text_at_blanks() -> None:
    crf: Any = ChainCRF().fit([["in", "York"]] * 3, [["O", "LOC"]] * 3)
    assert crf.tag("in York").labels == ("O", "LOC")
    assert crf.tag(["in", "York"]) == ["O", "LOC"]
    assert crf.explain("in York", at=1)[0].label == "LOC"
    words = ChainCRF(tokenizer="words").fit([["in", "York"]] * 3, [["O", "LOC"]] * 3)
    assert words.tag("in York.").words() == ["in", "York", "."]
    assert words.model_.text is not None


def test_a_function_makes_features_of_documents() -> None:
    def features(tokens: list[str], i: int) -> dict[str, Any]:
        return {"w": tokens[i], "before": tokens[i - 1] if i else ""}

    crf: Any = ChainCRF(tokenizer="words", features=features, l2=0.1).fit(DOCS, dev=DOCS)
    assert crf.score(DOCS) == 1.0
    assert crf.tag(DOCS[0].text).spans == crf.predict(DOCS[:1])[0].spans
    assert crf.explain("Leo ran.", at=0)[0].label == "B-PER"


def test_what_does_not_fit_is_counted_and_never_a_false_o() -> None:
    odd = [*DOCS, Doc("Osloer and Leos", spans=[(0, 4, "LOC"), (11, 14, "PER")], id="odd")]
    crf: Any = ChainCRF(tokenizer="words", alignment="unknown").fit(odd)
    report = crf.training_.alignment
    assert (report.unknown, report.exact) == (2, 33)
    assert "unknown: 'Oslo' (LOC), document 'odd'" in str(report)
    partial = ChainCRF().fit(
        [*(doc.words() for doc in align(DOCS)[0]), ["Osloer", "and", "Leos"]],
        [*(doc.to_tags() for doc in align(DOCS)[0]), [None, "O", None]],
    )
    assert np.array_equal(crf.model_.w, partial.model_.w)
    with pytest.raises(ValueError, match=r"document 'odd': a span cuts a token: 'Oslo' to 'Osloer' \(LOC\)"):
        ChainCRF(tokenizer="words", alignment="strict").fit(odd)
    with pytest.raises(ValueError, match=r"alignment is 'cut', expected .expand., .contract., .unknown. or"):
        ChainCRF(tokenizer="words", alignment="cut").fit(odd)  # type: ignore[arg-type]


def test_partly_annotated_documents_train_as_partial_labels() -> None:
    text = "Ana saw Oslo and somebody else"
    doc = Doc(text, spans=[(0, 3, "PER"), (8, 12, "LOC")], known=[(0, 16)])
    crf: Any = ChainCRF(tokenizer="words").fit([*DOCS, doc])
    docs = align(DOCS)[0]
    partial = ChainCRF().fit(
        [*(one.words() for one in docs), text.split()],
        [*(one.to_tags() for one in docs), ["B-PER", "O", "B-LOC", "O", None, None]],
    )
    assert np.array_equal(crf.model_.w, partial.model_.w)
    assert crf.training_.alignment.exact == 35


def test_labels_of_tokens_are_learned_where_there_are_no_spans() -> None:
    docs = [
        Doc("the dog", [(0, 3), (4, 7)], labels=["D", "N"]),
        Doc("a dog", [(0, 1), (2, 5)], labels=["D", "N"]),
    ]
    assert ChainCRF().fit(docs).tag(docs[0]).labels == ("D", "N")
    with pytest.raises(ValueError, match='which words cuts otherwise: tokenizer="given"'):
        ChainCRF(tokenizer="words").fit([Doc("it's", [(0, 2), (2, 4)], labels=["P", "V"])])


def test_weights_of_documents_are_those_of_their_sentences() -> None:
    twice: Any = ChainCRF(tokenizer="words", sentences="rule").fit([*DOCS, DOCS[0]])
    weight = [2.0, *[1.0] * (len(DOCS) - 1)]
    weighted: Any = ChainCRF(tokenizer="words", sentences="rule").fit(DOCS, sample_weight=weight)
    assert weighted.model_.training.loss == pytest.approx(twice.model_.training.loss, rel=1e-6)
    with pytest.raises(ValueError, match=r"shape \(2,\), expected a weight for each of 15 documents"):
        ChainCRF(tokenizer="words").fit(DOCS, sample_weight=[1.0, 2.0])


def test_more_documents_are_learned_later() -> None:
    crf: Any = ChainCRF(tokenizer="words").fit(DOCS)
    more = [made("[Zed PER] saw [Rome LOC].")]
    crf.partial_fit(more)
    both = ChainCRF(tokenizer="words").fit([*DOCS, *more])
    text = "Zed saw Rome."
    assert crf.tag(text).spans[0].probability == pytest.approx(both.tag(text).spans[0].probability, abs=0.02)
    del crf.data_
    assert crf.partial_fit([made("[Bob PER] ran.")]).tag("Bob ran.").spans[0].label == "PER"


# ---- what is refused


def test_more_columns_than_words_are_refused_before_training() -> None:
    pairs = [[("dog", "N"), ("ran", "V")]] * 3
    with pytest.raises(
        ValueError, match=r"a tokenizer is given \(words\), and the features read the columns 0, 1"
    ):
        ChainCRF(tokenizer="words", max_iterations=1).fit(pairs, [["A", "B"]] * 3)
    with pytest.raises(ValueError, match="X is features of tokens, which nothing would make of a raw text"):
        ChainCRF(tokenizer="words").fit([[{"w": "dog"}]], [["N"]])
    with pytest.raises(ValueError, match="the features read the columns word, pos"):
        ChainCRF(tokenizer="words", features="word[0]; pos[0]").fit(DOCS)


def test_wrong_data_are_refused() -> None:
    with pytest.raises(ValueError, match="X is documents, which bring their labels as spans: leave y out"):
        ChainCRF().fit(DOCS, [["O"]])
    for learn in (ChainCRF(tokenizer="words").fit, ChainCRF(tokenizer="words").fit(DOCS).predict):
        with pytest.raises(ValueError, match=r"a raw text is for tag\(text\), and to learn from as Doc"):
            learn(["Ana ran", "Bo sat"])
    with pytest.raises(ValueError, match="tokenizer is 'word', expected one of words, characters"):
        ChainCRF(tokenizer="word").fit(DOCS)
    with pytest.raises(ValueError, match="X is documents; given, method and infeasible are for sequences"):
        ChainCRF().fit(DOCS).predict(DOCS, method="posterior")
    with pytest.raises(TypeError, match="HiddenSequenceCRF has no option 'tokenizer'"):
        HiddenSequenceCRF(tokenizer="words")
    bare = ChainCRF().fit([["a"], ["b"]], [["X"], ["Y"]])
    with pytest.raises(ValueError, match="has no tokenizer, and X is documents of raw text"):
        bare.predict_proba(DOCS)


def test_what_is_unknown_cannot_be_judged() -> None:
    crf: Any = ChainCRF(tokenizer="words", stop=Stop(max_iterations=30)).fit(DOCS)
    with pytest.raises(ValueError, match="sequence 0, position 1 has no label"):
        crf.evaluate([Doc("Ana ran", spans=[(0, 3, "PER")], known=[(0, 3)])])
