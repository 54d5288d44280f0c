"""The component of spaCy: entities, scores, sentences, files, and how spaCy finds it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crfkit import ChainCRF, Doc, SemiCRF

spacy = pytest.importorskip("spacy")

WORDS = [["Ana", "lives", "in", "New", "York", "."], ["Bo", "ran", "."], ["York", "is", "old", "."]]
WORDS += [["\U0001f680", "Bo", "ran", "."]]
TAGS = [["B-PER", "O", "O", "B-LOC", "I-LOC", "O"], ["B-PER", "O", "O"], ["B-LOC", "O", "O", "O"]]
TAGS += [["O", "B-PER", "O", "O"]]
TEXT = "\U0001f680 Bo lives in\nNew York."


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("spacy") / "names.crf"
    ChainCRF(features="word[-1..1]; shape(word)[0]", l2=0.1).fit(WORDS * 3, TAGS * 3).save(found)
    return found


def pipeline(path: Path, **config: Any) -> Any:
    from crfkit.integrations import spacy as component

    nlp = spacy.blank("en")
    nlp.add_pipe("crfkit", config={"model": str(path), **config})
    assert isinstance(nlp.get_pipe("crfkit"), component.Component)
    return nlp


def found(doc: Any) -> list[tuple[str, str]]:
    return [(one.text, one.label_) for one in doc.ents]


def test_entities_with_scores(path: Path) -> None:
    nlp = pipeline(path)
    doc = nlp(TEXT)
    assert found(doc) == [("Bo", "PER"), ("New York", "LOC")]
    assert [(one.start_char, one.end_char) for one in doc.ents] == [(2, 4), (14, 22)]
    assert [one.text for one in doc.spans["crfkit"]] == ["Bo", "New York"]
    words = [token.text for token in doc if not token.is_space]
    model = nlp.get_pipe("crfkit").model
    expected = [span.probability for span in model.predict_spans([words])[0]]
    assert doc.spans["crfkit"].attrs["scores"] == pytest.approx(expected, abs=1e-12)
    assert nlp.pipe_labels["crfkit"] == ["PER", "LOC"]
    assert found(nlp("")) == []
    assert found(nlp(" \n ")) == []


def test_many_as_one_by_one(path: Path) -> None:
    nlp = pipeline(path)
    texts = [TEXT, "", "York is old.", " ", "Ana ran."] * 3
    for doc, text in zip(nlp.pipe(texts, batch_size=4), texts, strict=True):
        one = nlp(text)
        assert found(doc) == found(one)
        assert doc.spans["crfkit"].attrs["scores"] == pytest.approx(one.spans["crfkit"].attrs["scores"])


def test_sentences_are_sequences(path: Path) -> None:
    nlp = pipeline(path)
    nlp.add_pipe("sentencizer", first=True)
    doc = nlp("Bo ran. York is old.")
    model = nlp.get_pipe("crfkit").model
    spans = model.predict_spans([["Bo", "ran", "."], ["York", "is", "old", "."]])
    assert found(doc) == [("Bo", "PER"), ("York", "LOC")]
    assert doc.spans["crfkit"].attrs["scores"] == pytest.approx([one.probability for s in spans for one in s])


def test_what_is_set_and_what_stays(path: Path) -> None:
    nlp = pipeline(path, sets="spans", spans_key="names")
    doc = nlp(TEXT)
    assert found(doc) == []
    assert [one.text for one in doc.spans["names"]] == ["Bo", "New York"]
    nlp = pipeline(path, sets="ents")
    ruler = nlp.add_pipe("entity_ruler", first=True)
    ruler.add_patterns([{"label": "X", "pattern": "lives"}, {"label": "X", "pattern": "New"}])
    doc = nlp(TEXT)
    assert found(doc) == [("Bo", "PER"), ("lives", "X"), ("New York", "LOC")]
    assert "crfkit" not in doc.spans


def test_files_bytes_and_pickles(path: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone.crf"
    gone.write_bytes(path.read_bytes())
    nlp = pipeline(gone)
    nlp.to_disk(tmp_path / "nlp")
    gone.unlink()
    again = spacy.load(tmp_path / "nlp")
    assert found(again(TEXT)) == found(nlp(TEXT))
    other = spacy.blank("en")
    other.add_pipe("crfkit")
    assert found(other.from_bytes(nlp.to_bytes())(TEXT)) == found(nlp(TEXT))
    assert found(pickle.loads(pickle.dumps(nlp.get_pipe("crfkit")))(spacy.blank("en")(TEXT))) == found(
        nlp(TEXT)
    )


def test_segments_and_wrong_models(path: Path, tmp_path: Path) -> None:
    SemiCRF(features="word[-1..1]").fit(WORDS, TAGS).save(tmp_path / "semi.crf")
    assert found(pipeline(tmp_path / "semi.crf")("Ana lives in New York.")) == [
        ("Ana", "PER"),
        ("New York", "LOC"),
    ]
    pairs = [[(word, "N") for word in words] for words in WORDS]
    ChainCRF().fit(pairs, TAGS).save(tmp_path / "pairs.crf")
    with pytest.raises(ValueError, match="the component crfkit gives tokens, and its model reads 0, 1"):
        pipeline(tmp_path / "pairs.crf")
    with pytest.raises(ValueError, match=r'sets is .*expected "ents", "spans" or "both"'):
        pipeline(path, sets="all")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.crf"):
        pipeline(tmp_path / "nowhere.crf")("Ana")
    nlp = spacy.blank("en")
    nlp.add_pipe("crfkit")
    assert nlp.get_pipe("crfkit").model is None  # spaCy asks, in an order of Python's hashes
    with pytest.raises(ValueError, match="the component crfkit has no model"):
        nlp("Ana")


def test_spacy_finds_it_by_its_entry_point(path: Path, tmp_path: Path) -> None:
    """As an installed crfkit tells it, in a process that imports spaCy only."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    line = 'crfkit = "crfkit.integrations.spacy:make"'
    assert f"[project.entry-points.spacy_factories]\n{line}" in project
    told = tmp_path / "told-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: told\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(f"[spacy_factories]\n{line.replace(chr(34), '')}\n")
    code = f"""
import spacy
nlp = spacy.blank("en")
nlp.add_pipe("crfkit", config={{"model": {str(path)!r}}})
print([(e.text, e.label_) for e in nlp({TEXT!r}).ents])
"""
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[('Bo', 'PER'), ('New York', 'LOC')]", done.stderr


