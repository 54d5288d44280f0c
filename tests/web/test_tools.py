"""What annotation tools send, as their real requests were recorded, is answered as they want it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from crfkit import ChainCRF, Doc
from crfkit.text import write
from crfkit.web.tools.label_studio import Config
from tests.cases.web import Client, client_of, saved, words_model

CONFIG = (
    '<View><Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>'
    '<Text name="text" value="$text"/></View>'
)
TEXTS = ["\U0001f680 é Ana lives in New York", "lives"]
#: As Label Studio 1.23 sends it, but for names and times.
TASKS = [
    {
        "id": n,
        "data": {"text": text},
        "meta": {},
        "created_at": "2026-11-18T10:00:00.000000Z",
        "updated_at": "2026-11-18T10:00:00.000000Z",
        "is_labeled": False,
        "overlap": 1,
        "inner_id": n,
        "project": 1,
        "annotations": [],
        "predictions": [],
    }
    for n, text in enumerate(TEXTS, 1)
]
NEW = [("Oslo", "LOC"), ("Bo", "PER")]  #: of "Oslo sings in Bo", as only annotations say
SETUP = {
    "project": "1.1763460000",
    "schema": CONFIG,
    "hostname": "http://localhost:8080",
    "access_token": "SECRET",
    "extra_params": None,
}


def predict(tasks: Any = TASKS, context: Any = None, config: str = CONFIG) -> dict[str, Any]:
    params = {"login": None, "password": None, "context": context}
    return {"tasks": tasks, "project": "1.1763460000", "label_config": config, "params": params}


def region(start: int, end: int, label: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [label]}
    return {"id": "a", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    places = saved(tmp_path_factory.mktemp("models"), words=words_model(), other=words_model(("GPE", "HUM")))
    return client_of(places, label_studio=True, inception=True, doccano=True)


def test_label_studio_asks_before_it_predicts(client: Client) -> None:
    health = client.get("/label-studio/health")
    assert health.json()["status"] == "UP"
    version = client.post("/label-studio/setup", json=SETUP).json()["model_version"]
    assert version == client.state.models["words"].version
    assert client.get("/label-studio/versions").json() == {"versions": [version]}
    assert client.post("/label-studio/validate", json={"config": CONFIG}).json() == {"status": "ok"}
    assert client.post("/label-studio/other/setup", json=SETUP).json()["model_version"] != version
    assert client.get("/label-studio/none/health").status_code == 404


def test_label_studio_gets_a_result_for_each_task(client: Client) -> None:
    found = client.post("/label-studio/predict", json=predict()).json()["results"]
    assert len(found) == len(TASKS)
    assert found[1]["result"] == []
    doc = words_model()(TEXTS[0])
    for one, span in zip(found[0]["result"], doc.spans, strict=True):
        assert (one["from_name"], one["to_name"], one["type"]) == ("label", "text", "labels")
        value = {"start": span.start, "end": span.end, "text": span.text, "labels": [span.label]}
        assert one["value"] == value
        assert TEXTS[0][one["value"]["start"] : one["value"]["end"]] == one["value"]["text"]  # code points
        assert one["score"] == pytest.approx(span.probability)
    assert found[0]["score"] == min(one["score"] for one in found[0]["result"])
    odd = [{"id": 1, "data": {"image": 3}}, {"id": 2}, TASKS[0]]
    assert [
        len(one["result"])
        for one in client.post("/label-studio/predict", json=predict(odd)).json()["results"]
    ] == [0, 0, 2]


def test_label_studio_keeps_what_the_user_has_marked(client: Client) -> None:
    context = {"annotation_id": None, "draft_id": 0, "user_id": 1, "result": [region(16, 24, "PER")]}
    [found] = client.post("/label-studio/predict", json=predict(TASKS[:1], context)).json()["results"]
    assert [one["value"]["text"] for one in found["result"]] == ["Ana"]
    cut = {"result": [region(16, 22, "PER")]}  # within a token: it is kept, and what lies over it is left out
    [found] = client.post("/label-studio/predict", json=predict(TASKS[:1], cut)).json()["results"]
    assert [one["value"]["text"] for one in found["result"]] == ["Ana"]


def test_label_studio_gets_labels_of_its_configuration_only(client: Client) -> None:
    config = CONFIG.replace('<Label value="LOC"/>', "").replace('"text"', '"t"').replace("$text", "$body")
    task = {"id": 1, "data": {"body": TEXTS[0]}}
    [found] = client.post("/label-studio/predict", json=predict([task], config=config)).json()["results"]
    assert [(one["value"]["text"], one["to_name"]) for one in found["result"]] == [("Ana", "t")]


@pytest.mark.parametrize(
    "config",
    [
        "<View>",
        "<View/>",
        '<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>',
        "\x00",
        CONFIG.replace("$text", ""),
    ],
)
def test_wrong_configurations(client: Client, config: str) -> None:
    answer = client.post("/label-studio/predict", json=predict(config=config))
    assert answer.status_code == 422
    assert answer.json()["where"] == {"field": "label_config"}
    assert Config.of("") == Config()


def trained(folder: Path, **settings: Any) -> Client:
    docs = [Doc("Ana lives in New York", spans=[(0, 3, "PER"), (13, 21, "LOC")])] * 9
    ChainCRF(tokenizer="words", features="w[-1..0]").fit(docs).save(folder / "words.crf")
    write(docs, folder / "data.jsonl", "doccano")
    more = {"train_folder": str(folder / "kept"), "train_data": str(folder / "data.jsonl"), **settings}
    return client_of({"words": str(folder / "words.crf")}, label_studio=True, **more)


def webhook(action: str, text: str, task: int, regions: list[Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"action": action, "project": {"id": 1, "label_config": CONFIG}}
    annotation = {"id": task, "result": regions, "was_cancelled": False, "task": task}
    return {**made, "task": {"id": task, "data": {"text": text}}, "annotation": annotation}


def test_label_studio_trains_behind(tmp_path: Path) -> None:
    import threading

    client = trained(tmp_path)
    before = client.state.models["words"].version
    ask = {"text": "Oslo sings in Bo"}
    assert [span["label"] for span in client.tag(**ask)[0]["spans"]] != ["LOC", "PER"]
    for n in range(5):
        regions = [region(0, 4, "LOC"), region(14, 16, "PER")]
        answer = client.post(
            "/label-studio/webhook", json=webhook("ANNOTATION_CREATED", ask["text"], n, regions)
        )
        assert (answer.status_code, answer.json()) == (201, {"status": "training"})
    for thread in threading.enumerate():
        if thread.name == "crfkit-learn":
            thread.join(60)
    assert client.state.models["words"].version != before
    assert [(span["text"], span["label"]) for span in client.tag(**ask)[0]["spans"]] == NEW
    again = client_of(
        {"words": str(tmp_path / "words.crf")},
        label_studio=True,
        train_folder=str(tmp_path / "kept"),
        train_data=str(tmp_path / "data.jsonl"),
    )
    assert again.state.models["words"].version == client.state.models["words"].version  # also after a restart


def test_annotations_are_kept_once_and_deleted(tmp_path: Path) -> None:
    from crfkit.web.tools.learning import Learner

    client = trained(tmp_path)
    data = str(tmp_path / "data.jsonl")
    learner = Learner(client.state.models, "words", str(tmp_path / "kept"), data)
    learner.add(1, Doc("Ana", spans=[(0, 3, "LOC")]))
    learner.add(1, Doc("Ana", spans=[(0, 3, "PER")]))
    learner.add(2, Doc("Bo"))
    learner.add(2, None)
    with open(learner.annotations, "ab") as file:
        file.write(b'{"id": 3, "doc": {"te')  # killed in the middle
    assert [[span.label for span in doc.spans] for doc in learner.docs()] == [["PER"]]


def test_other_webhooks_are_ignored(tmp_path: Path, client: Client) -> None:
    for body in ({"action": "PROJECT_UPDATED"}, {"action": "START_TRAINING"}, {}):
        answer = client.post("/label-studio/webhook", json=body)
        assert (answer.status_code, answer.json()) == (201, {"status": "ignored"})
    with pytest.raises(ValueError, match="cannot be trained further without its data"):
        trained(tmp_path, train_data=None)


def test_doccano(client: Client) -> None:
    answer = client.post("/doccano/words", json={"text": TEXTS[0]}).json()
    assert answer == [
        {"label": "PER", "start_offset": 5, "end_offset": 8},  # UTF-16 units, as its browser counts
        {"label": "LOC", "start_offset": 18, "end_offset": 26},
    ]
    assert client.post("/doccano/none", json={"text": "a"}).status_code == 404
    assert client.post("/doccano/words", json={}).status_code == 422


LAYER = "custom.Named"


def document(text: str = TEXTS[0]) -> tuple[Any, dict[str, Any]]:
    cassis = pytest.importorskip("cassis")
    system = cassis.TypeSystem()
    for name in ("Token", "Sentence"):
        system.create_type(f"de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.{name}")
    layer = system.create_type(LAYER)
    for name, kind in [
        ("value", "String"),
        ("value_score", "Double"),
        ("value_score_explanation", "String"),
        ("inception_internal_predicted", "Boolean"),
    ]:
        system.create_feature(layer, name, f"uima.cas.{kind}")
    cas = cassis.Cas(typesystem=system)
    cas.sofa_string = text
    prefix = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type."
    cas.add(system.get_type(prefix + "Sentence")(begin=0, end=len(text)))
    for start, end in words_model()(text).tokens.tolist():  # type: ignore[union-attr]
        cas.add(system.get_type(prefix + "Token")(begin=start, end=end))
    meta = {
        "layer": LAYER,
        "feature": "value",
        "projectId": 1,
        "anchoringMode": "tokens",
        "crossSentence": False,
    }
    body = {
        "metadata": meta,
        "document": {"xmi": cas.to_xmi(), "documentId": 7, "userId": "u"},
        "typeSystem": system.to_xml(),
    }
    return cas, body


def test_inception_gets_suggestions_with_scores_and_reasons(client: Client) -> None:
    cas, body = document()
    answer = client.post("/inception/words/predict", json=body)
    assert answer.status_code == 200, answer.text
    import cassis

    found = cassis.load_cas_from_xmi(answer.json()["document"], typesystem=cas.typesystem)
    spans = words_model()(TEXTS[0]).spans
    made = found.select(LAYER)
    assert [(one.begin, one.end, one.value) for one in made] == [span[:3] for span in spans]
    for one, span in zip(made, spans, strict=True):
        assert one.value_score == pytest.approx(span.probability)
        assert one.inception_internal_predicted is True
        assert "w[0]=" in one.value_score_explanation
    assert len(found.select("de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token")) == 7


def test_inception_refuses_what_is_wrong(client: Client) -> None:
    _, body = document()
    changes: list[tuple[dict[str, Any], str]] = [
        ({"document": {"xmi": "<!DOCTYPE a>" + body["document"]["xmi"]}}, "declares a DOCTYPE"),
        ({"document": {"xmi": "<a"}}, "not a CAS"),
        ({"typeSystem": "<a"}, "not a CAS"),
        ({"metadata": {"layer": "none", "feature": "value"}}, "no layer"),
        ({"metadata": {"layer": LAYER, "feature": "none"}}, "no feature"),
    ]
    for change, says in changes:
        answer = client.post("/inception/words/predict", json={**body, **change})
        assert answer.status_code == 422, answer.text
        assert says in answer.json()["detail"]


def test_inception_trains(tmp_path: Path) -> None:
    cas, body = document("Oslo sings in Bo")
    kind = cas.typesystem.get_type(LAYER)
    cas.add(kind(begin=0, end=4, value="LOC"))
    cas.add(kind(begin=14, end=16, value="PER"))
    client = trained(tmp_path, inception=True)
    documents = [{**body["document"], "xmi": cas.to_xmi(), "documentId": n} for n in range(5)]
    given = {"metadata": body["metadata"], "documents": documents, "typeSystem": body["typeSystem"]}
    first = client.post("/inception/words/train", json=given)
    assert first.status_code == 204, first.text
    import threading

    for thread in threading.enumerate():
        if thread.name == "crfkit-learn":
            thread.join(60)
    assert [(s["text"], s["label"]) for s in client.tag(text="Oslo sings in Bo")[0]["spans"]] == NEW
    assert json.loads(os.fsdecode((tmp_path / "kept/words.annotations.jsonl").read_bytes().splitlines()[0]))[
        "doc"
    ]


def test_tools_need_the_rights_of_what_they_do(tmp_path: Path) -> None:
    tokens = {"reader": ["tag"], "looker": ["explain"]}
    client = client_of(saved(tmp_path, words=words_model()), tokens, label_studio=True, doccano=True)
    for path, reader in (
        ("/label-studio/predict", 200),
        ("/label-studio/webhook", 403),
        ("/doccano/words", 200),
    ):
        body = {"text": "Ana"} if path.startswith("/doccano") else predict()
        for name, status in (("reader", reader), ("looker", 403)):
            given = {"authorization": f"Bearer {name}"}
            assert client.post(path, json=body, headers=given).status_code == status, (path, name)
    basic = httpx.BasicAuth("anybody", "reader")  # Label Studio knows no other way
    assert client.post("/label-studio/predict", json=predict(), auth=basic).status_code == 200


def test_tools_are_off_unless_asked_for(tmp_path: Path) -> None:
    client = client_of(saved(tmp_path, words=words_model()))
    for path in ("/label-studio/predict", "/inception/words/predict", "/doccano/words"):
        assert client.post(path, json={}).status_code == 404
