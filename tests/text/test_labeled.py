"""Documents as tagged sentences, how a model's text is cut, windows of long texts, and what a file holds."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import Doc
from crfkit.data.source import open_input
from crfkit.models.reading import are_docs
from crfkit.text import FORMATS, Blanks, Given, Sentences, Words, write
from crfkit.text.formats.sniffing import documents_at
from crfkit.text.labeled import in_columns, sentences_in
from crfkit.text.spec import TextSpec
from crfkit.text.streams import lines_of, windows
from tests.cases.documents import DOCS, made


def test_sentences_have_the_tags_of_their_spans() -> None:
    found = sentences_in([made("[Ana PER] ran. [Leo Diaz PER] sat."), made("No.")], "words", sentences="rule")
    assert found.words == [["Ana", "ran", "."], ["Leo", "Diaz", "sat", "."], ["No", "."]]
    assert found.tags == [["B-PER", "O", "O"], ["B-PER", "I-PER", "O", "O"], ["O", "O"]]
    assert (found.docs, found.documents) == ([0, 0, 1], 2)
    assert [*in_columns(found)][2] == [("No", "O"), (".", "O")]


def test_without_a_scheme_tokens_have_the_labels_of_their_spans() -> None:
    assert sentences_in([made("[5 NO] [Main St STREET] x")], "blanks", scheme=None).tags == [
        ["NO", "STREET", "STREET", "O"]
    ]


def test_what_is_unknown_has_no_tag() -> None:
    doc = Doc("Ana ran far", spans=[(0, 3, "PER")], known=[(0, 7)])
    found = sentences_in([doc])
    assert found.tags == [["B-PER", "O", None]]
    assert [*in_columns(found)] == [[("Ana", "B-PER"), ("ran", "O"), ("far", "")]]


def test_a_span_joins_the_sentences_that_it_crosses() -> None:
    found = sentences_in([made("He met [Mr. X. Leo PER] here. Ok.")], sentences="rule")
    assert len(found.words) == 2
    text = "We saw it. Then [one. Two X] left."
    assert sentences_in([made(text)], sentences="rule").alignment.joined == 1


def test_documents_without_tokens_have_no_sentence() -> None:
    found = sentences_in([Doc("  "), Doc("")])
    assert (found.words, found.documents) == ([], 2)
    with pytest.raises(ValueError, match="there are no documents to learn from"):
        sentences_in([])


@given(st.lists(st.text(max_size=40), min_size=1, max_size=3))
def test_any_text_is_cut_the_same_for_training_and_for_tagging(texts: list[str]) -> None:
    for rule in ("rule", "lines", "none"):
        spec = TextSpec.of("words", rule)
        found = sentences_in([Doc(text) for text in texts], "words", sentences=rule)
        cut = [Doc(text, *spec.cut(text)).sentence_words() for text in texts]
        assert found.words == [words for one in cut for words in one if words]


def test_own_tokens_and_sentences_of_documents() -> None:
    doc = Doc("a b c", [(0, 1), (2, 3), (4, 5)], [0, 2, 3])
    cut = TextSpec.of(Given()).cut(doc)
    assert cut.sentences is not None
    assert cut.sentences.tolist() == [0, 2, 3]
    assert sentences_in([doc]).words == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    "spec",
    [
        TextSpec.of("words"),
        TextSpec.of(Blanks(","), "rule"),
        TextSpec.of(Words("-"), Sentences("rule", ("x",))),
    ],
)
def test_specs_are_plain_data(spec: TextSpec) -> None:
    assert TextSpec.of_dict(spec.to_dict()) == spec


def test_what_documents_are() -> None:
    assert are_docs(DOCS)
    for other in ([], None, "Ana", [["Ana"]], 7, (), [1]):
        assert not are_docs(other)


# ---- texts piece by piece


@given(st.text(alphabet="ab. \n", max_size=5000), st.sampled_from(["lines", "rule", "blank-lines"]))
def test_windows_hold_the_whole_text(text: str, rule: str) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [*windows(io.StringIO(text), Sentences(rule), 1024)]
    assert "".join(piece for _, piece in found) == text
    assert all(text[begin : begin + len(piece)] == piece for begin, piece in found)
    assert all(len(piece) <= 1024 for _, piece in found)


def test_windows_end_with_sentences() -> None:
    text = "One two three.\n" * 500
    for begin, piece in windows(io.StringIO(text), Sentences("lines"), 1024):
        assert begin % 15 == 0
        assert len(piece) % 15 == 0


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_characters_that_are_cut_by_reads_stay_whole(size: int) -> None:
    class Slow(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            return super().read(0 if count == 0 else size)

        def read1(self, count: int | None = -1) -> bytes:
            return self.read(count)

    text = "\ufeffé \U0001f680 \u05e9\r\nx" * 3
    found = [*windows(Slow(text.encode()), Sentences("lines"))]
    assert "".join(piece for _, piece in found) == text.removeprefix("\ufeff")


def test_lines_have_their_numbers() -> None:
    with open_input(io.BytesIO("a\r\n\n é \n".encode())) as source:
        assert [*lines_of(source)] == [(1, "a"), (3, " é ")]


# ---- what a file holds


@pytest.mark.parametrize("format", [n for n in FORMATS if n not in ("conllu", "rows", "webanno")])
def test_files_of_documents_are_recognized(format: str, tmp_path: Path) -> None:
    try:
        docs = [Doc(doc.text, Words()(doc.text), spans=doc.spans) for doc in DOCS[:2]]
        path = tmp_path / {"brat": "folder", "label-studio": "a.json"}.get(format, "a.jsonl")
        write(docs, path, format)
    except (ValueError, ImportError):
        pytest.skip(f"{format} is not written")
    found = documents_at(path)
    assert found is not None
    assert [[s[:3] for s in doc.spans] for doc in found] == [[s[:3] for s in doc.spans] for doc in docs]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "the D\ndog N\n"),
        ("a.conllu", "# text = the\n1\tthe\tthe\tDET\t_\t_\t0\troot\t_\t_\n"),
        ("a.jsonl", '{"tokens": ["the"], "tags": [0]}\n'),
        ("a.jsonl", '{"tokens": ["the"], "labels": ["D"]}\n'),
        ("a.jsonl", '{"text": "the", "tokens": ["the"], "labels": ["D"]}\n'),
        ("a.conllu", "1\tthe\tthe\tDET\t_\t_\t0\troot\t_\t_\n"),
        ("a.csv", "text,label\nthe,D\n"),
        ("empty.txt", ""),
    ],
)
def test_other_data_are_not_taken_for_documents(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert documents_at(tmp_path / name) is None
    assert documents_at(str(tmp_path / name), "columns") is None


def test_what_is_not_there_is_no_document(tmp_path: Path) -> None:
    found: Any = documents_at(tmp_path / "missing.jsonl")
    assert found is None
    assert documents_at(7) is None
    with pytest.raises(FileNotFoundError):
        documents_at(tmp_path / "missing", "prodigy")