def test_a_model_with_a_tokenizer_answers_as_model_of_text_does(tmp_path: Path) -> None:
    """Its own tokens and sentences, whatever spaCy's are; spans that cut spaCy's tokens are expanded."""
    docs = [Doc("Ana-Bo ran 5km.", spans=[(0, 3, "PER"), (4, 6, "PER"), (11, 14, "LEN")])] * 3
    docs += [Doc("Bo ran 7km. Ana ran.", spans=[(0, 2, "PER"), (7, 10, "LEN"), (12, 15, "PER")])] * 3
    crf = ChainCRF(tokenizer="words", sentences="rule", features="word[-1..1]; shape(word)[0]", l2=0.1)
    crf.fit(docs).save(tmp_path / "words.crf")
    nlp = pipeline(tmp_path / "words.crf")
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)  # blanks only
    model = nlp.get_pipe("crfkit").model
    texts = ["Ana-Bo ran 5km.", "", " \n ", "\U0001f680  Bo ran 7km. Ana ran."]
    for text, doc in zip(texts, nlp.pipe(texts), strict=True):
        expected = model(text).spans
        one = nlp(text)
        group = doc.spans["crfkit"]
        assert [span.label_ for span in group] == [span.label for span in expected]
        assert group.attrs["scores"] == pytest.approx([span.probability for span in expected], abs=1e-12)
        assert one.spans["crfkit"].attrs["scores"] == pytest.approx(group.attrs["scores"], abs=1e-12)
        for mine, span in zip(group, expected, strict=True):
            assert mine.start_char <= span.start < span.end <= mine.end_char
            assert " " not in mine.text
    assert found(nlp(texts[0])) == [("Ana-Bo", "PER"), ("5km.", "LEN")]  # spans do not overlap in doc.ents
    doc = nlp(texts[0])
    assert [one.text for one in doc.spans["crfkit"]] == ["Ana-Bo", "Ana-Bo", "5km."]
    nlp.to_disk(tmp_path / "nlp")
    again = spacy.load(tmp_path / "nlp")
    assert found(again(texts[3])) == found(nlp(texts[3])) == [("Bo", "PER"), ("7km.", "LEN"), ("Ana", "PER")]


def test_tokens_of_documents_are_no_tokenizer() -> None:
    from crfkit.integrations.spacy import Component

    given = [Doc("Ana ran", [(0, 3), (4, 7)], spans=[(0, 3, "PER")])] * 3
    component = Component(ChainCRF(tokenizer="given").fit(given).model_)
    assert found(component(spacy.blank("en")("Ana ran."))) == [("Ana", "PER")]


def test_models_of_characters_and_of_functions(path: Path) -> None:
    from crfkit.integrations.spacy import Component

    crf = ChainCRF(tokenizer="characters", features="word[-2..2]").fit(
        [Doc("Ana ran", spans=[(0, 3, "PER")])] * 3
    )
    component = Component(crf.model_)
    assert found(component(spacy.blank("en")("Ana ran"))) == [("Ana", "PER")]
    assert component.labels == ("PER",)
    blanks = ChainCRF(tokenizer="characters", features="word[0]").fit(
        [Doc("a b", spans=[(1, 2, "X"), (2, 3, "Y")])] * 3
    )
    doc = Component(blanks.model_)(spacy.blank("en")("b a b"))
    assert [(one.text, one.label_) for one in doc.spans["crfkit"]] == [("b", "Y"), ("b", "Y")]
    assert len(doc.spans["crfkit"].attrs["scores"]) == 2
    items = [[{"w": word} for word in words] for words in WORDS]
    made = ChainCRF(features=None, l2=0.1).fit(items * 3, TAGS * 3).model_
    model = made.with_text("words", features=lambda tokens, i: {"w": tokens[i]})
    assert found(Component(model)(spacy.blank("en")("Ana lives in York."))) == [
        ("Ana", "PER"),
        ("York", "LOC"),
    ]
