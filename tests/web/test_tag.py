"""What the service says is what the model says, whatever is asked for beside labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crfkit import ChainCRF, SemiCRF
from crfkit.constraints import AtMost
from crfkit.estimators.classic import VotedPerceptron
from tests.cases.cli import run
from tests.cases.web import NAMES, Client, client_of, columns_model, items_model, saved, words_model

TEXT = "Ana lives in New York. In New York lives Ana."


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    folder = tmp_path_factory.mktemp("models")
    others = words_model(("GPE", "HUM"))
    return client_of(
        saved(folder, words=words_model(), columns=columns_model(), items=items_model(), other=others)
    )


def test_tokens(client: Client) -> None:
    X = [NAMES[0], ["New", "York"], []]
    labels = [one["labels"] for one in client.tag(tokens=X)]
    assert labels == words_model().predict(X)
    assert client.tag(tokens=[NAMES[0]])[0] == {"labels": NAMES[1]}
    assert client.tag(tokens=[]) == []


def test_spans_of_tokens(client: Client) -> None:
    found = client.tag(tokens=[NAMES[0]] * 2, spans=True, labels=False)
    expected = [span._asdict() for span in words_model().predict_spans([NAMES[0]])[0]]
    for one in found:
        assert [*one] == ["spans"]
        assert [{**span, "probability": pytest.approx(span["probability"])} for span in expected] == one[
            "spans"
        ]


@pytest.mark.parametrize("unit", ["codepoint", "utf16", "byte"])
def test_texts_in_every_unit(client: Client, unit: Any) -> None:
    text = "\U0001f680 é Ana lives in New York"
    [one, again] = client.tag(texts=[text, "Ana"], offsets=unit, labels=True)
    doc = words_model()(text).in_unit(unit)
    assert [(s["start"], s["end"], s["label"]) for s in one["spans"]] == [span[:3] for span in doc.spans]
    assert [s["text"] for s in one["spans"]] == ["Ana", "New York"]
    assert doc.tokens is not None
    assert one["tokens"] == doc.tokens.tolist()
    assert again["spans"][0]["probability"] == pytest.approx(words_model()("Ana").spans[0].probability)
    if unit == "byte":
        span = one["spans"][1]
        assert text.encode()[span["start"] : span["end"]].decode() == "New York"


def test_a_text_of_several_sentences(client: Client) -> None:
    [one] = client.tag(text=TEXT, labels=True, probabilities="best")
    doc = words_model()(TEXT)
    assert doc.sentences is not None
    assert len(doc.sentences) == 3
    both = words_model().predict(doc.sentence_words())
    assert one["labels"] == both[0] + both[1]
    assert len(one["probabilities"]) == len(one["tokens"]) == len(doc.words())
    assert 0.0 < one["probability"] < 1.0


def test_columns_and_items(client: Client) -> None:
    columns = {"word": ["the", "dog"], "pos": ["DT", "NN"]}
    assert client.tag("columns", columns=[columns, columns]) == [{"labels": ["D", "N"]}] * 2
    assert client.tag("items", items=[[["w=the"], {"w": "dog", "n": 1.0}]]) == [{"labels": ["D", "N"]}]
    assert "differ in length" in client.wrong(422, "columns", columns=[{"word": ["a"], "pos": []}])["detail"]


def test_columns_have_the_names_of_training(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("Ana N B-PER\nran V O\n\nin P O\nLima N B-LOC\n\n" * 3)
    run("train", tmp_path / "train.txt", "-o", tmp_path / "m.crf", "--columns", "word,pos,chunk", "-q")
    client = client_of({"m": str(tmp_path / "m.crf")})
    card = client.get("/v1/models/m").json()
    assert card["columns"] == ["word", "pos"]
    columns = {"pos": ["N", "V"], "word": ["Ana", "ran"]}
    assert client.tag("m", columns=[columns]) == [{"labels": ["B-PER", "O"]}]
    assert "has no 'pos'" in client.wrong(422, "m", columns=[{"word": ["Ana"]}])["detail"]
    assert run("tag", tmp_path / "m.crf", text="Ana N\n").stdout == "Ana\tN\tB-PER\n\n"


def test_of_two_values_for_a_key_the_last_counts(client: Client) -> None:
    body = b'{"tokens": [["x"]], "tokens": [["Ana"]]}'
    assert client.post("/v1/models/words/tag", content=body).json()["results"] == client.tag(tokens=[["Ana"]])


def test_probabilities(client: Client) -> None:
    [best] = client.tag(tokens=[NAMES[0]], probabilities="best")
    [every] = client.tag(tokens=[NAMES[0]], probabilities="all")
    shares = words_model().predict_proba([NAMES[0]]).to_dicts()[0]
    for row, expected, label, p in zip(
        every["probabilities"], shares, best["labels"], best["probabilities"], strict=True
    ):
        assert row == pytest.approx(expected)
        assert p == pytest.approx(expected[label])
    assert best["probability"] == pytest.approx(
        2.718281828459045 ** words_model().log_prob([NAMES[0]], [NAMES[1]])[0]
    )


def test_probabilities_of_segments(tmp_path: Path) -> None:
    model = SemiCRF().fit([NAMES[0]] * 5, [NAMES[1]] * 5).model_
    segments = client_of(saved(tmp_path, words=model))
    [best] = segments.tag(tokens=[NAMES[0]], probabilities="best", spans=True)
    shares = model.predict_proba([NAMES[0]]).to_dicts()[0]
    assert best["labels"] == NAMES[1]
    assert best["probabilities"] == pytest.approx(
        [row[kind] for row, kind in zip(shares, ["O", "LOC", "LOC", "PER", "O"], strict=True)]
    )


def test_votes_have_no_probabilities(tmp_path: Path) -> None:
    model = VotedPerceptron().fit([NAMES[0]] * 5, [NAMES[1]] * 5).model_
    voted = client_of(saved(tmp_path, words=model))
    assert voted.tag(tokens=[NAMES[0]]) == [{"labels": NAMES[1]}]
    for more in ({"spans": True}, {"probabilities": "best"}, {"kbest": 2}):
        assert "decided by votes" in voted.wrong(422, tokens=[NAMES[0]], **more)["detail"]
    answer = voted.post("/v1/models/words/explain", json={"tokens": ["Ana"]})
    assert (answer.status_code, "decided by votes" in answer.json()["detail"]) == (422, True)


def test_fixed_where_another_encoding_was_learned(tmp_path: Path) -> None:
    model = ChainCRF(train_scheme="bioes").fit([NAMES[0]] * 5, [NAMES[1]] * 5).model_.with_text("words")
    encoded = client_of(saved(tmp_path, words=model))
    wrong = encoded.wrong(422, tokens=[NAMES[0]], fixed=[[0, 3, "B-LOC"]])
    assert "learned the encoding BIOES: it keeps fixed spans of texts" in wrong["detail"]
    [text] = encoded.tag(text="Ana lives", fixed=[[0, 0, 3, "PER"]])
    assert [s["label"] for s in text["spans"] if (s["start"], s["end"]) == (0, 3)] == ["PER"]


def test_kbest(client: Client) -> None:
    [one] = client.tag(tokens=[["New", "York"]], kbest=3, spans=True)
    expected = words_model().kbest([["New", "York"]], 3)[0]
    assert [a["labels"] for a in one["alternatives"]] == [e.labels for e in expected]
    assert [a["probability"] for a in one["alternatives"]] == pytest.approx([e.probability for e in expected])
    [text] = client.tag(text="New York", kbest=2)
    assert len(text["alternatives"]) == 2


def test_fixed_labels_and_spans(client: Client) -> None:
    [one] = client.tag(tokens=[["New", "York"]], fixed=[[0, 0, "B-PER"]])
    assert one["labels"] == words_model().predict([["New", "York"]], given=[["B-PER", None]])[0]
    [text] = client.tag(text="\U0001f680 New York", fixed=[[0, 3, 11, "PER"]], offsets="utf16")
    assert [(s["start"], s["end"], s["label"]) for s in text["spans"]] == [(3, 11, "PER")]
    wrong = client.wrong(422, texts=["New York", "Ana"], fixed=[[0, 0, 3, "LOC"], [1, 0, 3, "DOG"]])
    assert wrong["where"] == {"field": "fixed", "entry": 1}
    assert "its labels are 'O', 'B-LOC'" in wrong["detail"]
    wrong = client.wrong(422, texts=["New York", "Ana"], fixed=[[1, 0, 2, "LOC"]])
    assert wrong["where"] == {"text": 1}


def test_constraints(client: Client) -> None:
    X = [["New", "York", "New", "York"]]
    [one] = client.tag(tokens=X, constraints=["at-most:LOC:1"])
    assert one["labels"] == words_model().predict(X, constraints=[AtMost("LOC", 1)])[0]
    assert "expected one of once:all" in client.wrong(422, tokens=X, constraints=["never:LOC"])["detail"]
    told = client.wrong(422, tokens=[["New"]], constraints=["at-least:LOC:2"])
    assert "no labeling" in told["detail"] or "keep" in told["detail"]


def test_explain(client: Client) -> None:
    answer = client.post(
        "/v1/models/words/explain", json={"tokens": ["New", "York"], "at": 1, "top": 2}
    ).json()
    [decision] = answer["decisions"]
    expected = words_model().explain(["New", "York"], 1)[0]
    assert (decision["label"], decision["runner_up"]) == (expected.label, expected.runner_up)
    assert decision["difference"] == pytest.approx(expected.difference)
    assert len(decision["contributions"]) == 2
    assert answer["tokens"] == ["New", "York"]
    text = client.post("/v1/models/words/explain", json={"text": "New York"}).json()
    assert [one["label"] for one in text["decisions"]] == ["B-LOC", "I-LOC"]
    assert client.post("/v1/models/words/explain", json={"text": TEXT}).status_code == 422
    assert client.post("/v1/models/words/explain", json={"tokens": ["a"], "at": 1}).status_code == 422


def test_compare(client: Client) -> None:
    answer = client.post(
        "/v1/models/words/compare?with=other", json={"tokens": [["New", "York"], ["lives"]]}
    ).json()
    assert [one["name"] for one in answer["models"]] == ["words", "other"]
    assert [one["same"] for one in answer["results"]] == [False, True]
    assert answer["same"] == 0.5
    assert answer["results"][0]["second"]["labels"] == ["B-GPE", "I-GPE"]
    assert client.post("/v1/models/words/compare", json={"text": "Ana"}).status_code == 422
    assert client.post("/v1/models/words/compare?with=none", json={"text": "Ana"}).status_code == 404


def test_long_requests_go_to_a_thread(client: Client) -> None:
    X = [["New", "York"] * 50] * 30
    assert [one["labels"] for one in client.tag(tokens=X)] == words_model().predict(X)


def test_models_are_described(client: Client) -> None:
    cards = {one["name"]: one for one in client.get("/v1/models").json()["models"]}
    assert [*cards] == ["words", "columns", "items", "other"]
    assert cards["words"]["reads"] == ["text", "texts", "tokens", "columns"]
    assert cards["columns"]["reads"] == ["columns"]
    assert cards["items"]["reads"] == ["items"]
    assert client.get("/v1/models/words").json() == cards["words"]
    assert client.get("/v1/models/none").status_code == 404
