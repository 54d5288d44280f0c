"""Wrong requests are answered with what is wrong and where; limits hold; tokens are asked for."""

from __future__ import annotations

import asyncio
import io
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from crfkit.web.app import tokens_of
from crfkit.web.observing import AccessLog
from tests.cases.web import Client, client_of, saved, words_model


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return saved(tmp_path_factory.mktemp("models"), words=words_model())


@pytest.fixture(scope="module")
def client(places: dict[str, str]) -> Client:
    return client_of(places)


@pytest.mark.parametrize(
    ("body", "status", "says", "where"),
    [
        (b"", 400, "not JSON", {}),
        (b"{", 400, "not JSON", {}),
        (b"[" * 100_000, 422, "expected `object`", {}),
        (b'{"items":' + b"[" * 100_000, 422, "got `array`", {"field": "items", "sequence": 0, "token": 0}),
        (b'{"items":[[{"a":NaN}]]}', 400, "not JSON", {}),
        (b'{"text":"\xff"}', 400, "UTF-8", {}),
        (b'{"text":"\\ud800"}', 400, "not JSON", {}),
        (b"\x1f\x8b\x08\x00", 400, "it is compressed; send it without Content-Encoding", {}),
        (b"[]", 422, "expected `object`", {}),
        (b"{}", 422, "has none of them", {}),
        (b'{"text":"a","tokens":[]}', 422, "has text and tokens", {}),
        (b'{"tokens":["a"]}', 422, "for one write [[...]]", {"field": "tokens", "sequence": 0}),
        (b'{"items":[{"w":"a"}]}', 422, "for one write [[...]]", {"field": "items", "sequence": 0}),
        (b'{"columns":[["a"]]}', 422, 'for one write [{"word"', {"field": "columns", "sequence": 0}),
        (b'{"tokens":[["a",1]]}', 422, "got `int`", {"field": "tokens", "sequence": 0, "token": 1}),
        (b'{"texts":["a",null]}', 422, "got `null`", {"field": "texts", "text": 1}),
        (b'{"textes":["a"]}', 422, "unknown field `textes`", {}),
        (b'{"text":"a","kbest":101}', 422, "expected 1 to 100", {"field": "kbest"}),
        (b'{"text":"a","kbest":-1}', 422, "expected 1 to 100", {"field": "kbest"}),
        (b'{"text":"a","offsets":"utf8"}', 422, "utf8", {"field": "offsets"}),
        (b'{"text":"a","fixed":[[0,0,9,"PER"]]}', 422, "not within a text", {}),
        (b'{"text":"a","fixed":[[1,0,1,"PER"]]}', 422, "no text 1", {"field": "fixed", "entry": 0}),
        (b'{"text":"a","fixed":[["x"]]}', 422, "expected [text, start", {"field": "fixed", "entry": 0}),
        (b'{"tokens":[["a"]],"fixed":[[0,5,"PER"]]}', 422, "no position 5", {"field": "fixed", "entry": 0}),
        (b'{"tokens":[["a"]],"fixed":[[0,0,"DOG"]]}', 422, "label 'DOG'", {"field": "fixed", "entry": 0}),
        (b'{"items":[[["a"]]]}', 422, "", {}),
    ],
)
def test_wrong_bodies(client: Client, body: bytes, status: int, says: str, where: dict[str, Any]) -> None:
    answer = client.post("/v1/models/words/tag", content=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["detail"]
    assert answer.json().get("where", {}) == where


def test_wrong_paths(client: Client) -> None:
    for method, path, status in [
        ("GET", "/v1/models/words/tag", 405),
        ("POST", "/v1/models/none/tag", 404),
        ("GET", "/nothing", 404),
        ("POST", "/label-studio/predict", 404),
        ("PUT", "/health", 405),
    ]:
        answer = client(method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), (
            path
        )


@pytest.mark.parametrize(
    ("limit", "value", "body", "field"),
    [
        ("max_sequences", 2, {"texts": ["a"] * 3}, "texts"),
        ("max_tokens", 5, {"tokens": [["a"] * 3] * 2}, "tokens"),
        ("max_tokens", 5, {"texts": ["a" * 30]}, "texts"),
        ("longest", 5, {"tokens": [["a"] * 6]}, "tokens"),
        ("longest", 5, {"text": "a" * 30}, "text"),
        ("longest", 5, {"columns": [{"w": ["a"] * 6}]}, "columns"),
        ("longest", 5, {"items": [[["a"]] * 6]}, "items"),
        ("max_kbest", 3, {"text": "a", "kbest": 4}, "kbest"),
    ],
)
def test_limits(places: dict[str, str], limit: str, value: int, body: dict[str, Any], field: str) -> None:
    told = client_of(places, **{limit: value}).wrong(422, **body)
    assert f"{value}" in told["detail"]
    assert told["where"]["field"] == field


def test_the_body_is_limited(places: dict[str, str]) -> None:
    client = client_of(places, max_body=100)
    answer = client.post("/v1/models/words/tag", content=b" " * 101)
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")


def test_tokens_in_flight_are_limited(places: dict[str, str]) -> None:
    client = client_of(places, in_flight=10)
    client.state.in_flight = 9
    answer = client.post("/v1/models/words/tag", json={"tokens": [["a", "b"]]})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    client.state.in_flight = 10
    assert client.post("/v1/models/words/tag", content=b"not read").status_code == 503
    client.state.in_flight = 0
    assert client.tag(tokens=[["a"] * 11])[0]["labels"]  # alone, a request may be larger than that
    assert client.state.in_flight == 0
    assert b'crfkit_rejected_total{reason="busy"} 2.0' in client.get("/metrics").content


def test_a_body_that_does_not_come_is_given_up(places: dict[str, str]) -> None:
    client = client_of(places, body_seconds=0.05)

    async def body() -> Any:
        yield b'{"tokens"'
        await asyncio.sleep(5)

    answer = client.post("/v1/models/words/tag", content=body())
    assert answer.status_code == 408


def test_tokens_and_their_rights(places: dict[str, str]) -> None:
    tokens = tokens_of("reader-0123456789 tag  # of the page\n\nmaster-0123456789\n")
    client = client_of(places, tokens)
    path, body = "/v1/models/words/tag", {"text": "Ana"}
    assert client.post(path, json=body).status_code == 401
    assert client.get("/metrics").status_code == 401
    assert client.get("/health/ready").status_code == 200
    reader, master = ({"authorization": f"Bearer {name}-0123456789"} for name in ("reader", "master"))
    assert client.post(path, json=body, headers=reader).status_code == 200
    for more in ("explain", "reload"):
        assert client.post(f"/v1/models/words/{more}", json=body, headers=reader).status_code == 403
        assert client.post(f"/v1/models/words/{more}", json=body, headers=master).status_code == 200
    assert client.get("/v1/models", headers=reader).status_code == 200


@pytest.mark.parametrize("text", ["", "# none\n", "short\n", "long-enough-0123456789 write\n"])
def test_wrong_files_of_tokens(text: str) -> None:
    with pytest.raises(ValueError, match=r"t\.txt"):
        tokens_of(text, "t.txt")


def test_other_sites_and_hosts_are_refused(client: Client) -> None:
    body = {"json": {"text": "Ana"}}
    path = "/v1/models/words/tag"
    assert client.post(path, headers={"host": "evil.example"}, **body).status_code == 421
    assert client.post(path, headers={"origin": "http://evil.example"}, **body).status_code == 403
    answer = client("OPTIONS", path, headers={"origin": "http://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_requests_have_ids_and_lines_without_texts(places: dict[str, str]) -> None:
    file = io.BytesIO()
    log = AccessLog(file)
    client = client_of(places, log=log)
    given = client.post("/v1/models/words/tag", json={"text": "SECRET"}, headers={"x-request-id": "abc-1"})
    made = client.post("/v1/models/words/tag", json={"SECRET": 1}, headers={"x-request-id": "bad id\t"})
    assert given.headers["x-request-id"] == "abc-1"
    assert made.headers["x-request-id"] not in ("", "bad id\t")
    log.flush()
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert b"SECRET" not in file.getvalue()
    assert [(one["id"], one["route"], one["model"], one["status"]) for one in lines] == [
        ("abc-1", "tag", "words", 200),
        (made.headers["x-request-id"], "tag", "words", 422),
    ]
    assert lines[0]["tokens"] == 2


def test_mistakes_are_told_without_their_message(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "secret".upper()

    def wrong(*given: Any) -> Any:
        raise RuntimeError(text)

    monkeypatch.setattr("crfkit.web.routes.service.tag", wrong)
    answer = client.post("/v1/models/words/tag", json={"text": "Ana"})
    assert answer.status_code == 500
    told = capsys.readouterr().err
    assert "RuntimeError" in told
    assert text not in told + answer.text


def test_metrics_count_what_was_done(places: dict[str, str]) -> None:
    client = client_of(places)
    client.tag(tokens=[["Ana", "lives"]])
    client.tag(tokens=[["Ana"]])
    text = client.get("/metrics").text
    assert 'crfkit_requests_total{code="200",model="words",route="tag"} 2.0' in text
    assert 'crfkit_tokens_total{model="words"} 3.0' in text
    assert 'crfkit_request_seconds_count{route="tag"} 2.0' in text
    assert "crfkit_tokens_in_flight 0.0" in text
    assert f'crfkit_model_info{{name="words",version="{client.state.models["words"].version}"}} 1.0' in text


def test_before_the_end_it_is_not_ready(places: dict[str, str]) -> None:
    client = client_of(places)
    assert client.get("/health/ready").json() == {"status": "UP", "models": ["words"]}
    client.state.draining = True
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.headers["connection"]) == (503, "close")
    assert client.get("/health/live").status_code == 200
    assert client.tag(text="Ana")[0]["spans"]


def test_the_description_fits_what_is_answered(client: Client) -> None:
    made = client.get("/openapi.json").json()
    schemas = made["components"]["schemas"]
    for path, methods in made["paths"].items():
        answer = client(next(iter(methods)).upper(), path.replace("{model}", "words"), json={})
        assert answer.status_code in (200, 422), path
    names = set(schemas["TagRequest"]["properties"])
    assert {"text", "texts", "tokens", "columns", "items", "kbest", "fixed", "offsets"} <= names
    refs = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(made)))
    assert refs <= set(schemas)


def test_the_page_needs_nothing_but_itself(client: Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "<script" not in page.text
    assert "src=" not in page.text
    assert "/v1/models/{model}/tag" in page.text
    assert isinstance(page, httpx.Response)


def test_places_of_models(tmp_path: Path) -> None:
    from crfkit.web.models import places_of

    assert places_of(["a/b/en.crf", "es=x.crf"]) == {"en": "a/b/en.crf", "es": "x.crf"}
    with pytest.raises(ValueError, match="two models are called en"):
        places_of(["a/en.crf", "b/en.crf"])
    with pytest.raises(ValueError, match="give it a name"):
        places_of(["a/e n.crf"])
