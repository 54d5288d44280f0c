"""What all apps of this room share: the types of ASGI, headers of a request, whole answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

__all__ = ["App", "Message", "Receive", "Scope", "Send", "answer", "header", "raw_header"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_KEPT = "crfkit.headers"

Headers = Iterable[tuple[bytes, bytes]]


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header of a request, by its name in lower case; None where it is absent.

    Examples
    --------
    >>> header({"headers": [(b"host", b"127.0.0.1:8080")]}, b"host")
    '127.0.0.1:8080'
    """
    value = raw_header(scope, name)
    return None if value is None else value.decode("latin-1")


def raw_header(scope: Scope, name: bytes) -> bytes | None:
    """Return a header of a request as bytes; of several with one name, the last."""
    headers: dict[bytes, bytes] | None = scope.get(_KEPT)
    if headers is None:  # made once: guards and routes ask for a dozen of them
        headers = scope[_KEPT] = dict(scope["headers"])
    return headers.get(name)


async def answer(send: Send, status: int, body: bytes, kind: bytes, more: Headers = ()) -> None:
    """Send a whole answer; `kind` is its media type."""
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
