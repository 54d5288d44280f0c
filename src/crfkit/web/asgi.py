"""What all apps of this room share: the types of ASGI, headers of a request, whole answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

__all__ = ["App", "Message", "RawHeaders", "Receive", "Scope", "Send", "answer", "raw_headers"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Headers of a request, by their names in lower case.
RawHeaders = Mapping[bytes, bytes]

_KEPT = "crfkit.headers"


def raw_headers(scope: Scope) -> RawHeaders:
    """Return the headers of a request; of several with one name, the last.

    Examples
    --------
    >>> raw_headers({"headers": [(b"host", b"127.0.0.1:8080")]}).get(b"host")
    b'127.0.0.1:8080'
    """
    headers: RawHeaders | None = scope.get(_KEPT)
    if headers is None:  # made once: guards and routes ask for a dozen of them
        headers = scope[_KEPT] = dict(scope["headers"])
    return headers


async def answer(
    send: Send, status: int, body: bytes, kind: bytes, more: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Send a whole answer; `kind` is its media type."""
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
