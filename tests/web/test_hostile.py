"""Whatever is sent, the answer is no 5xx but the stated 503, nothing leaks, and good requests go well."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases.web import NAMES, Client, ask, client_of, items_model, saved, served, words_model

PATHS = ["/v1/models/words/tag", "/v1/models/items/tag", "/v1/models/words/explain"]
PATHS += [
    "/v1/models/words/compare?with=items",
    "/label-studio/predict",
    "/label-studio/webhook",
    "/doccano/words",
]
PATHS += [
    "/label-studio/setup",
    "/label-studio/validate",
    "/inception/words/predict",
    "/inception/words/train",
]
KINDS = ["application/json", "application/x-ndjson", "text/plain; charset=utf-16", "\xff"]
GOOD: list[Any] = [
    {"text": "Ana lives in New York", "labels": True, "probabilities": "all", "offsets": "utf16"},
    {"texts": ["Ana", "\U0001f680 é"], "fixed": [[0, 0, 3, "PER"]], "constraints": ["once:all"]},
    {"tokens": [NAMES[0]], "kbest": 3, "spans": True, "probabilities": "best"},
    {"items": [[{"w": "dog", "n": 1.5}, ["a"]]], "fixed": [[0, 1, "N"]]},
    {"columns": [{"w": ["a", "b"], "pos": ["x", "y"]}]},
    {
        "tasks": [{"id": 1, "data": {"text": "Ana"}}],
        "label_config": "",
        "params": {"context": {"result": []}},
    },
    {
        "action": "ANNOTATION_CREATED",
        "task": {"id": 1, "data": {"text": "Ana"}},
        "annotation": {"result": []},
    },
    {"metadata": {"layer": "x", "feature": "y"}, "document": {"xmi": "<a/>"}, "typeSystem": "<a/>"},
]
NAMED = sorted(
    {name for one in GOOD for name in one} | {"at", "top", "id", "data", "result", "value", "start"}
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(NAMES[0]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMED), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def mutated(draw: Any) -> bytes:
    """Bytes of a good request with some of them changed, left out, doubled or put in."""
    body = bytearray(json.dumps(draw(st.sampled_from(GOOD)), ensure_ascii=False).encode())
    for _ in range(draw(st.integers(1, 4))):
        a = draw(st.integers(0, len(body)))
        b = min(a + draw(st.integers(0, 8)), len(body))
        body[a:b] = draw(
            st.binary(max_size=6)
            | st.sampled_from([b"[" * 600, b"1e999", b"NaN", b'"', bytes(body[a:b]) * 2])
        )
    return bytes(body)


def odd(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode(errors="surrogatepass")


BODIES = st.one_of(
    mutated(), st.dictionaries(st.sampled_from(NAMED), VALUES, max_size=4).map(odd), st.binary(max_size=40)
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    places = saved(tmp_path_factory.mktemp("models"), words=words_model(), items=items_model())
    return client_of(places, label_studio=True, inception=True, doccano=True, body_seconds=2.0)


def statuses(client: Client, requests: list[tuple[str, str, bytes]]) -> list[int]:
    async def each() -> list[int]:
        found = []
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as calls:
            for path, kind, body in requests:
                headers = {b"content-type": kind.encode("latin-1")}
                found.append((await calls.post(path, content=body, headers=headers)).status_code)
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            assert others == []
        return found

    return asyncio.run(each())


REQUESTS = st.lists(
    st.tuples(st.sampled_from(PATHS), st.sampled_from(KINDS), BODIES), min_size=1, max_size=40
)


@pytest.mark.filterwarnings("ignore::crfkit.errors.DataWarning")
@settings(max_examples=20, deadline=None, suppress_health_check=[*HealthCheck])
@given(REQUESTS)
def test_malformed_requests(client: Client, requests: list[tuple[str, str, bytes]]) -> None:
    wrong = [one for one, status in zip(requests, statuses(client, requests), strict=True) if status >= 500]
    assert wrong == []
    assert client.state.in_flight == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::crfkit.errors.DataWarning")
def test_ten_thousand_malformed_requests(client: Client) -> None:
    count = 0

    @settings(max_examples=1500, deadline=None, suppress_health_check=[*HealthCheck], database=None)
    @given(REQUESTS)
    def run(requests: list[tuple[str, str, bytes]]) -> None:
        nonlocal count
        count += len(requests)
        test_malformed_requests.hypothesis.inner_test(client, requests)

    run()
    draw = random.Random(0)
    while count < 10_000:
        body = bytearray(json.dumps(draw.choice(GOOD)).encode())
        body[draw.randrange(len(body))] = draw.randrange(256)
        assert statuses(client, [(draw.choice(PATHS), draw.choice(KINDS), bytes(body))])[0] < 500
        count += 1
    assert client.tag(text="Ana")[0]["spans"]


# ---- sockets


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    model = saved(tmp_path_factory.mktemp("models"), words=words_model())["words"]
    with served(model, "--body-seconds", "0.5", "--access-log", "none") as (process, found):
        yield process.pid, found


def dialed(address: str) -> socket.socket:
    host, _, port = address.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def read_all(line: socket.socket) -> bytes:
    parts = []
    try:
        while part := line.recv(65536):
            parts.append(part)
    except OSError:
        pass
    return b"".join(parts)


HEAD = b"POST /v1/models/words/tag HTTP/1.1\r\nhost: 127.0.0.1\r\n"


def test_a_body_that_stops_is_given_up(address: tuple[int, str]) -> None:
    begin = time.monotonic()
    with dialed(address[1]) as line:
        line.sendall(HEAD + b"content-length: 100\r\n\r\n{")
        assert b" 408 " in read_all(line).partition(b"\r\n")[0]
    assert time.monotonic() - begin < 10


def test_bodies_that_come_late_or_in_pieces_are_answered(address: tuple[int, str]) -> None:
    body = b'{"text":"Ana"}'
    for pieces in ([body], [body[:3], body[3:]], [bytes([one]) for one in body]):
        with dialed(address[1]) as line:
            line.sendall(HEAD + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body))
            for piece in pieces:
                time.sleep(0.02)
                line.sendall(piece)
            answer = read_all(line)
            assert b" 200 " in answer.partition(b"\r\n")[0]
            assert b'"PER"' in answer


def test_a_stream_that_stops_is_given_up(address: tuple[int, str]) -> None:
    with dialed(address[1]) as line:
        sent = b'{"text":"Ana"}\n'
        line.sendall(HEAD + b"content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n")
        line.sendall(b"%x\r\n%s\r\n" % (len(sent), sent))
        answer = read_all(line)
        assert b" 200 " in answer.partition(b"\r\n")[0]
        assert b'"PER"' in answer  # what came was answered


def test_half_closed_and_broken_connections(address: tuple[int, str]) -> None:
    pid, url = address
    before = len(os.listdir(f"/proc/{pid}/fd"))
    draw = random.Random(1)
    body = b'{"text":"Ana"}'
    whole = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    for n in range(150):
        with dialed(url) as line:
            if n % 3 == 0:
                line.sendall(whole)
                line.shutdown(socket.SHUT_WR)
                answer = read_all(line)
                assert answer == b"" or b" 200 " in answer.partition(b"\r\n")[0]
            elif n % 3 == 1:
                line.sendall(whole[: draw.randrange(len(whole))])
            else:
                line.sendall(draw.randbytes(60))
    assert ask(url, "/v1/models/words/tag", {"text": "Ana"}).status_code == 200
    until = time.monotonic() + 15
    while len(os.listdir(f"/proc/{pid}/fd")) > before + 1 and time.monotonic() < until:
        time.sleep(0.1)
    assert len(os.listdir(f"/proc/{pid}/fd")) <= before + 1


def test_headers_without_end_are_given_up(address: tuple[int, str]) -> None:
    with dialed(address[1]) as line:
        try:
            for n in range(3000):
                line.sendall(b"GET / HTTP/1.1\r\n" if n == 0 else b"x-%d: %s\r\n" % (n, b"a" * 50))
        except OSError:
            pass
        assert b" 200 " not in read_all(line)


@pytest.mark.slow
def test_headers_that_do_not_come_are_given_up(address: tuple[int, str]) -> None:
    lines = [dialed(address[1]) for _ in range(50)]
    for line in lines[::2]:
        line.sendall(b"GET / HT")
    begin = time.monotonic()
    for line in lines:
        assert read_all(line) == b""
        line.close()
    assert time.monotonic() - begin < 18


def test_a_mistake_of_the_test_would_be_seen(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def wrong(*given: Any) -> Any:
        raise KeyError

    monkeypatch.setattr("crfkit.web.routes.service.tag", wrong)
    assert statuses(client, [(PATHS[0], KINDS[0], b'{"text":"Ana"}')]) == [500]
