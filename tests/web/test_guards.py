"""Guards let through what is meant, and nothing else."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import pytest

from crfkit.web.asgi import App, Message, Receive, Scope, Send, answer
from crfkit.web.guards import RIGHTS, Bodies, Guarded, Hosts, Token, same_origin


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the size of the body."""
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RuntimeError("the client is gone")
        size += len(message["body"])
        if not message.get("more_body"):
            break
    scope["seen"] = True
    await answer(send, 200, b"%d" % size, b"text/plain")


def ask(
    app: App,
    method: str = "GET",
    path: str = "/",
    parts: Iterable[bytes] = (b"",),
    **headers: str,
) -> tuple[int, dict[bytes, bytes], bytes, Scope]:
    """Send one request to an app, without a server."""
    given = [*parts]
    inbox = [
        {"type": "http.request", "body": part, "more_body": n < len(given) - 1}
        for n, part in enumerate(given)
    ]
    sent: list[Message] = []
    named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "headers": named}

    async def receive() -> Message:
        return inbox.pop(0) if inbox else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    starts = [one for one in sent if one["type"] == "http.response.start"]
    assert len(starts) == 1, "one answer for one request"
    body = b"".join(one.get("body", b"") for one in sent)
    return starts[0]["status"], dict(starts[0]["headers"]), body, scope


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8080", "LocalHost:80", "[::1]", "[::1]:8080"])
def test_hosts_that_are_meant(host: str) -> None:
    assert ask(Guarded(echo, Hosts(["127.0.0.1", "localhost", "::1"])), host=host)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "[::2]", "[::1", "", "::1", "127.0.0.1@x"]
)
def test_other_hosts_are_refused(host: str) -> None:
    status, headers, body, scope = ask(Guarded(echo, Hosts(["127.0.0.1", "[::1]"])), host=host)
    assert status == 421
    assert headers[b"content-type"] == b"application/problem+json"
    assert "expected 127.0.0.1 or [::1]" in json.loads(body)["detail"]
    assert "seen" not in scope


def test_hosts_without_a_header_and_all() -> None:
    assert ask(Guarded(echo, Hosts(["127.0.0.1"])))[0] == 400
    assert ask(Guarded(echo, Hosts(["*"])), host="anything")[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # curl
        ({"sec_fetch_site": "same-origin", "origin": "http://a:1", "host": "a:1"}, 200),
        ({"sec_fetch_site": "none"}, 200),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "cross-site", "origin": "http://a", "host": "a"}, 403),
        ({"origin": "http://127.0.0.1:8080", "host": "127.0.0.1:8080"}, 200),
        ({"origin": "https://CRF.example", "host": "crf.example"}, 200),  # behind a proxy that has TLS
        ({"origin": "http://127.0.0.1:9090", "host": "127.0.0.1:8080"}, 403),
        ({"origin": "null", "host": "127.0.0.1"}, 403),
        ({"origin": "http://[", "host": "["}, 403),
        ({"origin": "http://evil", "host": "a", "authorization": "Bearer x"}, 200),
        ({"origin": "http://evil", "host": "a", "authorization": "Bearer x", "cookie": "s=1"}, 403),
        ({"origin": "http://evil", "host": "a", "authorization": "Basic x"}, 403),
    ],
)
def test_unsafe_methods_come_from_own_pages(headers: dict[str, Any], status: int) -> None:
    assert ask(Guarded(echo, same_origin), "POST", **headers)[0] == status
    assert ask(Guarded(echo, same_origin), "DELETE", **headers)[0] == status
    assert ask(Guarded(echo, same_origin), "GET", **headers)[0] == 200


def basic(password: str) -> str:
    return "Basic " + b64encode(f"user:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer ", 401),
        ("Bearer two2", 401),
        ("bearer two", 200),
        ("Bearer one", 200),
        ("Bearer \xff", 401),
        (basic("one"), 401),
        ("one", 401),
    ],
)
def test_a_token_is_asked_for(given: str | None, status: int) -> None:
    headers: dict[str, Any] = {} if given is None else {"authorization": given}
    found, more, _, scope = ask(Guarded(echo, Token(["one", "two"])), **headers)
    assert found == status
    assert scope.get("seen", False) == (status == 200)
    assert (more.get(b"www-authenticate") == b"Bearer") == (status == 401)


def test_basic_where_asked_for_and_open_paths() -> None:
    app = Guarded(echo, Token(["one"], basic=True, open=["/health/live"]))
    assert ask(app, authorization=basic("one"))[0] == 200
    for wrong in (basic("two"), "Basic %%%", "Basic " + b64encode(b"one").decode()):
        status, headers, _, _ = ask(app, authorization=wrong)
        assert (status, headers[b"www-authenticate"]) == (401, b'Basic realm="crfkit"')
    assert ask(app, path="/health/live")[0] == 200
    assert ask(app, path="/health/live/")[0] == 401


def test_tokens_bring_their_rights() -> None:
    app = Guarded(echo, Token({"one": {"tag"}, "two": RIGHTS}))
    assert ask(app, authorization="Bearer one")[3]["crfkit.rights"] == {"tag"}
    assert ask(app, authorization="Bearer two")[3]["crfkit.rights"] == {"tag", "explain", "admin"}


@pytest.mark.parametrize("tokens", [[], [""], ["one", ""]])
def test_empty_tokens_are_refused(tokens: list[str]) -> None:
    with pytest.raises(ValueError, match="expected one token or more"):
        Guarded(echo, Token(tokens))


def test_bodies_that_are_announced_too_large_are_not_read() -> None:
    status, headers, body, scope = ask(
        Guarded(echo, Bodies(10)), "POST", parts=[b"x" * 11], content_length="11"
    )
    assert (status, headers[b"connection"], "seen" in scope) == (413, b"close", False)
    assert json.loads(body)["detail"] == "the body has more than 10 bytes; send less at a time"
    assert ask(Guarded(echo, Bodies(10)), "POST", parts=[b"x" * 10], content_length="10")[:1] == (200,)


def test_bodies_of_unknown_size_are_counted() -> None:
    assert ask(Guarded(echo, Bodies(10)), "POST", parts=[b"x" * 5, b"x" * 5])[2] == b"10"
    status, _, _, scope = ask(Guarded(echo, Bodies(10)), "POST", parts=[b"x" * 5, b"x" * 6, b"x" * 5])
    assert (status, "seen" in scope) == (413, False)


def test_errors_of_the_app_are_not_hidden() -> None:
    async def wrong(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        ask(Guarded(wrong, Bodies(10)), "POST", parts=[b"x"])


def test_streams_are_left_to_the_app() -> None:
    app = Guarded(echo, Bodies(10, streams=["application/x-ndjson"]))
    assert ask(app, "POST", parts=[b"x" * 20], content_type="Application/X-NDJSON; charset=utf-8")[2] == b"20"
    assert ask(app, "POST", parts=[b"x" * 20], content_type="application/json")[0] == 413


def test_what_is_not_http_passes() -> None:
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    async def unused(*given: Any) -> Any:
        raise AssertionError

    guarded = Guarded(app, Hosts(["a"]), same_origin, Token(["t"]), Bodies(1))
    asyncio.run(guarded({"type": "lifespan"}, unused, unused))
    assert seen == ["lifespan"]
